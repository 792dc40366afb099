//! Every function of `GpuFloat` and `FloatExt`: a kernel each, named as `<function>_<type>`.

use cuda_std::prelude::*;
use cuda_std::{FloatExt, GpuFloat};

/// Kernels `out[i] = x[i].function()`; any one-dimensional launch.
macro_rules! unary {
    ($t:ty: $($kernel:ident = $trait:ident::$function:ident;)*) => {$(
        #[doc = concat!("`out[i] = x[i].", stringify!($function), "()`.")]
        #[kernel]
        pub unsafe fn $kernel(x: &[$t], out: *mut $t) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                // SAFETY: the crate's rule.
                unsafe { out.add(i).write($trait::$function(x[i])) };
            }
        }
    )*};
}

/// Kernels `out[i] = x[i].function(y[i])`; any one-dimensional launch.
macro_rules! binary {
    ($t:ty: $($kernel:ident = $trait:ident::$function:ident($other:ty);)*) => {$(
        #[doc = concat!("`out[i] = x[i].", stringify!($function), "(y[i])`.")]
        #[kernel]
        pub unsafe fn $kernel(x: &[$t], y: &[$other], out: *mut $t) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                // SAFETY: the crate's rule.
                unsafe { out.add(i).write($trait::$function(x[i], y[i])) };
            }
        }
    )*};
}

/// Kernels `(first[i], second[i]) = x[i].function()`; any one-dimensional launch.
macro_rules! pairs {
    ($t:ty: $($kernel:ident = $trait:ident::$function:ident($second:ty);)*) => {$(
        #[doc = concat!("`(first[i], second[i]) = x[i].", stringify!($function), "()`.")]
        #[kernel]
        pub unsafe fn $kernel(x: &[$t], first: *mut $t, second: *mut $second) {
            let i = thread::index_1d() as usize;
            if i < x.len() {
                let pair = $trait::$function(x[i]);
                // SAFETY: the crate's rule.
                unsafe {
                    first.add(i).write(pair.0);
                    second.add(i).write(pair.1);
                }
            }
        }
    )*};
}

unary! {
    f32:
    signum_f32 = GpuFloat::signum;
    exp_f32 = GpuFloat::exp;
    exp2_f32 = GpuFloat::exp2;
    exp_m1_f32 = GpuFloat::exp_m1;
    ln_f32 = GpuFloat::ln;
    ln_1p_f32 = GpuFloat::ln_1p;
    log2_f32 = GpuFloat::log2;
    log10_f32 = GpuFloat::log10;
    sqrt_f32 = GpuFloat::sqrt;
    recip_f32 = GpuFloat::recip;
    cbrt_f32 = GpuFloat::cbrt;
    sin_f32 = GpuFloat::sin;
    cos_f32 = GpuFloat::cos;
    tan_f32 = GpuFloat::tan;
    asin_f32 = GpuFloat::asin;
    acos_f32 = GpuFloat::acos;
    atan_f32 = GpuFloat::atan;
    sinh_f32 = GpuFloat::sinh;
    cosh_f32 = GpuFloat::cosh;
    tanh_f32 = GpuFloat::tanh;
    asinh_f32 = GpuFloat::asinh;
    acosh_f32 = GpuFloat::acosh;
    atanh_f32 = GpuFloat::atanh;
    sinpi_f32 = FloatExt::sinpi;
    cospi_f32 = FloatExt::cospi;
    error_function_f32 = FloatExt::error_function;
    complementary_error_function_f32 = FloatExt::complementary_error_function;
    inv_complementary_error_function_f32 = FloatExt::inv_complementary_error_function;
    scaled_complementary_error_function_f32 = FloatExt::scaled_complementary_error_function;
    norm_cdf_f32 = FloatExt::norm_cdf;
    inv_norm_cdf_f32 = FloatExt::inv_norm_cdf;
    j0_f32 = FloatExt::j0;
    j1_f32 = FloatExt::j1;
    y0_f32 = FloatExt::y0;
    y1_f32 = FloatExt::y1;
    gamma_f32 = FloatExt::gamma;
    log_gamma_f32 = FloatExt::log_gamma;
    log1p_f32 = FloatExt::log1p;
    rcbrt_f32 = FloatExt::rcbrt;
    saturate_f32 = FloatExt::saturate;
}
binary! {
    f32:
    div_euclid_f32 = GpuFloat::div_euclid(f32);
    rem_euclid_f32 = GpuFloat::rem_euclid(f32);
    powf_f32 = GpuFloat::powf(f32);
    log_f32 = GpuFloat::log(f32);
    hypot_f32 = GpuFloat::hypot(f32);
    atan2_f32 = GpuFloat::atan2(f32);
    powi_f32 = GpuFloat::powi(i32);
    ldexp_f32 = FloatExt::ldexp(i32);
    scale_by_n_f32 = FloatExt::scale_by_n(i32);
    jn_f32 = FloatExt::jn(i32);
    yn_f32 = FloatExt::yn(i32);
}
pairs! {
    f32:
    sin_cos_f32 = GpuFloat::sin_cos(f32);
    sincospi_f32 = FloatExt::sincospi(f32);
    frexp_f32 = FloatExt::frexp(i32);
}

/// `out[i] = x[i].unbiased_exp()`; any one-dimensional launch.
#[kernel]
pub unsafe fn unbiased_exp_f32(x: &[f32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: the crate's rule.
        unsafe { out.add(i).write(x[i].unbiased_exp()) };
    }
}

unary! {
    f64:
    signum_f64 = GpuFloat::signum;
    exp_f64 = GpuFloat::exp;
    exp2_f64 = GpuFloat::exp2;
    exp_m1_f64 = GpuFloat::exp_m1;
    ln_f64 = GpuFloat::ln;
    ln_1p_f64 = GpuFloat::ln_1p;
    log2_f64 = GpuFloat::log2;
    log10_f64 = GpuFloat::log10;
    sqrt_f64 = GpuFloat::sqrt;
    recip_f64 = GpuFloat::recip;
    cbrt_f64 = GpuFloat::cbrt;
    sin_f64 = GpuFloat::sin;
    cos_f64 = GpuFloat::cos;
    tan_f64 = GpuFloat::tan;
    asin_f64 = GpuFloat::asin;
    acos_f64 = GpuFloat::acos;
    atan_f64 = GpuFloat::atan;
    sinh_f64 = GpuFloat::sinh;
    cosh_f64 = GpuFloat::cosh;
    tanh_f64 = GpuFloat::tanh;
    asinh_f64 = GpuFloat::asinh;
    acosh_f64 = GpuFloat::acosh;
    atanh_f64 = GpuFloat::atanh;
    sinpi_f64 = FloatExt::sinpi;
    cospi_f64 = FloatExt::cospi;
    error_function_f64 = FloatExt::error_function;
    complementary_error_function_f64 = FloatExt::complementary_error_function;
    inv_complementary_error_function_f64 = FloatExt::inv_complementary_error_function;
    scaled_complementary_error_function_f64 = FloatExt::scaled_complementary_error_function;
    norm_cdf_f64 = FloatExt::norm_cdf;
    inv_norm_cdf_f64 = FloatExt::inv_norm_cdf;
    j0_f64 = FloatExt::j0;
    j1_f64 = FloatExt::j1;
    y0_f64 = FloatExt::y0;
    y1_f64 = FloatExt::y1;
    gamma_f64 = FloatExt::gamma;
    log_gamma_f64 = FloatExt::log_gamma;
    log1p_f64 = FloatExt::log1p;
    rcbrt_f64 = FloatExt::rcbrt;
    saturate_f64 = FloatExt::saturate;
}
binary! {
    f64:
    div_euclid_f64 = GpuFloat::div_euclid(f64);
    rem_euclid_f64 = GpuFloat::rem_euclid(f64);
    powf_f64 = GpuFloat::powf(f64);
    log_f64 = GpuFloat::log(f64);
    hypot_f64 = GpuFloat::hypot(f64);
    atan2_f64 = GpuFloat::atan2(f64);
    powi_f64 = GpuFloat::powi(i32);
    ldexp_f64 = FloatExt::ldexp(i32);
    scale_by_n_f64 = FloatExt::scale_by_n(i32);
    jn_f64 = FloatExt::jn(i32);
    yn_f64 = FloatExt::yn(i32);
}
pairs! {
    f64:
    sin_cos_f64 = GpuFloat::sin_cos(f64);
    sincospi_f64 = FloatExt::sincospi(f64);
    frexp_f64 = FloatExt::frexp(i32);
}

/// `out[i] = x[i].unbiased_exp()`; any one-dimensional launch.
#[kernel]
pub unsafe fn unbiased_exp_f64(x: &[f64], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: the crate's rule.
        unsafe { out.add(i).write(x[i].unbiased_exp()) };
    }
}
