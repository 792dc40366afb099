//! `Option`, `Result` and `?`.

use cuda_std::prelude::*;

#[derive(Debug, PartialEq)]
enum Problem {
    Zero,
    TooLarge(u32),
}

fn half_of_even(x: u32) -> Option<u32> {
    (x % 2 == 0).then_some(x / 2)
}

fn quotient(x: u32, y: u32) -> Result<u32, Problem> {
    let quotient = x.checked_div(y).ok_or(Problem::Zero)?;
    if quotient > 100 {
        return Err(Problem::TooLarge(quotient));
    }
    half_of_even(quotient)
        .or(Some(quotient))
        .ok_or(Problem::Zero)
}

/// Half of `x / y` if it is even, itself if it is odd; 1000 if `y` is 0; 2000 more than a quotient
/// above 100.
#[kernel]
pub unsafe fn careful_quotients(x: &[u32], y: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let (Some(&x), Some(&y)) = (x.get(i), y.get(i)) else {
        return;
    };
    *out.add(i) = match quotient(x, y) {
        Ok(value) => value,
        Err(Problem::Zero) => 1000,
        Err(Problem::TooLarge(value)) => 2000 + value,
    };
}
