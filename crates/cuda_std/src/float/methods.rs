//! [`GpuFloat`]'s methods for the prelude.

use super::GpuFloat;

/// Declares again, by reference, each method of [`GpuFloat`] that core's floats lack.
macro_rules! by_reference {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// In the prelude instead of [`GpuFloat`] itself. If another trait with such methods is
        /// imported too, such as `Float` of num_traits, its methods, which take values, are found
        /// first, and nothing is ambiguous.
        pub trait FloatMethods: GpuFloat {$(
            #[doc = concat!("[`GpuFloat::", stringify!($name), "`].")]
            #[inline(always)]
            fn $name(&self $(, $argument: $type)*) -> $result {
                GpuFloat::$name(*self $(, $argument)*)
            }
        )*}
    };
}

by_reference! {
    floor() -> Self;
    ceil() -> Self;
    round() -> Self;
    round_ties_even() -> Self;
    trunc() -> Self;
    fract() -> Self;
    mul_add(a: Self, b: Self) -> Self;
    div_euclid(rhs: Self) -> Self;
    rem_euclid(rhs: Self) -> Self;
    powi(n: i32) -> Self;
    powf(n: Self) -> Self;
    sqrt() -> Self;
    exp() -> Self;
    exp2() -> Self;
    exp_m1() -> Self;
    ln() -> Self;
    ln_1p() -> Self;
    log(base: Self) -> Self;
    log2() -> Self;
    log10() -> Self;
    cbrt() -> Self;
    hypot(other: Self) -> Self;
    sin() -> Self;
    cos() -> Self;
    tan() -> Self;
    sin_cos() -> (Self, Self);
    asin() -> Self;
    acos() -> Self;
    atan() -> Self;
    atan2(other: Self) -> Self;
    sinh() -> Self;
    cosh() -> Self;
    tanh() -> Self;
    asinh() -> Self;
    acosh() -> Self;
    atanh() -> Self;
}

impl<T: GpuFloat> FloatMethods for T {}
