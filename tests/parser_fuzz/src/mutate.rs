//! Changes of inputs: bits, bytes, numbers in bytes and in digits, words of the format, pieces of
//! other inputs.

use crate::LONGEST;
use crate::rng::Rng;

/// Numbers at the ends of types, and those that sizes and counts break at.
const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    7,
    8,
    16,
    127,
    128,
    255,
    256,
    4096,
    32_767,
    65_535,
    65_536,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

/// A changed copy of one of the inputs.
pub(crate) fn changed(rng: &mut Rng, inputs: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut input = match inputs.is_empty() {
        true => Vec::new(),
        false => inputs[rng.below(inputs.len())].clone(),
    };
    for _ in 0..1 + rng.below(6) {
        change(rng, &mut input, inputs, words);
    }
    input.truncate(LONGEST);
    input
}

fn change(rng: &mut Rng, input: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&str]) {
    let at = rng.below(input.len() + 1);
    let len = rng.below(32.min(input.len() - at) + 1);
    match rng.below(14) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = rng.next() as u8;
            }
        }
        2 => input.truncate(at),
        3 => drop(input.drain(at..at + len)),
        4 => {
            let piece = input[at..at + len].to_vec();
            input.splice(at..at, piece);
        }
        // Many of one piece: depth, and length.
        5 => {
            let times = 1 << rng.below(12);
            let piece = input[at..at + len].repeat(times);
            input.splice(at..at, piece.into_iter().take(LONGEST));
        }
        6 | 7 if !words.is_empty() => {
            let word = in_bytes(rng.pick(words));
            let end = if rng.below(2) == 0 { at } else { at + len };
            input.splice(at..end, word);
        }
        8 => number(rng, input, at),
        9 | 10 => digits(rng, input, at),
        11 if !inputs.is_empty() => {
            let other = &inputs[rng.below(inputs.len())];
            let from = rng.below(other.len() + 1);
            let to = from + rng.below(other.len() - from + 1);
            let piece = other[from..to].to_vec();
            input.splice(at..at + len, piece);
        }
        12 => {
            let other = rng.below(input.len() + 1);
            if let (Some(&a), Some(&b)) = (input.get(at), input.get(other)) {
                (input[at], input[other]) = (b, a);
            }
        }
        _ => {
            let bytes: Vec<u8> = (0..len).map(|_| rng.next() as u8).collect();
            input.splice(at..at + len, bytes);
        }
    }
}

/// A word, a byte for each letter where that is possible.
fn in_bytes(word: &str) -> Vec<u8> {
    let bytes = word.chars().map(|letter| u8::try_from(letter).ok());
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.unwrap_or_else(|| word.as_bytes().to_vec())
}

/// Overwrites a number of 1, 2, 4 or 8 bytes, of either order.
fn number(rng: &mut Rng, input: &mut [u8], at: usize) {
    let mut number = rng.pick(&NUMBERS);
    if rng.below(4) == 0 {
        number = number.wrapping_add(rng.below(32) as u64).wrapping_sub(16);
    }
    let size = 1 << rng.below(4);
    let Some(bytes) = input.get_mut(at..at + size) else {
        return;
    };
    bytes.copy_from_slice(&number.to_le_bytes()[..size]);
    if rng.below(3) == 0 {
        bytes.reverse();
    }
}

/// Replaces the next number in digits.
fn digits(rng: &mut Rng, input: &mut Vec<u8>, at: usize) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = at + start;
    let end = input[start..]
        .iter()
        .position(|byte| !byte.is_ascii_digit());
    let end = end.map_or(input.len(), |end| start + end);
    let number = match rng.below(6) {
        0 => format!("-{}", rng.pick(&NUMBERS)),
        1 => "9".repeat(1 + rng.below(400)),
        2 => format!("{}e{}", rng.below(100), rng.pick(&NUMBERS)),
        3 => format!("0x{:x}", rng.pick(&NUMBERS)),
        _ => rng.pick(&NUMBERS).to_string(),
    };
    input.splice(start..end, number.into_bytes());
}
