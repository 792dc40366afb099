//! How batches of products of one to four rows are divided in [`thin`](kernels::matmul::thin), and
//! how long they take.

use kernels::matmul::slices::slice_len;

use super::super::cost::WORTH;
use super::super::vectors::lanes;
use super::{Division, LANES, THREADS};

/// Numbers of slices that were measured.
const SLICES: [usize; 4] = [1, 2, 3, 4];
/// The shortest slice, the fewest threads of its groups, and the most groups of all slices for each
/// multiprocessor: beyond these, several slices were not measured.
const SHORTEST: usize = 64;
const THREADS_OF_SLICES: u32 = 128;
const GROUPS_OF_SLICES: usize = 16;

/// Threads of a multiprocessor, by their registers.
const RESIDENT: usize = 512;
const WARP: f64 = 32.0;
/// Nanoseconds of each block of a multiprocessor beyond two, since they start one after the other:
/// 1702 times 2 × 39 × 4 of f32 takes 9.0 µs in blocks of a warp, by `small` 7.1.
const BLOCK: f64 = 180.0;

/// The fastest division and its slices.
pub(super) fn fastest(
    (of, batch): ([usize; 3], usize),
    bytes: usize,
    aligned: bool,
    at_once: usize,
) -> (Division, usize) {
    let [_, inner, cols] = of;
    let least = match aligned && cols.is_multiple_of(lanes(bytes)) {
        true => LANES[0],
        false => LANES[1],
    };
    let (lanes, threads) = (least, THREADS[0]);
    let mut fastest = (Division::Thin { lanes, threads }, 1);
    let mut shortest = f64::INFINITY;
    for lanes in LANES.into_iter().filter(|&lanes| lanes >= least) {
        for threads in THREADS {
            let division = Division::Thin { lanes, threads };
            if !division.fits(of, bytes) {
                continue;
            }
            let groups = division.launch(of, bytes, [aligned; 2]).groups;
            for slices in SLICES {
                let all = groups.saturating_mul(batch).saturating_mul(slices);
                let fits = inner / slices >= SHORTEST
                    && threads >= THREADS_OF_SLICES
                    && all <= GROUPS_OF_SLICES * at_once;
                if slices > 1 && !fits {
                    break;
                }
                let worth = if slices == 1 { 1.0 } else { WORTH };
                let launch = [lanes, threads as usize, slices];
                let time = time((of, batch), bytes, aligned, launch, at_once) / worth;
                if time < shortest {
                    (shortest, fastest) = (time, (division, slices));
                }
            }
        }
    }
    fastest
}

/// Nanoseconds: the start of each wave of blocks and the latency of its rounds of loads, what warps
/// issue, B from memory, and the slices. A fit to the launches of 571 products and 628 batches of
/// f64 in all divisions, on an H200 (docs/log/2026-11-30-choices.md): half of them take within 6 %
/// of it, nine in ten within 19. f32 moves as many bytes a load; it was not fitted.
pub(super) fn time(
    (of @ [rows, inner, cols], batch): ([usize; 3], usize),
    bytes: usize,
    aligned: bool,
    [shared, threads, slices]: [usize; 3],
    at_once: usize,
) -> f64 {
    let division = Division::Thin {
        lanes: shared,
        threads: threads as u32,
    };
    let few = division.launch(of, bytes, [aligned; 2]);
    let high = few.high(batch, slices) as usize;
    let blocks = few.groups.div_ceil(high).saturating_mul(batch);
    let each = blocks.saturating_mul(slices).div_ceil(at_once.max(1));
    let waves = each.div_ceil((RESIDENT / (threads * high)).max(1)) as f64;
    let len = match slices {
        1 => inner,
        _ => slice_len(inner, slices),
    };
    let loads = len.div_ceil((threads / shared).max(1));
    // Loads of a thread in flight when this was fitted. Of one row the kernel has twelve now, which
    // took 0.91 to 1.0 of the time.
    let in_flight = match rows {
        0 | 1 => 6,
        2 => 4,
        _ => lanes(bytes),
    };
    let warps = each as f64 * (threads * high) as f64 / WARP;
    let of_row = batch as f64 * (bytes as f64 * cols as f64);
    let (of_b, sums) = (inner as f64 * of_row, rows as f64 * of_row);
    let of_slices = match slices {
        1 => 0.0,
        _ => 1634.0 + 0.0051 * slices as f64 * sums,
    };
    3082.0
        + waves * (1052.0 + 538.0 * loads.div_ceil(in_flight) as f64)
        + warps * (55.6 + 1.93 * loads as f64)
        + each.saturating_sub(2) as f64 * BLOCK
        + 1.32e-4 * of_b
        + of_slices
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of f64, and the fastest of all divisions that were measured.
    #[test]
    fn divisions_are_the_fastest_that_were_measured() {
        for (batch, of, [lanes, threads, slices]) in [
            (56, [3, 10_351, 201], [16, 512, 1]),
            (255, [2, 93, 9705], [32, 64, 1]),
            (39, [1, 2432, 256], [32, 128, 3]),
            (4097, [2, 32, 8], [4, 32, 1]),
            (18, [1, 1152, 5376], [8, 32, 1]),
            (3, [2, 7399, 19], [4, 512, 4]),
            (118, [3, 2432, 8], [2, 256, 1]),
        ] {
            let division = fastest((of, batch), 8, true, 132);
            let threads = threads as u32;
            let expected = (Division::Thin { lanes, threads }, slices);
            assert_eq!(division, expected, "{batch} of {of:?}");
        }
    }
}
