//! The device's functions, under std's names and those of [`FloatExt`](super::FloatExt).

use crate::intrinsics;

macro_rules! device_math {
    ($module:ident, $t:ident, { $($name:ident = $function:ident($($argument:ident: $type:ty),*);)* }, $sincos:ident) => {
        pub(super) mod $module {
            use super::intrinsics;

            // LLVM's generic intrinsics, which the NVPTX backend turns into single instructions.
            unsafe extern "C" {
                #[link_name = concat!("llvm.floor.", stringify!($t))]
                pub(in crate::float) safe fn floor(x: $t) -> $t;
                #[link_name = concat!("llvm.ceil.", stringify!($t))]
                pub(in crate::float) safe fn ceil(x: $t) -> $t;
                #[link_name = concat!("llvm.trunc.", stringify!($t))]
                pub(in crate::float) safe fn trunc(x: $t) -> $t;
                #[link_name = concat!("llvm.roundeven.", stringify!($t))]
                pub(in crate::float) safe fn round_ties_even(x: $t) -> $t;
                #[link_name = concat!("llvm.copysign.", stringify!($t))]
                pub(in crate::float) safe fn copysign(x: $t, sign: $t) -> $t;
                #[link_name = concat!("llvm.fma.", stringify!($t))]
                pub(in crate::float) safe fn mul_add(x: $t, a: $t, b: $t) -> $t;
                #[link_name = concat!("llvm.sqrt.", stringify!($t))]
                pub(in crate::float) safe fn sqrt(x: $t) -> $t;
            }

            $(
                #[inline(always)]
                pub(in crate::float) fn $name($($argument: $type),*) -> $t {
                    // SAFETY: numbers in, a number out.
                    unsafe { intrinsics::$function($($argument),*) }
                }
            )*

            #[inline(always)]
            pub(in crate::float) fn sin_cos(x: $t) -> ($t, $t) {
                let (mut sin, mut cos) = (0.0, 0.0);
                // SAFETY: both pointers are to locals.
                unsafe { intrinsics::$sincos(x, &mut sin, &mut cos) };
                (sin, cos)
            }
        }
    };
}
device_math!(math_f32, f32, {
    exp = expf(x: f32);
    exp2 = exp2f(x: f32);
    exp_m1 = expm1f(x: f32);
    ln = logf(x: f32);
    ln_1p = log1pf(x: f32);
    log2 = log2f(x: f32);
    log10 = log10f(x: f32);
    cbrt = cbrtf(x: f32);
    sin = sinf(x: f32);
    cos = cosf(x: f32);
    tan = tanf(x: f32);
    asin = asinf(x: f32);
    acos = acosf(x: f32);
    atan = atanf(x: f32);
    sinh = sinhf(x: f32);
    cosh = coshf(x: f32);
    tanh = tanhf(x: f32);
    asinh = asinhf(x: f32);
    acosh = acoshf(x: f32);
    atanh = atanhf(x: f32);
    powf = powf(x: f32, n: f32);
    powi = powif(x: f32, n: i32);
    hypot = hypotf(x: f32, y: f32);
    atan2 = atan2f(y: f32, x: f32);
}, sincosf);
device_math!(math_f64, f64, {
    exp = exp(x: f64);
    exp2 = exp2(x: f64);
    exp_m1 = expm1(x: f64);
    ln = log(x: f64);
    ln_1p = log1p(x: f64);
    log2 = log2(x: f64);
    log10 = log10(x: f64);
    cbrt = cbrt(x: f64);
    sin = sin(x: f64);
    cos = cos(x: f64);
    tan = tan(x: f64);
    asin = asin(x: f64);
    acos = acos(x: f64);
    atan = atan(x: f64);
    sinh = sinh(x: f64);
    cosh = cosh(x: f64);
    tanh = tanh(x: f64);
    asinh = asinh(x: f64);
    acosh = acosh(x: f64);
    atanh = atanh(x: f64);
    powf = pow(x: f64, n: f64);
    powi = powi(x: f64, n: i32);
    hypot = hypot(x: f64, y: f64);
    atan2 = atan2(y: f64, x: f64);
}, sincos);

macro_rules! device_special {
    ($module:ident, $t:ident, { $($name:ident = $function:ident;)* }, { $($ordered:ident = $with_order:ident;)* },
     { $($scaled:ident = $with_exponent:ident;)* }, $sincospi:ident, $frexp:ident, $ilogb:ident) => {
        pub(super) mod $module {
            use super::intrinsics;

            $(
                #[inline(always)]
                pub(in crate::float) fn $name(x: $t) -> $t {
                    // SAFETY: a number in, a number out.
                    unsafe { intrinsics::$function(x) }
                }
            )*
            $(
                #[inline(always)]
                pub(in crate::float) fn $ordered(x: $t, order: i32) -> $t {
                    // SAFETY: numbers in, a number out.
                    unsafe { intrinsics::$with_order(order, x) }
                }
            )*
            $(
                #[inline(always)]
                pub(in crate::float) fn $scaled(x: $t, exponent: i32) -> $t {
                    // SAFETY: numbers in, a number out.
                    unsafe { intrinsics::$with_exponent(x, exponent) }
                }
            )*

            #[inline(always)]
            pub(in crate::float) fn sincospi(x: $t) -> ($t, $t) {
                let (mut sin, mut cos) = (0.0, 0.0);
                // SAFETY: both pointers are to locals.
                unsafe { intrinsics::$sincospi(x, &mut sin, &mut cos) };
                (sin, cos)
            }

            #[inline(always)]
            pub(in crate::float) fn frexp(x: $t) -> ($t, i32) {
                let mut exponent = 0;
                // SAFETY: the pointer is to a local.
                let fraction = unsafe { intrinsics::$frexp(x, &mut exponent) };
                (fraction, exponent)
            }

            #[inline(always)]
            pub(in crate::float) fn unbiased_exp(x: $t) -> i32 {
                // SAFETY: a number in, a number out.
                unsafe { intrinsics::$ilogb(x) }
            }
        }
    };
}
device_special!(
    special_f32,
    f32,
    {
        sinpi = sinpif;
        cospi = cospif;
        error_function = erff;
        complementary_error_function = erfcf;
        inv_complementary_error_function = erfcinvf;
        scaled_complementary_error_function = erfcxf;
        norm_cdf = normcdff;
        inv_norm_cdf = normcdfinvf;
        j0 = j0f;
        j1 = j1f;
        y0 = y0f;
        y1 = y1f;
        gamma = tgammaf;
        log_gamma = lgammaf;
        log1p = log1pf;
        rcbrt = rcbrtf;
    },
    {
        jn = jnf;
        yn = ynf;
    },
    {
        ldexp = ldexpf;
        scale_by_n = scalbnf;
    },
    sincospif,
    frexpf,
    ilogbf
);
device_special!(
    special_f64,
    f64,
    {
        sinpi = sinpi;
        cospi = cospi;
        error_function = erf;
        complementary_error_function = erfc;
        inv_complementary_error_function = erfcinv;
        scaled_complementary_error_function = erfcx;
        norm_cdf = normcdf;
        inv_norm_cdf = normcdfinv;
        j0 = j0;
        j1 = j1;
        y0 = y0;
        y1 = y1;
        gamma = tgamma;
        log_gamma = lgamma;
        log1p = log1p;
        rcbrt = rcbrt;
    },
    {
        jn = jn;
        yn = yn;
    },
    {
        ldexp = ldexp;
        scale_by_n = scalbn;
    },
    sincospi,
    frexp,
    ilogb
);
