//! Structs by value as parameters: padding, nesting, arrays, no size at all.

use cuda_std::prelude::*;

/// Seven bytes of padding.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Padded {
    pub small: u8,
    pub large: u64,
}

/// A struct and an array in one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Nested {
    pub scale: f32,
    pub padded: Padded,
    pub offsets: [i16; 3],
}

/// Of size 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Nothing;

/// `out[t]` is made of every field.
#[kernel]
pub unsafe fn struct_arguments(
    first: Padded,
    nested: Nested,
    pair: [u32; 2],
    _nothing: Nothing,
    out: *mut f64,
) {
    let t = thread::index_1d() as usize;
    let offset = f64::from(nested.offsets[t % 3]);
    let large = (first.large ^ nested.padded.large) as f64;
    let small = f64::from(first.small) + 256.0 * f64::from(nested.padded.small);
    *out.add(t) = match t / 3 {
        0 => f64::from(nested.scale) * offset,
        1 => large + offset,
        2 => small,
        _ => f64::from(pair[t % 2]),
    };
}
