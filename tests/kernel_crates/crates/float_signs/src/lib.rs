//! Signs, extremes and classes of floats.

use cuda_std::prelude::*;

/// Five columns of bits for each pair of numbers of 32 and of 64 bits: what changes a sign, and a
/// choice of two numbers of which one is negated. Of a NaN only the sign bit may change.
#[kernel]
pub unsafe fn sign_bits(x: &[u64], y: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (a, b) = (f64::from_bits(x[i]), f64::from_bits(y[i]));
    let (c, d) = (f32::from_bits(x[i] as u32), f32::from_bits(y[i] as u32));
    let wide = [
        -a,
        a.abs(),
        -a.abs(),
        a.copysign(b),
        if b > 0.0 { a } else { -a },
    ];
    let narrow = [
        -c,
        c.abs(),
        -c.abs(),
        c.copysign(d),
        if d > 0.0 { c } else { -c },
    ];
    for (column, (wide, narrow)) in wide.into_iter().zip(narrow).enumerate() {
        *out.add(10 * i + 2 * column) = wide.to_bits();
        *out.add(10 * i + 2 * column + 1) = u64::from(narrow.to_bits());
    }
}

/// Six columns for each number of 32 and of 64 bits whose sign changes twice, by a branch, through
/// a closure, or as an integer.
#[kernel]
pub unsafe fn signs_by_turns(x: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (a, c) = (f64::from_bits(x[i]), f32::from_bits(x[i] as u32));
    let wide = [
        -(-a),
        if a < 0.0 { -a } else { a },
        [a, -a].map(|a| -a)[1],
        (-a).copysign(a),
        f64::from_bits((-a).to_bits() ^ 1 << 63),
        [a.abs(), -a.abs()][usize::from(a.is_sign_negative())],
    ];
    let narrow = [
        -(-c),
        if c < 0.0 { -c } else { c },
        [c, -c].map(|c| -c)[1],
        (-c).copysign(c),
        f32::from_bits((-c).to_bits() ^ 1 << 31),
        [c.abs(), -c.abs()][usize::from(c.is_sign_negative())],
    ];
    for (column, (wide, narrow)) in wide.into_iter().zip(narrow).enumerate() {
        *out.add(12 * i + 2 * column) = wide.to_bits();
        *out.add(12 * i + 2 * column + 1) = u64::from(narrow.to_bits());
    }
}

/// As floats, not as bits: `out[2 * i]` is `-x[i]`, `out[2 * i + 1]` its absolute value.
#[kernel]
pub unsafe fn stored_signs(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(2 * i) = -x[i];
        *out.add(2 * i + 1) = x[i].abs();
    }
}

/// The same for 64 bits.
#[kernel]
pub unsafe fn stored_wide_signs(x: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(2 * i) = -x[i];
        *out.add(2 * i + 1) = x[i].abs();
    }
}

/// Six columns of bits for each pair: abs, signum, copysign, min, max, and class with order in one
/// number.
#[kernel]
pub unsafe fn signs(x: &[f64], y: &[f64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let class = x.classify() as u64 * 16 + (x.total_cmp(&y) as i64 + 1) as u64;
    let columns = [
        x.abs().to_bits(),
        x.signum().to_bits(),
        x.copysign(y).to_bits(),
        x.min(y).to_bits(),
        x.max(y).to_bits(),
        class,
    ];
    for (column, bits) in columns.into_iter().enumerate() {
        *out.add(6 * i + column) = bits;
    }
}
