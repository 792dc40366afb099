//! Strings: UTF-8, characters, parsing.

use cuda_std::prelude::*;

const WORDS: [&str; 4] = ["Größe", "naïve", "日本語", "block-42;17"];

/// Four columns for each word: bytes, characters, a hash of the upper-case form, the number after
/// `-` (or 0).
#[kernel]
pub unsafe fn text_columns(out: *mut u32) {
    let t = thread::index_1d() as usize;
    let Some(&word) = core::hint::black_box(&WORDS).get(t) else {
        return;
    };
    let row = out.add(4 * t);
    *row = word.len() as u32;
    *row.add(1) = word.chars().count() as u32;
    *row.add(2) = word
        .chars()
        .map(|letter| letter.to_ascii_uppercase())
        .fold(7, |hash: u32, letter| {
            hash.wrapping_mul(31).wrapping_add(u32::from(letter))
        });
    let digits = word.split(['-', ';']).nth(1);
    *row.add(3) = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0);
}
