//! The placement of a block's dynamic shared arrays, the same on host and device.

/// Dynamic shared arrays, placed one after the other, each at a multiple of its elements'
/// alignment.
#[doc(hidden)]
#[derive(Debug)]
pub struct DynamicShared {
    end: usize,
}

impl DynamicShared {
    /// No array yet.
    #[inline(always)]
    #[allow(clippy::new_without_default, reason = "generated code alone calls it")]
    pub const fn new() -> Self {
        Self { end: 0 }
    }

    /// The offset of an array of `len` elements. `None` where the memory would exceed 4 GiB.
    #[inline(always)]
    pub const fn place<T>(&mut self, len: usize) -> Option<usize> {
        let Some(offset) = self.end.checked_next_multiple_of(align_of::<T>()) else {
            return None;
        };
        let Some(bytes) = len.checked_mul(size_of::<T>()) else {
            return None;
        };
        match offset.checked_add(bytes) {
            Some(end) if end <= u32::MAX as usize => {
                self.end = end;
                Some(offset)
            }
            _ => None,
        }
    }

    /// The bytes of all arrays.
    pub const fn bytes(&self) -> u32 {
        // `place` limits it to 32 bits.
        self.end as u32
    }
}

#[cfg(test)]
mod tests {
    use super::DynamicShared;

    #[test]
    fn arrays_lie_one_after_the_other_each_aligned() {
        let mut arrays = DynamicShared::new();
        assert_eq!(arrays.place::<u8>(5), Some(0));
        assert_eq!(arrays.place::<u64>(2), Some(8));
        assert_eq!(arrays.place::<u16>(0), Some(24));
        assert_eq!(arrays.place::<f32>(1), Some(24));
        assert_eq!(arrays.bytes(), 28);
    }

    #[test]
    fn what_no_launch_can_ask_for_has_no_place() {
        let mut arrays = DynamicShared::new();
        assert_eq!(arrays.place::<u32>(usize::MAX / 2), None);
        assert_eq!(arrays.place::<u8>(1 << 32), None);
        assert_eq!(arrays.place::<u8>((1 << 32) - 1), Some(0));
        assert_eq!(arrays.place::<u8>(1), None);
        assert_eq!(arrays.place::<u16>(0), None);
        assert_eq!(arrays.bytes(), u32::MAX);
    }
}
