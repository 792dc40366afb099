//! Values of any plain type, moved between lanes in 32-bit words.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::Plain;
use crate::unroll::calls;

/// Whole words of a `T`.
struct Words<T>(PhantomData<T>);

impl<T> Words<T> {
    const WHOLE: usize = size_of::<T>() / 4;
}

/// `value` with each of its words replaced by the result of `exchange`. The last word may have one,
/// two or three bytes.
///
/// Unrolled up to 32 words, so that the value stays in registers.
#[inline(always)]
pub(super) fn by_words<T: Plain>(value: T, mut exchange: impl FnMut(u32) -> u32) -> T {
    let mut result = MaybeUninit::<T>::uninit();
    let (from, to) = (
        (&raw const value).cast::<u8>(),
        result.as_mut_ptr().cast::<u8>(),
    );
    macro_rules! piece {
        ($piece:ty, $at:expr) => {{
            let at = $at;
            // SAFETY: the bytes are inside both values; a plain value has no padding, so all are
            // initialised.
            unsafe {
                let piece = from.add(at).cast::<$piece>().read_unaligned();
                let piece = exchange(u32::from(piece)) as $piece;
                to.add(at).cast::<$piece>().write_unaligned(piece);
            }
        }};
    }
    let mut word = |i: usize| piece!(u32, 4 * i);
    if Words::<T>::WHOLE <= 32 {
        calls!(Words::<T>::WHOLE, word);
    } else {
        (0..Words::<T>::WHOLE).for_each(word);
    }
    if size_of::<T>() % 4 >= 2 {
        piece!(u16, 4 * Words::<T>::WHOLE);
    }
    if size_of::<T>() % 2 == 1 {
        piece!(u8, size_of::<T>() - 1);
    }
    // SAFETY: every byte is written, and every bit pattern is a valid plain value.
    unsafe { result.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::by_words;

    #[test]
    fn every_byte_of_every_size() {
        macro_rules! sizes {
            ($($n:literal)*) => {$(
                let bytes: [u8; $n] = core::array::from_fn(|i| i as u8 + 1);
                let mut words = 0;
                let inverted = by_words(bytes, |word| {
                    words += 1;
                    !word
                });
                assert_eq!(inverted, bytes.map(|byte| !byte));
                assert_eq!(words, $n / 4 + [0, 1, 1, 2][$n % 4]);
            )*};
        }
        sizes!(0 1 2 3 4 5 7 8 16 23 128 135);
        assert_eq!(by_words(-1.5_f64, |word| word), -1.5);
        assert_eq!(by_words([7_u16, 9], |word| word.rotate_left(16)), [9, 7]);
    }
}
