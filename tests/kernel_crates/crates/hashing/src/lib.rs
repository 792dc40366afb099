//! SHA-256's compression of one block for each thread: rotations and a table in constant memory.

use cuda_std::prelude::*;

/// The fractional parts of the square roots of the first eight primes, as 32 bits, and of the cube
/// roots of the first 64.
const fn roots<const N: usize>(cube: bool) -> [u32; N] {
    let (mut out, mut prime, mut count) = ([0; N], 2_u128, 0);
    while count < N {
        let mut divisor = 2;
        while prime % divisor != 0 {
            divisor += 1;
        }
        if divisor == prime {
            // The root times 2³², bit by bit.
            let (mut root, mut bit) = (0_u128, 1_u128 << 36);
            while bit > 0 {
                let next = root + bit;
                let fits = if cube {
                    next * next * next <= prime << 96
                } else {
                    next * next <= prime << 64
                };
                if fits {
                    root = next;
                }
                bit >>= 1;
            }
            out[count] = root as u32;
            count += 1;
        }
        prime += 1;
    }
    out
}

const START: [u32; 8] = roots(false);

#[address_space(constant)]
static ROUNDS: [u32; 64] = roots(true);

/// The state after one block of sixteen words, as SHA-256 starts: eight words for each thread.
#[kernel]
pub unsafe fn sha256_blocks(blocks: &[[u32; 16]], out: *mut [u32; 8]) {
    let i = thread::index_1d() as usize;
    if i >= blocks.len() {
        return;
    }
    let mut words = blocks[i];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = START;
    for round in 0..64 {
        let at = |back: usize| words[(round + 16 - back) % 16];
        if round >= 16 {
            let (w15, w2) = (at(15), at(2));
            let low = w15.rotate_right(7) ^ w15.rotate_right(18) ^ w15 >> 3;
            let high = w2.rotate_right(17) ^ w2.rotate_right(19) ^ w2 >> 10;
            words[round % 16] = at(16)
                .wrapping_add(low)
                .wrapping_add(at(7))
                .wrapping_add(high);
        }
        let e_bits = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h
            .wrapping_add(e_bits)
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(ROUNDS[round])
            .wrapping_add(words[round % 16]);
        let a_bits = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = a_bits.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
    }
    let end = [a, b, c, d, e, f, g, h];
    *out.add(i) = core::array::from_fn(|word| START[word].wrapping_add(end[word]));
}
