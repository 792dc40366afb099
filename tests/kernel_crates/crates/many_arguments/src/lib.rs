//! Many parameters of every width.

use cuda_std::prelude::*;

/// Sixteen columns: each parameter as `f64`.
#[kernel]
#[allow(clippy::too_many_arguments)]
pub unsafe fn many_arguments(
    a: u8,
    b: i8,
    c: u16,
    d: i16,
    e: u32,
    f: i32,
    g: u64,
    h: i64,
    i: f32,
    j: f64,
    k: bool,
    l: char,
    m: usize,
    n: isize,
    o: u128,
    out: *mut f64,
    p: u8,
) {
    let columns = [
        f64::from(a),
        f64::from(b),
        f64::from(c),
        f64::from(d),
        f64::from(e),
        f64::from(f),
        g as f64,
        h as f64,
        f64::from(i),
        j,
        f64::from(u8::from(k)),
        f64::from(l as u32),
        m as f64,
        n as f64,
        (o >> 64) as u64 as f64,
        f64::from(p),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(column) = value;
    }
}
