//! The register type of each number that atomics operate on.

/// A number of 32 or 64 bits.
pub(super) trait Word: Copy {
    type Bits;
    fn bits(self) -> Self::Bits;
    fn of(bits: Self::Bits) -> Self;
}

macro_rules! words {
    ($($t:ty, $bits:ty, $to:path, $from:path;)*) => {$(
        impl Word for $t {
            type Bits = $bits;
            #[inline(always)]
            fn bits(self) -> $bits {
                $to(self)
            }
            #[inline(always)]
            fn of(bits: $bits) -> $t {
                $from(bits)
            }
        }
    )*};
}
words! {
    u32, u32, core::convert::identity, core::convert::identity;
    i32, u32, i32::cast_unsigned, u32::cast_signed;
    f32, u32, f32::to_bits, f32::from_bits;
    u64, u64, core::convert::identity, core::convert::identity;
    i64, u64, i64::cast_unsigned, u64::cast_signed;
    f64, u64, f64::to_bits, f64::from_bits;
}
