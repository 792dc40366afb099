use crate::exec::lanes;
use crate::fault::Access;

/// Banks of shared memory; each delivers one 4-byte word per wavefront.
const BANKS: u64 = 32;
const WORD: u64 = 4;

/// The cost of one request to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    /// Wavefronts needed.
    pub taken: u32,
    /// Wavefronts that would suffice without bank conflicts.
    pub needed: u32,
}

/// The wavefronts of one shared-memory access by the lanes of a warp.
///
/// `offsets` are in bytes; `bytes` is the size of each lane's access (1 to 16, all elements of a
/// vector together).
///
/// Different words of one bank are served one after the other. Lanes that access the same word
/// share it, except in atomics, which serve one lane per bank at a time. Requests of 8 bytes per
/// lane are split into half warps, those of 16 into quarter warps, so that no phase moves more than
/// 128 bytes. Two phases of a load are merged if lanes share addresses in pairs: each active lane
/// has the address of its neighbour (lane ^ 1), or each has that of lane ^ 2, if those are active.
/// An H200 counts the same (`tests/fixtures/ncu/shared.csv`).
pub fn bank_wavefronts(offsets: &[u64; 32], active: u32, bytes: u32, access: Access) -> Wavefronts {
    let served = served_together(offsets, active, bytes, access).into_iter();
    let taken = served
        .map(|lanes| phase(offsets, lanes, bytes, access))
        .sum();
    let words = words(offsets, active, bytes);
    Wavefronts {
        taken,
        needed: (words.len() as u64).div_ceil(BANKS) as u32,
    }
}

/// A word that a bank delivers in a wavefront, and the lanes that receive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The bank, below 32.
    pub bank: u32,
    /// The word's offset in bytes.
    pub word: u64,
    /// More than one lane is a broadcast.
    pub lanes: u32,
}

/// The wavefronts that [`bank_wavefronts`] counts, each with the words that its banks deliver.
pub fn bank_passes(
    offsets: &[u64; 32],
    active: u32,
    bytes: u32,
    access: Access,
) -> Vec<Vec<Served>> {
    let mut passes = Vec::new();
    for together in served_together(offsets, active, bytes, access) {
        let mut in_bank: Vec<Vec<Served>> = vec![Vec::new(); BANKS as usize];
        let single = |lane: usize| (offsets[lane] / WORD, 1 << lane);
        let all: Vec<(u64, u32)> = match access {
            Access::Atomic => lanes(together).map(single).collect(),
            _ => words(offsets, together, bytes)
                .into_iter()
                .map(|word| (word, lanes_of(offsets, together, bytes, word)))
                .collect(),
        };
        for (word, lanes) in all {
            let bank = word % BANKS;
            in_bank[bank as usize].push(Served {
                bank: bank as u32,
                word: word * WORD,
                lanes,
            });
        }
        let longest = in_bank.iter().map(Vec::len).max().unwrap_or(0);
        let pass = |at: usize| in_bank.iter().filter_map(move |bank| bank.get(at).copied());
        passes.extend((0..longest).map(|at| pass(at).collect()));
    }
    passes
}

/// The lanes that access a word.
fn lanes_of(offsets: &[u64; 32], active: u32, bytes: u32, word: u64) -> u32 {
    let wants = |lane: &usize| words(offsets, 1 << lane, bytes).contains(&word);
    lanes(active).filter(wants).map(|lane| 1 << lane).sum()
}

/// The groups of lanes that are served one after the other.
fn served_together(offsets: &[u64; 32], active: u32, bytes: u32, access: Access) -> Vec<u32> {
    let lanes_at_once = 32 / bytes.div_ceil(WORD as u32).max(1);
    let phases = (0..32).step_by(lanes_at_once as usize);
    let phases: Vec<u32> = phases
        .map(|first| active & (u32::MAX >> (32 - lanes_at_once)) << first)
        .collect();
    let at_once = if access == Access::Read && merges(offsets, active) {
        2
    } else {
        1
    };
    let groups = phases.chunks(at_once);
    groups.map(|phases| phases.iter().sum()).collect()
}

/// Whether lanes share addresses in pairs.
fn merges(offsets: &[u64; 32], active: u32) -> bool {
    [1, 2].into_iter().any(|distance| {
        lanes(active).all(|lane| {
            let other = lane ^ distance;
            active & 1 << other == 0 || offsets[lane] == offsets[other]
        })
    })
}

/// The wavefronts of lanes that are served together.
fn phase(offsets: &[u64; 32], active: u32, bytes: u32, access: Access) -> u32 {
    let mut in_bank = [0; BANKS as usize];
    if access == Access::Atomic {
        for lane in lanes(active) {
            in_bank[(offsets[lane] / WORD % BANKS) as usize] += 1;
        }
    } else {
        for word in words(offsets, active, bytes) {
            in_bank[(word % BANKS) as usize] += 1;
        }
    }
    in_bank.into_iter().max().unwrap_or(0)
}

/// The distinct words that lanes access.
fn words(offsets: &[u64; 32], active: u32, bytes: u32) -> Vec<u64> {
    let last = |lane: usize| (offsets[lane] + u64::from(bytes) - 1) / WORD;
    let mut words: Vec<u64> = lanes(active)
        .flat_map(|lane| offsets[lane] / WORD..=last(lane))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_the_wavefronts() {
        let mut state = 1_u64;
        let mut next = |end: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % end
        };
        for _ in 0..2000 {
            let bytes = [1, 2, 4, 8, 16][next(5) as usize];
            let stride = next(40);
            let offsets = match next(2) {
                0 => std::array::from_fn(|lane| u64::from(bytes) * stride * lane as u64),
                _ => std::array::from_fn(|_| u64::from(bytes) * next(64)),
            };
            let active = next(1 << 32) as u32 | 1;
            for access in [Access::Read, Access::Write, Access::Atomic] {
                let passes = bank_passes(&offsets, active, bytes, access);
                let taken = bank_wavefronts(&offsets, active, bytes, access).taken;
                assert_eq!(
                    passes.len() as u32,
                    taken,
                    "{offsets:?} {active:x} {access}"
                );
                let lanes = passes
                    .iter()
                    .flatten()
                    .fold(0, |all, served| all | served.lanes);
                assert_eq!(lanes, active);
            }
        }
    }

    /// Lane `l` reads `bytes` bytes at `offset(l)`.
    #[track_caller]
    fn check(offset: impl Fn(u64) -> u64, active: u32, bytes: u32, (taken, needed): (u32, u32)) {
        let offsets = std::array::from_fn(|lane| offset(lane as u64));
        let expected = Wavefronts { taken, needed };
        assert_eq!(
            bank_wavefronts(&offsets, active, bytes, Access::Read),
            expected
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
        // 24 = 8 · 3: every fourth lane is in the same bank again.
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

    #[test]
    fn loads_of_shared_addresses_take_fewer_phases() {
        check(|_| 64, ALL, 8, (1, 1));
        check(|l| 8 * (l / 2), ALL, 8, (1, 1));
        // Lanes two apart, but both addresses in one bank.
        check(|l| 256 * (l % 2), ALL, 8, (2, 1));
        // The two half warps have the same addresses; neighbours have not.
        check(|l| 8 * (l % 16), ALL, 8, (2, 1));
        // 16 bytes: quarters merge into halves, halves into nothing.
        check(|_| 64, ALL, 16, (2, 1));
        check(|l| 16 * (l / 4), ALL, 16, (2, 1));
        check(|l| 16 * (l % 8), ALL, 16, (4, 1));
        // One lane has a different address in a different bank, so phases are not merged.
        check(|l| if l == 9 { 80 } else { 16 * (l / 16) }, ALL, 16, (4, 1));
        // The neighbours are not active.
        check(|l| 8 * (l / 2), 0x5555_5555, 8, (1, 1));
    }

    #[test]
    fn stores_are_not_merged_and_atomics_go_lane_by_lane() {
        let taken = |offset: fn(u64) -> u64, bytes, access| {
            let offsets = std::array::from_fn(|lane| offset(lane as u64));
            bank_wavefronts(&offsets, ALL, bytes, access).taken
        };
        assert_eq!(taken(|_| 64, 8, Access::Write), 2);
        assert_eq!(taken(|_| 64, 16, Access::Write), 4);
        assert_eq!(taken(|_| 64, 4, Access::Write), 1);
        assert_eq!(taken(|_| 64, 4, Access::Atomic), 32);
        assert_eq!(taken(|l| 4 * (l / 4), 4, Access::Atomic), 4);
        assert_eq!(taken(|l| 4 * l, 4, Access::Atomic), 1);
        assert_eq!(taken(|l| 128 * l, 4, Access::Atomic), 32);
    }
}
