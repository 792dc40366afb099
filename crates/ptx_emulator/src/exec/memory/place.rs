//! Resolves addresses: the region of an access, and whether the access is allowed.

use super::window::window;
use super::wrong::misaligned_access;
use super::{Memory, Part, Region};
use crate::exec::frame::{ALL, Row64, lanes};
use crate::exec::raise::{Checked, raise};
use crate::fault::{Access, FaultKind, Space};
use crate::memory::{BLOCK_BITS, CONST_BASE};

impl<'a> Memory<'a> {
    /// The region of an address, the address of the region's first byte, and its size.
    #[inline(always)]
    pub(super) fn region(
        &mut self,
        space: Space,
        address: u64,
        pc: u32,
    ) -> Option<(Region<'a>, u64, u64)> {
        let (space, window) = match space {
            Space::Generic => window(address)?,
            space => (space, 0),
        };
        match space {
            Space::Shared if window != 0 && address >= window + (1 << BLOCK_BITS) => {
                self.peer(address, window)
            }
            Space::Shared => Some((Region::Shared, window, self.shared_bytes)),
            Space::Local => Some((Region::Local, window, self.local_bytes)),
            Space::Param => Some((Region::Param, window, self.params.len() as u64)),
            Space::Global | Space::Const | Space::Generic => {
                let table = self.table;
                let hint = &mut self.hints[pc as usize];
                let hinted = table.allocations().get(*hint as usize);
                let found =
                    match hinted.filter(|allocation| allocation.offset_of(address, 1).is_some()) {
                        Some(allocation) => allocation,
                        None => {
                            let index = table.find(address, 1)?;
                            *hint = index as u32;
                            &table.allocations()[index]
                        }
                    };
                let constant = found.base >= CONST_BASE;
                // `.const` and `.global` addresses cannot name each other's variables.
                if constant == (space == Space::Global) {
                    return None;
                }
                Some((Region::Global(found), found.base, found.size))
            }
        }
    }

    /// The region of a generic address that names a block of the cluster.
    #[inline(never)]
    fn peer(&self, address: u64, window: u64) -> Option<(Region<'a>, u64, u64)> {
        let rank = ((address - window) >> BLOCK_BITS) as u32 - 1;
        let base = window + (u64::from(rank + 1) << BLOCK_BITS);
        if rank as usize > self.peers.len() {
            return None;
        }
        let region = if rank == self.rank {
            Region::Shared
        } else {
            Region::Peer(rank)
        };
        Some((region, base, self.shared_bytes))
    }

    /// The next lanes of an access in one region, checked for bounds and alignment.
    #[inline(always)]
    pub(in crate::exec) fn part(
        &mut self,
        (space, access): (Space, Access),
        addresses: &Row64,
        size: u32,
        mask: u32,
        pc: u32,
    ) -> Checked<Part<'a>> {
        let first = (mask.trailing_zeros() & 31) as usize;
        let bytes = u64::from(size);
        let found = self.region(space, addresses[first], pc);
        let Some((region, base, length)) = found.filter(|&(_, base, length)| {
            bytes <= length && addresses[first].wrapping_sub(base) <= length - bytes
        }) else {
            return Err(self.out_of_bounds((space, access), addresses, (size, size), mask, pc));
        };
        if access != Access::Read && base >= CONST_BASE && matches!(region, Region::Global(_)) {
            return Err(raise(
                first,
                FaultKind::ReadOnly {
                    space: Space::Const,
                    address: addresses[first],
                },
            ));
        }
        if access != Access::Read && matches!(region, Region::Param) {
            return Err(raise(
                first,
                FaultKind::ReadOnly {
                    space: Space::Param,
                    address: addresses[first].wrapping_sub(base),
                },
            ));
        }
        let limit = length - bytes;
        let heap = base == self.table.heap_base() && matches!(region, Region::Global(_));
        if mask == ALL && !heap {
            let mut bits = 0;
            for (offset, address) in self.offsets.iter_mut().zip(addresses) {
                *offset = address.wrapping_sub(base);
                bits |= *offset;
            }
            // Every offset is at most the bitwise or of all of them.
            if bits <= limit && bits & (bytes - 1) == 0 {
                return Ok(Part { region, lanes: ALL });
            }
        }
        let anchor = addresses[first].wrapping_sub(base);
        // One lane, which was found to fit.
        if mask.is_power_of_two() && !heap && anchor & (bytes - 1) == 0 {
            self.offsets.fill(anchor);
            return Ok(Part {
                region,
                lanes: mask,
            });
        }
        let offsets = &mut *self.offsets;
        let mut inside = 0;
        let mut low_bits = 0;
        for lane in 0..32 {
            let offset = addresses[lane].wrapping_sub(base);
            let fits = offset <= limit && mask & (1 << lane) != 0;
            offsets[lane] = if fits { offset } else { anchor };
            inside |= u32::from(fits) << lane;
            low_bits |= offsets[lane];
        }
        if heap {
            self.check_heap((space, access), addresses, size, inside)?;
        }
        // Every base is aligned to more than the widest access.
        if low_bits & (bytes - 1) != 0 {
            let misaligned = lanes(inside)
                .filter(|&lane| self.offsets[lane] & (bytes - 1) != 0)
                .fold(0, |lanes, lane| lanes | 1 << lane);
            let region = (region, base);
            return Err(misaligned_access(
                region,
                access,
                self.offsets,
                size,
                misaligned,
            ));
        }
        Ok(Part {
            region,
            lanes: inside,
        })
    }

    /// Heap chunks count as separate allocations.
    #[inline(never)]
    fn check_heap(
        &self,
        (space, access): (Space, Access),
        addresses: &Row64,
        size: u32,
        mask: u32,
    ) -> Checked<()> {
        for lane in lanes(mask) {
            let address = addresses[lane];
            let checked = self
                .table
                .heap()
                .map(|heap| heap.check(address, size.into()));
            if let Some(Err(nearest)) = checked {
                let kind = FaultKind::OutOfBounds {
                    space: if space == Space::Generic {
                        Space::Global
                    } else {
                        space
                    },
                    access,
                    address,
                    size,
                    nearest,
                    misaligned: !address.is_multiple_of(size.into()),
                };
                return Err(raise(lane, kind));
            }
        }
        Ok(())
    }

    /// Whether all bytes of an access are in one region.
    pub(super) fn fits(&mut self, space: Space, address: u64, size: u32, pc: u32) -> bool {
        let size = u64::from(size);
        self.region(space, address, pc)
            .is_some_and(|(_, base, length)| {
                size <= length && address.wrapping_sub(base) <= length - size
            })
    }

    /// A read of one lane whose address needs only the given `alignment`, not that of its size.
    pub(in crate::exec) fn stretch(
        &mut self,
        (space, access): (Space, Access),
        addresses: &Row64,
        (size, alignment): (u32, u32),
        lane: usize,
        pc: u32,
    ) -> Checked<Part<'a>> {
        let kind = (space, access);
        let address = addresses[lane];
        if !self.fits(space, address, size, pc) {
            return Err(self.out_of_bounds(kind, addresses, (size, alignment), 1 << lane, pc));
        }
        if !address.is_multiple_of(alignment.into()) {
            let kind = FaultKind::Misaligned {
                space,
                access,
                address,
                size: alignment,
            };
            return Err(raise(lane, kind));
        }
        self.part(kind, addresses, 1, 1 << lane, pc)
    }
}
