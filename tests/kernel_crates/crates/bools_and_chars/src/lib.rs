//! `bool` and `char` in memory and in registers.

use cuda_std::prelude::*;

/// `flags[i]` tells whether character `i` is a letter; `upper[i]` is its upper case (ASCII only),
/// or `char::REPLACEMENT_CHARACTER` if `codes[i]` is not a character.
#[kernel]
pub unsafe fn characters(codes: &[u32], flags: *mut bool, upper: *mut char) {
    let i = thread::index_1d() as usize;
    if i < codes.len() {
        let letter = char::from_u32(codes[i]);
        *flags.add(i) = letter.is_some_and(|letter| letter.is_ascii_alphabetic() || letter > 'ÿ');
        *upper.add(i) = letter.map_or(char::REPLACEMENT_CHARACTER, |letter| {
            letter.to_ascii_uppercase()
        });
    }
}
