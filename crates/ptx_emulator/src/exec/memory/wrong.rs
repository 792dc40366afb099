//! Diagnosis of invalid accesses.

use super::window::window;
use super::{Memory, Region};
use crate::exec::frame::{Row64, lanes};
use crate::exec::raise::Raised;
use crate::fault::{Access, FaultKind, Nearest, Space};
use crate::memory::CONST_BASE;

impl Memory<'_> {
    /// Diagnoses an access whose first lane is out of bounds or violates this `alignment`.
    #[cold]
    pub(super) fn out_of_bounds(
        &mut self,
        (space, access): (Space, Access),
        addresses: &Row64,
        (size, alignment): (u32, u32),
        mask: u32,
        pc: u32,
    ) -> Box<Raised> {
        let outside = lanes(mask)
            .filter(|&lane| !self.fits(space, addresses[lane], size, pc))
            .fold(0, |lanes, lane| lanes | 1 << lane);
        let lane = (mask.trailing_zeros() & 31) as usize;
        let address = addresses[lane];
        let (space, window) = match space {
            Space::Generic => window(address).unwrap_or((Space::Generic, 0)),
            space => (space, 0),
        };
        let address = address.wrapping_sub(window);
        let whole = |size: u64| {
            (size > 0).then(|| Nearest {
                base: 0,
                size,
                offset: i128::from(address),
                freed: false,
            })
        };
        let nearest = match space {
            Space::Shared => whole(self.shared_bytes),
            Space::Local => whole(self.local_bytes),
            Space::Param => whole(self.params.len() as u64),
            _ => self.table.nearest(address),
        };
        let kind = FaultKind::OutOfBounds {
            space,
            access,
            address,
            size,
            nearest,
            misaligned: !address.is_multiple_of(alignment.into()),
        };
        Box::new(Raised {
            kind,
            lane: lane as u32,
            lanes: outside,
        })
    }
}

impl Region<'_> {
    fn space(self, base: u64) -> Space {
        match self {
            Region::Global(_) if base >= CONST_BASE => Space::Const,
            Region::Global(_) => Space::Global,
            Region::Shared | Region::Peer(_) => Space::Shared,
            Region::Local => Space::Local,
            Region::Param => Space::Param,
        }
    }
}

#[cold]
pub(super) fn misaligned_access(
    (region, base): (Region<'_>, u64),
    access: Access,
    offsets: &Row64,
    size: u32,
    lanes: u32,
) -> Box<Raised> {
    let lane = lanes.trailing_zeros() & 31;
    let offset = offsets[lane as usize];
    let address = match region {
        Region::Global(allocation) => allocation.base + offset,
        _ => offset,
    };
    let space = region.space(base);
    let kind = FaultKind::Misaligned {
        space,
        access,
        address,
        size,
    };
    Box::new(Raised { kind, lane, lanes })
}
