//! What core gives: wide integers, trait objects, closures, generics, iterators, its atomics; and
//! shuffles of the other types.

use core::ops::Add;
use core::sync::atomic::{AtomicU64, Ordering};

use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

use crate::put;

/// Something with an area, to be called through a table.
trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);
struct Rectangle(u32, u32);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> u32 {
        self.0 * self.0
    }
}

impl Shape for Rectangle {
    #[inline(never)]
    fn area(&self) -> u32 {
        self.0 * self.1
    }
}

fn folded<T: Copy + Add<Output = T>>(values: &[T], start: T, f: impl Fn(T) -> T) -> T {
    values.iter().fold(start, |sum, &value| sum + f(value))
}

/// Any one-dimensional launch; 4 columns per thread `t`: the area of a square (even `t`) or
/// rectangle (odd) of side `t + 1` through a trait object; a sum of squares of `values[..t]` by a
/// generic function and a closure; `t!` as `i128` folded to 32 bits; how many of `values` are above
/// `t`.
#[kernel]
pub unsafe fn language(values: &[u32], total: *mut u64, out: *mut u32) {
    let t = thread::index_1d();
    let (square, rectangle) = (Square(t + 1), Rectangle(t + 1, 3));
    let shape: &dyn Shape = core::hint::black_box(if t.is_multiple_of(2) {
        &square
    } else {
        &rectangle
    });
    let factorial = (1..=i128::from(t)).product::<i128>();
    let folded_factorial = (0..4).fold(0, |bits, word| bits ^ (factorial >> (32 * word)) as u32);
    let columns = [
        shape.area(),
        folded(&values[..t as usize], 0, |value| value * value),
        folded_factorial,
        values.iter().filter(|value| **value > t).count() as u32,
    ];
    for (column, value) in (0..).zip(columns) {
        // SAFETY: the crate's rule.
        unsafe { crate::put(out, t, 4, column, value) };
    }
    // SAFETY: everybody accesses it atomically.
    unsafe { AtomicU64::from_ptr(total) }.fetch_add(u64::from(t), Ordering::Relaxed);
}

/// One warp; 7 columns: the other lane's value of a pair as 8 bits; that of the lane below as 16 bits;
/// that of the third lane above as 128 bits (low and high half); that of the lane below as `f16` and
/// `bf16` (their bits); and whether there is a third lane above.
#[kernel]
pub unsafe fn shuffles_of_other_widths(out: *mut u64) {
    let lane = thread::thread_idx_x();
    let wide = u128::from(lane) << 100 | u128::from(lane);
    // SAFETY: all 32 lanes are here.
    let columns = unsafe {
        let (wide, there) = warp::warp_shuffle_down(u32::MAX, wide, 3, 32);
        [
            warp::warp_shuffle_xor(u32::MAX, -(lane as i8), 1, 32).0 as u64,
            u64::from(warp::warp_shuffle_up(u32::MAX, lane as u16 * 1000, 1, 32).0),
            wide as u64,
            (wide >> 64) as u64,
            u64::from(
                warp::warp_shuffle_up(u32::MAX, f16::from_f32(lane as f32 / 4.0), 1, 32)
                    .0
                    .to_bits(),
            ),
            u64::from(
                warp::warp_shuffle_up(u32::MAX, bf16::from_f32(lane as f32 * 8.0), 1, 32)
                    .0
                    .to_bits(),
            ),
            u64::from(there),
        ]
    };
    for (column, value) in (0..).zip(columns) {
        // SAFETY: the crate's rule.
        unsafe { crate::put(out, lane, 7, column, value) };
    }
}

/// For each pair of words as a 128-bit integer, low word first, 4 columns: that integer, unsigned
/// and signed, as `f64` and as `f32`, in bits. Then 8 more: the first word as `f64` and the low
/// half of the second one as `f32`, as `u128` and `i128`, in two words each.
#[kernel]
pub unsafe fn wide_conversions(words: &[u64], out: *mut u64) {
    let row = thread::index_1d();
    let first = 2 * row as usize;
    if first + 1 >= words.len() {
        return;
    }
    let (low, high) = (words[first], words[first + 1]);
    let wide = u128::from(high) << 64 | u128::from(low);
    let (double, single) = (f64::from_bits(low), f32::from_bits(high as u32));
    let integers = [
        double as u128,
        double as i128 as u128,
        single as u128,
        single as i128 as u128,
    ];
    let columns = [
        (wide as f64).to_bits(),
        (wide as i128 as f64).to_bits(),
        (wide as f32).to_bits().into(),
        (wide as i128 as f32).to_bits().into(),
    ]
    .into_iter()
    .chain(
        integers
            .into_iter()
            .flat_map(|value| [value as u64, (value >> 64) as u64]),
    );
    for (column, value) in (0..).zip(columns) {
        // SAFETY: the crate's rule.
        unsafe { put(out, row, 12, column, value) };
    }
}
