//! Functions of C's mathematics and types of CUDA C++, each with an underscore after its name.
//!
//! The names themselves would be ambiguous beside `use libm::*` and `use cuda_std::intrinsics::*`. With
//! one letter more the compiler takes such a name for a misspelt one and shows the line of the item
//! here, whose comment is what to write. Whoever follows it gets the error of the bound.
#![allow(missing_docs, non_camel_case_types, reason = "names of CUDA C++")]

use super::FloatFunction;

pub fn sqrt_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.sqrt()`, a method
pub fn sqrtf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.sqrt()`, a method
pub fn rsqrt_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `1.0 / x.sqrt()`
pub fn rsqrtf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `1.0 / x.sqrt()`
pub fn cbrt_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.cbrt()`, a method
pub fn cbrtf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.cbrt()`, a method
pub fn exp_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp()`, a method
pub fn expf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp()`, a method
pub fn exp2_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp2()`, a method
pub fn exp2f_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp2()`, a method
pub fn expm1_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp_m1()`, a method
pub fn expm1f_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.exp_m1()`, a method
pub fn log_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ln()`, a method
pub fn logf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ln()`, a method
pub fn log2_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.log2()`, a method
pub fn log2f_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.log2()`, a method
pub fn log10_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.log10()`, a method
pub fn log10f_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.log10()`, a method
pub fn log1p_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ln_1p()`, a method
pub fn log1pf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ln_1p()`, a method
pub fn sin_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.sin()`, a method
pub fn sinf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.sin()`, a method
pub fn cos_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.cos()`, a method
pub fn cosf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.cos()`, a method
pub fn tan_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.tan()`, a method
pub fn tanf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.tan()`, a method
pub fn tanh_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.tanh()`, a method
pub fn tanhf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.tanh()`, a method
pub fn atan2_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `y.atan2(x)`, a method
pub fn atan2f_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `y.atan2(x)`, a method
pub fn pow_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.powf(y)`, a method
pub fn powf_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.powf(y)`, a method
pub fn fabs_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.abs()`, a method
pub fn fabsf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.abs()`, a method
pub fn floor_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.floor()`, a method
pub fn floorf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.floor()`, a method
pub fn ceil_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ceil()`, a method
pub fn ceilf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.ceil()`, a method
pub fn round_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.round()`, a method
pub fn roundf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.round()`, a method
pub fn trunc_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.trunc()`, a method
pub fn truncf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.trunc()`, a method
pub fn rint_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.round_ties_even()`, a method
pub fn rintf_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.round_ties_even()`, a method
pub fn fmod_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x % y`
pub fn fmodf_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x % y`
pub fn fma_<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): FloatFunction { unreachable!() } // `x.mul_add(y, z)`, a method
pub fn fmaf_<'a, A, B, C, R>(_: A, _: B, _: C) -> R where &'a (): FloatFunction { unreachable!() } // `x.mul_add(y, z)`, a method
pub fn fmax_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.max(y)`, a method
pub fn fmaxf_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.max(y)`, a method
pub fn fmin_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.min(y)`, a method
pub fn fminf_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.min(y)`, a method
pub fn max_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.max(y)`, a method
pub fn min_<'a, A, B, R>(_: A, _: B) -> R where &'a (): FloatFunction { unreachable!() } // `x.min(y)`, a method
pub fn abs_<'a, A, R>(_: A) -> R where &'a (): FloatFunction { unreachable!() } // `x.abs()`, a method

pub enum float_ {} // `f32`
pub enum double_ {} // `f64`
pub enum int_ {} // `i32`
pub enum float2_ {} // `[f32; 2]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum float3_ {} // `[f32; 3]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum float4_ {} // `[f32; 4]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum double2_ {} // `[f64; 2]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum int2_ {} // `[i32; 2]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum int3_ {} // `[i32; 3]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum int4_ {} // `[i32; 4]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum uint2_ {} // `[u32; 2]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum uint3_ {} // `[u32; 3]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum uint4_ {} // `[u32; 4]`, or a struct with `#[repr(C)]` and `#[derive(Clone, Copy, Plain)]`
pub enum uint_ {} // `u32`
pub enum unsigned_ {} // `u32`
pub enum size_t_ {} // `usize`
pub enum uchar_ {} // `u8`
pub enum uint8_t_ {} // `u8`
pub enum int32_t_ {} // `i32`
pub enum uint32_t_ {} // `u32`
pub enum int64_t_ {} // `i64`
pub enum uint64_t_ {} // `u64`
pub enum half_ {} // `f16`
