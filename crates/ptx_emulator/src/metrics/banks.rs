use crate::exec::lanes;

/// Banks of shared memory; each gives one word of 4 bytes in a wavefront.
const BANKS: u64 = 32;
const WORD: u64 = 4;

/// What one request to shared memory costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Passes through shared memory.
    pub taken: u32,
    /// Passes that would do if the same words lay in different banks.
    pub needed: u32,
}

/// The wavefronts in which the lanes of a warp access shared memory.
///
/// `offsets` are in bytes, `bytes` is what each lane accesses (1 to 16, all elements of a vector together). Lanes that want the same word
/// share it; different words of one bank come one after the other. Requests of 8 bytes a lane go by half-warps, those of 16 bytes by
/// quarter-warps, so that no phase moves more than 128 bytes.
pub fn bank_wavefronts(offsets: &[u64; 32], active: u32, bytes: u32) -> Wavefronts {
    let lanes_at_once = 32 / bytes.div_ceil(WORD as u32).max(1);
    let mut all = Vec::with_capacity(128);
    let mut taken = 0;
    for first in (0..32).step_by(lanes_at_once as usize) {
        let phase = active & (u32::MAX >> (32 - lanes_at_once)) << first;
        let mut words: Vec<u64> = lanes(phase)
            .flat_map(|lane| offsets[lane] / WORD..=(offsets[lane] + u64::from(bytes) - 1) / WORD)
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut in_bank = [0; BANKS as usize];
        for word in &words {
            in_bank[(word % BANKS) as usize] += 1;
        }
        taken += in_bank.into_iter().max().unwrap_or(0);
        all.append(&mut words);
    }
    all.sort_unstable();
    all.dedup();
    let needed = (all.len() as u64).div_ceil(BANKS) as u32;
    Wavefronts { taken, needed }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lane `l` accesses `bytes` bytes at `offset(l)`.
    #[track_caller]
    fn check(offset: impl Fn(u64) -> u64, active: u32, bytes: u32, (taken, needed): (u32, u32)) {
        let offsets = std::array::from_fn(|lane| offset(lane as u64));
        assert_eq!(
            bank_wavefronts(&offsets, active, bytes),
            Wavefronts { taken, needed }
        );
    }

    const ALL: u32 = u32::MAX;

    #[test]
    fn strides_of_words() {
        check(|l| 4 * l, ALL, 4, (1, 1));
        check(|l| 4 * (l ^ 21) + 128 * l, ALL, 4, (1, 1));
        check(|l| 4 * 2 * l, ALL, 4, (2, 1));
        check(|l| 4 * 8 * l, ALL, 4, (8, 1));
        check(|l| 4 * 32 * l, ALL, 4, (32, 1));
        check(|l| 4 * 33 * l, ALL, 4, (1, 1));
        // Odd strides never conflict.
        check(|l| 4 * 3 * l, ALL, 4, (1, 1));
        // 24 = 8 · 3: every fourth lane comes back to the same bank.
        check(|l| 4 * 24 * l, ALL, 4, (8, 1));
    }

    #[test]
    fn the_same_word_is_no_conflict() {
        check(|_| 64, ALL, 4, (1, 1));
        check(|l| 4 * (l / 2), ALL, 4, (1, 1));
        // Two words of one bank, each for 16 lanes.
        check(|l| 128 * (l % 2), ALL, 4, (2, 1));
        // Parts of one word.
        check(|l| l, ALL, 1, (1, 1));
        check(|l| 2 * l, ALL, 2, (1, 1));
        // Bytes 32 words apart.
        check(|l| 128 * l + l % 4, ALL, 1, (32, 1));
    }

    #[test]
    fn eight_bytes_go_by_half_warps() {
        check(|l| 8 * l, ALL, 8, (2, 2));
        // A column of a 32 × 32 tile of f64: each half-warp has 16 words in each of two banks.
        check(|l| 8 * 32 * l, ALL, 8, (32, 2));
        // One slot of padding: a half-warp covers all banks.
        check(|l| 8 * 33 * l, ALL, 8, (2, 2));
        check(|l| 8 * l, 0x0000_ffff, 8, (1, 1));
    }

    #[test]
    fn sixteen_bytes_go_by_quarter_warps() {
        check(|l| 16 * l, ALL, 16, (4, 4));
        // Eight lanes, 32 bytes apart: two in each bank.
        check(|l| 32 * l, ALL, 16, (8, 4));
        check(|l| 128 * l, ALL, 16, (32, 4));
        check(|l| 144 * l, ALL, 16, (4, 4));
    }

    #[test]
    fn only_active_lanes_count() {
        check(|l| 128 * l, 0, 4, (0, 0));
        check(|l| 128 * l, 1 << 31, 4, (1, 1));
        check(|l| 128 * l, 0b1011, 4, (3, 1));
        // The last warp of a block of 40 threads.
        check(|l| 8 * l, 0xff, 4, (1, 1));
    }
}
