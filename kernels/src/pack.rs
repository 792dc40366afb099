//! 16-byte packs, the widest load or store of one thread.

/// Adjacent elements that are loaded or stored together: 16 bytes, aligned to 16.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Pack<T, const LANES: usize>(pub(crate) [T; LANES]);

/// Bytes of a [`Pack`].
pub const BYTES: usize = 16;

/// Elements of a [`Pack`].
pub const fn lanes<T>() -> usize {
    BYTES / size_of::<T>()
}

/// Elements from `address` up to the first whole pack.
#[inline(always)]
pub(crate) fn elements_before<T>(address: *const T) -> usize {
    // Of the lower word.
    let before = (address.addr() as u32).wrapping_neg() as usize % BYTES;
    before / size_of::<T>()
}

/// Elements from the last whole pack up to `address`.
#[inline(always)]
pub(crate) fn elements_behind<T>(address: *const T) -> usize {
    address.addr() as u32 as usize % BYTES / size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::{elements_before, elements_behind};

    #[test]
    fn packs_begin_at_multiples_of_sixteen() {
        for (address, floats, doubles) in [(64, 0, 0), (68, 3, 1), (72, 2, 1), (76, 1, 0)] {
            let pointer = core::ptr::without_provenance::<f32>(address);
            assert_eq!(elements_before(pointer), floats);
            assert_eq!(elements_before(pointer.cast::<f64>()), doubles);
            assert_eq!(elements_behind(pointer), (4 - floats) % 4);
        }
    }
}
