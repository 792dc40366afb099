use super::{Allocation, CONST_BASE, Defined, GLOBAL_BASE, Heap, Image};
use super::{SURFACE_BASE, TEXTURE_BASE};
use crate::error::MemoryError;
use crate::fault::Nearest;
use crate::texture::{self, Texture};
use std::collections::{HashMap, VecDeque};

/// Alignment of every allocation, as in CUDA.
const ALIGNMENT: u64 = 512;
/// Minimum unused bytes between two allocations.
const GUARD: u64 = 1 << 20;
/// Number of freed ranges kept for reports.
const REMEMBERED: usize = 256;

/// The purpose of an allocation, which determines its address range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Global,
    Const,
}

/// All allocations of a device, by address. Addresses are never reused, so stale pointers stay
/// invalid.
pub(crate) struct Table {
    allocations: Vec<Allocation>,
    heap: Option<Heap>,
    textures: Vec<Texture>,
    surfaces: Vec<texture::Image>,
    freed: VecDeque<(u64, u64)>,
    next_global: u64,
    next_const: u64,
    used: u64,
    limit: u64,
}

impl Table {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            allocations: Vec::new(),
            heap: None,
            textures: Vec::new(),
            surfaces: Vec::new(),
            freed: VecDeque::new(),
            next_global: GLOBAL_BASE,
            next_const: CONST_BASE,
            used: 0,
            limit,
        }
    }

    pub(crate) fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    pub(crate) fn alloc(&mut self, size: u64, kind: Kind) -> Result<u64, MemoryError> {
        let (next, end) = match kind {
            Kind::Global => (&mut self.next_global, CONST_BASE),
            Kind::Const => (&mut self.next_const, super::SHARED_WINDOW),
        };
        let base = *next;
        // Even an allocation of zero bytes has a unique address.
        let after = size
            .max(1)
            .checked_add(base + GUARD)
            .and_then(|n| n.checked_next_multiple_of(ALIGNMENT));
        let available = self.limit - self.used;
        let failed = MemoryError::OutOfMemory {
            requested: size,
            available,
            limit: self.limit,
        };
        let after = match after {
            Some(after) if after < end && size <= available => after,
            _ => return Err(failed),
        };
        let allocation = Allocation::new(base, size).ok_or(failed)?;
        *next = after;
        self.used += size;
        let at = self.allocations.partition_point(|a| a.base < base);
        self.allocations.insert(at, allocation);
        Ok(base)
    }

    /// Whether the texels of an image are inside one allocation.
    pub(crate) fn check_image(&self, image: &texture::Image) -> Result<(), MemoryError> {
        let bytes = image.bytes().unwrap_or(u64::MAX);
        self.locate(image.address, bytes).map(|_| ())
    }

    /// Creates a texture handle.
    pub(crate) fn add_texture(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        TEXTURE_BASE + self.textures.len() as u64 - 1
    }

    /// Creates a surface handle.
    pub(crate) fn add_surface(&mut self, image: texture::Image) -> u64 {
        self.surfaces.push(image);
        SURFACE_BASE + self.surfaces.len() as u64 - 1
    }

    pub(crate) fn texture(&self, handle: u64) -> Option<&Texture> {
        let index = usize::try_from(handle.checked_sub(TEXTURE_BASE)?).ok()?;
        self.textures.get(index)
    }

    pub(crate) fn surface(&self, handle: u64) -> Option<&texture::Image> {
        let index = usize::try_from(handle.checked_sub(SURFACE_BASE)?).ok()?;
        self.surfaces.get(index)
    }

    /// Creates the heap of device code, unless it exists.
    pub(crate) fn need_heap(&mut self, size: u64) -> Result<(), MemoryError> {
        if self.heap.is_none() {
            let base = self.alloc(size, Kind::Global)?;
            self.heap = Some(Heap::new(base, size));
        }
        Ok(())
    }

    pub(crate) fn heap(&self) -> Option<&Heap> {
        self.heap.as_ref()
    }

    /// Start of the heap; without one, an address in no allocation.
    #[inline(always)]
    pub(crate) fn heap_base(&self) -> u64 {
        self.heap.as_ref().map_or(0, |heap| heap.base)
    }

    pub(crate) fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        if address == self.heap_base() {
            let reason = "it is the heap of device code";
            return Err(MemoryError::InvalidFree { address, reason });
        }
        match self.allocations.binary_search_by_key(&address, |a| a.base) {
            Ok(at) => {
                let Allocation { base, size, .. } = self.allocations.remove(at);
                self.used -= size;
                if self.freed.len() == REMEMBERED {
                    self.freed.pop_front();
                }
                self.freed.push_back((base, size));
                Ok(())
            }
            Err(_) => {
                let reason = if self.freed.iter().any(|&(base, _)| base == address) {
                    "it was freed before"
                } else if self.find(address, 1).is_some() {
                    "it is inside an allocation, not its start"
                } else {
                    "no allocation starts there"
                };
                Err(MemoryError::InvalidFree { address, reason })
            }
        }
    }

    pub(crate) fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.locate(address, into.len() as u64)?;
        allocation.read(offset, into);
        Ok(())
    }

    pub(crate) fn write(&mut self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        let (allocation, offset) = self.locate(address, from.len() as u64)?;
        allocation.write(offset, from);
        let base = allocation.base;
        self.define(base, |defined| defined.fill(offset, from.len() as u64));
        Ok(())
    }

    /// Changes what is initialised in the allocation at `base`.
    pub(crate) fn define(&mut self, base: u64, change: impl FnOnce(&mut Defined)) {
        if let Ok(at) = self.allocations.binary_search_by_key(&base, |a| a.base) {
            change(&mut self.allocations[at].defined);
        }
    }

    /// Sets what is initialised in some allocations, by address.
    pub(crate) fn set_written(&mut self, written: HashMap<u64, Defined>) {
        for (base, written) in written {
            self.define(base, |defined| *defined = written);
        }
    }

    /// Marks everything as initialised: an unobserved launch may have written anywhere.
    pub(crate) fn define_all(&mut self) {
        for allocation in &mut self.allocations {
            allocation.defined = Defined::everything();
        }
    }

    /// A snapshot of device memory.
    pub(crate) fn image(&self) -> Image {
        let allocations = self.allocations.iter();
        let heap = self.heap.as_ref().map(Heap::state);
        Image::new(allocations.map(|a| (a.base, a.words())).collect(), heap)
    }

    /// Restores a snapshot.
    pub(crate) fn restore(&self, image: &Image) {
        for (base, words) in image.allocations() {
            if let Some(at) = self.find(base, 1) {
                self.allocations[at].set_words(words);
            }
        }
        if let (Some(heap), Some(state)) = (&self.heap, &image.heap) {
            heap.restore(state);
        }
    }

    fn locate(&self, address: u64, size: u64) -> Result<(&Allocation, u64), MemoryError> {
        self.find(address, size)
            .map(|at| (&self.allocations[at], address - self.allocations[at].base))
            .ok_or_else(|| MemoryError::OutOfBounds {
                address,
                size,
                nearest: self.nearest(address),
            })
    }

    /// The index of the allocation that contains all of `size` bytes at `address`.
    pub(crate) fn find(&self, address: u64, size: u64) -> Option<usize> {
        let at = self
            .allocations
            .partition_point(|a| a.base <= address)
            .checked_sub(1)?;
        self.allocations[at].offset_of(address, size).map(|_| at)
    }

    /// The allocation that an invalid address was probably meant for; a freed one if the address is
    /// inside it.
    pub(crate) fn nearest(&self, address: u64) -> Option<Nearest> {
        let live = self.allocations.iter().map(|a| (a.base, a.size, false));
        let mut freed = self.freed.iter().map(|&(base, size)| (base, size, true));
        let distance = |&(base, size, _): &(u64, u64, bool)| {
            if address < base {
                base - address
            } else {
                address.saturating_sub(base.saturating_add(size))
            }
        };
        let offset = |base: u64| i128::from(address) - i128::from(base);
        let inside_freed = freed.rfind(|&(base, size, _)| address >= base && address - base < size);
        inside_freed
            .or_else(|| live.min_by_key(distance))
            .map(|(base, size, freed)| Nearest {
                base,
                size,
                offset: offset(base),
                freed,
            })
    }
}
