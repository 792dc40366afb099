//! The functions of libdevice, NVIDIA's mathematical library, under their own names without the
//! prefix `__nv_`.
//!
//! Most are easier to use through [`GpuFloat`](crate::GpuFloat) and [`FloatExt`](crate::FloatExt).
//! NVIDIA's libdevice user's guide describes them; their accuracy is in the appendix on
//! mathematical functions of the CUDA C++ programming guide. If a kernel calls one, `cuda_builder`
//! looks for the library, and fetches it if there is no CUDA toolkit.
//!
//! `_rd`, `_rn`, `_ru` and `_rz` round down, to nearest, up and towards zero. On the host every
//! function panics.
//!
//! # Safety
//! All functions: pointers are valid for a write of their type. Those without pointers are actually
//! safe; rust-cuda declares them `unsafe`, and so does this module.

#![allow(
    clippy::missing_safety_doc,
    reason = "the module's documentation states it once"
)]

/// `(parameters) -> result { names }` for functions that share a signature.
macro_rules! libdevice {
    ($($parameters:tt $(-> $result:ty)? { $($name:ident)* })*) => {
        $( libdevice!(@group $parameters [$(-> $result)?] $($name)*); )*
    };
    (@group $parameters:tt $result:tt $($name:ident)*) => {
        $( libdevice!(@one $name $parameters $result); )*
    };
    (@one $name:ident ($($parameter:ident: $type:ty),*) [$(-> $result:ty)?]) => {
        #[doc = concat!("libdevice's `__nv_", stringify!($name), "`.")]
        #[inline(always)]
        pub unsafe fn $name($($parameter: $type),*) $(-> $result)? {
            #[cfg(target_arch = "nvptx64")]
            {
                unsafe extern "C" {
                    #[link_name = concat!("__nv_", stringify!($name))]
                    fn function($($parameter: $type),*) $(-> $result)?;
                }
                // SAFETY: passed on to the caller.
                unsafe { function($($parameter),*) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $( let _ = $parameter; )*
                crate::nvvm::only_on_device(concat!("intrinsics::", stringify!($name)))
            }
        }
    };
}

libdevice! {
    (x: i32) -> i32 {
        abs brev clz ffs popc
    }
    (x: f64) -> f64 {
        acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rd drcp_rn drcp_ru drcp_rz dsqrt_rd dsqrt_rn
        dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log log10 log1p
        log2 logb nearbyint normcdf normcdfinv rcbrt rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1
    }
    (x: f32) -> f32 {
        acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erfcf erfcinvf erfcxf erff erfinvf exp10f
        exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf
        floorf frcp_rd frcp_rn frcp_ru frcp_rz frsqrt_rn fsqrt_rd fsqrt_rn fsqrt_ru fsqrt_rz j0f j1f lgammaf log10f
        log1pf log2f logbf logf nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf saturatef sinf sinhf sinpif
        sqrtf tanf tanhf tgammaf truncf y0f y1f
    }
    (x: f64, y: f64) -> f64 {
        atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn dmul_ru dmul_rz
        fdim fmax fmin fmod hypot nextafter pow remainder
    }
    (x: f32, y: f32) -> f32 {
        atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf fdiv_rd fdiv_rn fdiv_ru fdiv_rz
        fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd fsub_rn fsub_ru fsub_rz hypotf nextafterf powf
        remainderf
    }
    (x: i64) -> i64 {
        brevll llabs
    }
    (x: i32, y: i32, z: i32) -> i32 {
        byte_perm sad usad
    }
    (x: i64) -> i32 {
        clzll ffsll popcll
    }
    (x: f64) -> f32 {
        double2float_rd double2float_rn double2float_ru double2float_rz
    }
    (x: f64) -> i32 {
        double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd
        double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand signbitd
    }
    (x: f64) -> i64 {
        double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru double2ull_rz
        double_as_longlong llrint llround
    }
    (x: f32, sin: *mut f32, cos: *mut f32) {
        fast_sincosf sincosf sincospif
    }
    (x: f32) -> i32 {
        finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru
        float2uint_rz float_as_int ilogbf isinff isnanf signbitf
    }
    (x: f32) -> i16 {
        float2half_rn
    }
    (x: f32) -> i64 {
        float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz llrintf
        llroundf
    }
    (x: f64, y: f64, z: f64) -> f64 {
        fma fma_rd fma_rn fma_ru fma_rz
    }
    (x: f32, y: f32, z: f32) -> f32 {
        fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz
    }
    (x: f64, exponent: *mut i32) -> f64 {
        frexp
    }
    (x: f32, exponent: *mut i32) -> f32 {
        frexpf
    }
    (x: i32, y: i32) -> i32 {
        hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd
    }
    (x: i16) -> f32 {
        half2float
    }
    (x: i32, y: i32) -> f64 {
        hiloint2double
    }
    (x: i32) -> f64 {
        int2double_rn uint2double_rn
    }
    (x: i32) -> f32 {
        int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd uint2float_rn uint2float_ru
        uint2float_rz
    }
    (x: i32, y: f64) -> f64 {
        jn yn
    }
    (x: i32, y: f32) -> f32 {
        jnf ynf
    }
    (x: f64, y: i32) -> f64 {
        ldexp powi scalbn
    }
    (x: f32, y: i32) -> f32 {
        ldexpf powif scalbnf
    }
    (x: i64) -> f64 {
        ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd ull2double_rn
        ull2double_ru ull2double_rz
    }
    (x: i64) -> f32 {
        ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz
    }
    (x: i64, y: i64) -> i64 {
        llmax llmin mul64hi ullmax ullmin umul64hi
    }
    (x: f64, whole: *mut f64) -> f64 {
        modf
    }
    (x: f32, whole: *mut f32) -> f32 {
        modff
    }
    (tag: *mut i8) -> f64 {
        nan
    }
    (tag: *mut i8) -> f32 {
        nanf
    }
    (x: f64, y: f64, quotient: *mut i32) -> f64 {
        remquo
    }
    (x: f32, y: f32, quotient: *mut i32) -> f32 {
        remquof
    }
    (x: f64, sin: *mut f64, cos: *mut f64) {
        sincos sincospi
    }
}
