use crate::exec::lanes;
use crate::fault::Access;

/// Granularity of transfers between global memory and the caches.
pub(super) const SECTOR_BYTES: u64 = 32;

/// The traffic of one request to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// Sectors of 32 bytes that contain a byte of the request.
    pub touched: u32,
    /// Sectors that would suffice if the same bytes were contiguous.
    pub needed: u32,
    /// Distinct bytes requested.
    pub bytes: u32,
}

/// The sectors that the lanes of a warp touch with accesses of `bytes` bytes (1 to 16) each.
///
/// Lanes in the same sector share it. Atomics share it only between different addresses: each
/// further lane with the same address touches the sector once more. An H200 counts the same
/// (`tests/fixtures/ncu/global.csv`).
pub fn sectors(addresses: &[u64; 32], active: u32, bytes: u32, access: Access) -> Sectors {
    let size = u64::from(bytes);
    let mut starts: Vec<u64> = lanes(active).map(|lane| addresses[lane]).collect();
    starts.sort_unstable();
    let (mut touched, mut distinct) = (0, 0);
    // The first sector and byte after all that have been counted.
    let (mut next_sector, mut next_byte) = (0, 0);
    for &start in &starts {
        let end = start + size;
        distinct += end - start.max(next_byte).min(end);
        next_byte = next_byte.max(end);
        let end_sector = (end - 1) / SECTOR_BYTES + 1;
        touched += end_sector - (start / SECTOR_BYTES).max(next_sector).min(end_sector);
        next_sector = next_sector.max(end_sector);
    }
    if access == Access::Atomic {
        touched = atomic_sectors(&starts);
    }
    Sectors {
        touched: touched as u32,
        needed: distinct.div_ceil(SECTOR_BYTES) as u32,
        bytes: distinct as u32,
    }
}

/// Each sector counts as often as its most frequent address. The addresses are sorted.
fn atomic_sectors(starts: &[u64]) -> u64 {
    let in_sector = starts.chunk_by(|a, b| a / SECTOR_BYTES == b / SECTOR_BYTES);
    let most = in_sector.map(|sector| sector.chunk_by(|a, b| a == b).map(<[u64]>::len).max());
    most.flatten().sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;
    const BASE: u64 = 1 << 40;

    /// Lane `l` accesses `bytes` bytes at `BASE + offset(l)`; the answer is (touched, needed,
    /// bytes).
    #[track_caller]
    fn check(offset: impl Fn(u64) -> u64, active: u32, size: u32, expected: (u32, u32, u32)) {
        let addresses = std::array::from_fn(|lane| BASE + offset(lane as u64));
        let (touched, needed, bytes) = expected;
        let expected = Sectors {
            touched,
            needed,
            bytes,
        };
        assert_eq!(sectors(&addresses, active, size, Access::Read), expected);
    }

    #[test]
    fn strides() {
        check(|l| 4 * l, ALL, 4, (4, 4, 128));
        check(|l| 4 * (31 - l), ALL, 4, (4, 4, 128));
        check(|l| 4 * 2 * l, ALL, 4, (8, 4, 128));
        check(|l| 4 * 8 * l, ALL, 4, (32, 4, 128));
        check(|l| 4 * 512 * l, ALL, 4, (32, 4, 128));
        check(|l| 8 * l, ALL, 8, (8, 8, 256));
        check(|l| 16 * l, ALL, 16, (16, 16, 512));
        check(|l| l, ALL, 1, (1, 1, 32));
        // Three floats per lane, loaded one by one: each load uses a third of 12 sectors.
        check(|l| 12 * l, ALL, 4, (12, 4, 128));
    }

    #[test]
    fn broadcast_and_overlap_count_once() {
        check(|_| 64, ALL, 4, (1, 1, 4));
        check(|l| 4 * (l / 2), ALL, 4, (2, 2, 64));
        check(|l| 16 * (l % 2), ALL, 16, (1, 1, 32));
    }

    #[test]
    fn a_base_between_sectors_costs_one_more() {
        for shift in (4..32).step_by(4) {
            check(|l| shift + 4 * l, ALL, 4, (5, 4, 128));
        }
        check(|l| 32 + 4 * l, ALL, 4, (4, 4, 128));
        check(|l| 16 + 16 * l, ALL, 16, (17, 16, 512));
    }

    #[test]
    fn only_active_lanes_count() {
        check(|l| 4 * l, 0, 4, (0, 0, 0));
        check(|l| 4 * l, 1 << 7, 4, (1, 1, 4));
        check(|l| 4 * l, 0xff, 4, (1, 1, 32));
        check(|l| 4 * l, 0x1ff, 4, (2, 2, 36));
        check(|l| 32 * l, 0b101, 4, (2, 1, 8));
    }

    #[test]
    fn atomics_with_one_address_come_one_after_the_other() {
        let touched = |offset: fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| BASE + offset(lane as u64));
            sectors(&addresses, ALL, 4, Access::Atomic).touched
        };
        assert_eq!(touched(|l| 4 * l), 4);
        assert_eq!(touched(|_| 0), 32);
        assert_eq!(touched(|l| 4 * (l / 2)), 2 * 2);
        assert_eq!(touched(|l| 4 * (l % 8)), 4);
        assert_eq!(touched(|l| 128 * (l / 2)), 32);
        // In one sector, 17 of 24 lanes have one address and 7 others differ; the other sector has
        // 8 distinct ones.
        assert_eq!(touched(|l| if l < 17 { 0 } else { 4 * (l - 16) }), 17 + 1);
    }
}
