//! Small numbers as elements of matrices: their products and sums are exact.

/// Integers from -7 to 8 in N bits each.
pub(super) fn pack(random: u64, bits: usize, of: impl Fn(f32) -> u64) -> u64 {
    (0..64 / bits).fold(0, |all, at| {
        let value = (random >> (4 * at) & 15) as f32 - 7.0;
        all | of(value) << (bits * at)
    })
}

pub(super) fn half(value: f32) -> u64 {
    let bits = u64::from(value.to_bits());
    // An integer's exponent fits and its fraction is short.
    match value {
        0.0 => 0,
        _ => bits >> 31 << 15 | ((bits >> 23 & 0xff) - 112) << 10 | bits >> 13 & 0x3ff,
    }
}

/// The bits of small integers in a float of 8 bits.
pub(super) fn eighths(random: u64, exponent: u32) -> u64 {
    pack(random, 8, |value| {
        let bits = u64::from(value.to_bits());
        let mantissa = 7 - exponent;
        let bias = (1 << (exponent - 1)) - 1;
        match value {
            0.0 => 0,
            _ => {
                bits >> 31 << 7
                    | ((bits >> 23 & 0xff) - 127 + bias) << mantissa
                    | bits >> (23 - mantissa) & ((1 << mantissa) - 1)
            }
        }
    })
}
