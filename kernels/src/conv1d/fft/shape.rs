//! The division of a transform over a block: points, threads, passes, and the slots and factors of
//! each pass.

/// A pass: butterflies of `radix` points that are `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Points per butterfly; 1 where a shape has fewer passes.
    pub radix: usize,
    /// Distance between adjacent points of a butterfly.
    pub stride: usize,
    /// Index of the pass's first pair in the table of factors.
    pub(super) factors: usize,
}

/// Maximum number of passes.
pub const MOST_PASSES: usize = 4;

/// The division of a transform over a block.
pub trait Shape {
    /// Points per transform.
    const POINTS: usize;
    /// Threads per block. Each owns POINTS / THREADS points.
    const THREADS: usize;
    /// The passes of the forward transform, in order; unused ones at the end have radix 1.
    const PASSES: [Pass; MOST_PASSES];
    /// Number of slots between the gaps of the shared array: a power of two, or `usize::MAX` for no
    /// gaps.
    const GAP_AFTER: usize;
}

/// The passes of a transform of `points` points with these radices.
pub const fn passes(points: usize, radices: [usize; MOST_PASSES]) -> [Pass; MOST_PASSES] {
    let mut passes = [Pass {
        radix: 1,
        stride: 1,
        factors: 0,
    }; MOST_PASSES];
    let (mut line, mut factors, mut pass) = (points, 0, 0);
    while pass < MOST_PASSES {
        let radix = radices[pass];
        passes[pass] = Pass {
            radix,
            stride: line / radix,
            factors,
        };
        if line > radix {
            factors += line / 2;
        }
        line /= radix;
        pass += 1;
    }
    assert!(line == 1);
    passes
}

/// Position of a slot in a shared array with gaps.
pub(super) const fn gapped<S: Shape>(slot: usize) -> usize {
    slot + slot / S::GAP_AFTER
}

/// Size of the shared array in complex numbers.
pub const fn slots<S: Shape>() -> usize {
    gapped::<S>(S::POINTS - 1) + 1
}

/// The shared array of a transform in bytes.
pub const fn transform_bytes<S: Shape, T>() -> usize {
    slots::<S>() * 2 * size_of::<T>()
}

/// The most warps per block, each with a mark.
pub(super) const MARKS: usize = 16;

/// Samples of a run: one register of each lane of a warp.
pub const RUN: usize = 32;

/// The warps' marks in bytes, after the shared array of the transform.
pub(super) const MARK_BYTES: usize = MARKS * 2 * size_of::<u32>();

/// Dynamic shared memory in bytes: the transform's, the warps' marks, and for the runs of a window
/// the numbers of `Runs` in `quiet.rs`.
pub const fn shared_bytes<S: Shape, T>() -> usize {
    transform_bytes::<S, T>() + MARK_BYTES + 4 * (S::POINTS / RUN) * size_of::<u32>()
}

/// Size of the taps' transform in elements.
pub const fn transform_len<S: Shape>() -> usize {
    2 * S::POINTS
}

/// Elements after a spectrum for the taps' gain: two complex numbers.
pub const GAIN_LEN: usize = 4;

/// Size of the taps' spectrum and gain in elements.
pub const fn spectrum_len<S: Shape>() -> usize {
    transform_len::<S>() + GAIN_LEN
}

/// Size of the table of factors in elements.
pub const fn factors_len<S: Shape>() -> usize {
    let mut len = 0;
    let mut pass = 0;
    while pass < MOST_PASSES {
        let Pass { radix, stride, .. } = S::PASSES[pass];
        if stride > 1 {
            len += 2 * radix * stride;
        }
        pass += 1;
    }
    len
}

/// Rows of a long transform.
pub const ROWS: usize = 32;

/// Size of a long transform's spectrum and gain in elements, with rows of a shape.
pub const fn long_spectrum_len<S: Shape>() -> usize {
    ROWS * transform_len::<S>() + GAIN_LEN
}

/// Runs of a window of a long transform.
pub(super) const LONG_RUNS: usize = 2048;

/// Dynamic shared memory of the levels of a long transform, in bytes.
pub const fn levels_bytes<S: Shape, T>() -> usize {
    transform_bytes::<S, T>() + MARK_BYTES + 4 * LONG_RUNS * size_of::<u32>()
}

/// Dynamic shared memory of a block that transforms rows, in bytes.
pub const fn rows_bytes<S: Shape, T>() -> usize {
    transform_bytes::<S, T>() + MARK_BYTES
}

/// Size of a long transform's marks in elements: two for each 32 columns.
pub const fn marks_len(columns: usize) -> usize {
    2 * (columns / 32)
}

/// The table of factors: for each pass but the last, each pair of a butterfly's outputs 2k and 2k +
/// 1 and each butterfly position m in its line, exp(−2πi·2k·m/L) and exp(−2πi·(2k + 1)·m/L), where
/// L is the line's length.
#[cfg(not(target_arch = "nvptx64"))]
pub fn factors<S: Shape>() -> Vec<[f64; 2]> {
    let mut factors = Vec::with_capacity(factors_len::<S>() / 2);
    for Pass { radix, stride, .. } in S::PASSES.into_iter().filter(|pass| pass.stride > 1) {
        let line = radix * stride;
        for pair in 0..radix / 2 {
            for place in 0..stride {
                factors.extend([2 * pair, 2 * pair + 1].map(|output| root(output * place, line)));
            }
        }
    }
    factors
}

/// exp(−2πi k/n), reduced to an eighth of a turn, so that both parts are correct except for the
/// last bit or two.
#[cfg(not(target_arch = "nvptx64"))]
pub fn root(k: usize, n: usize) -> [f64; 2] {
    let eighths = 8 * (k % n);
    let (eighth, rest) = (eighths / n, eighths % n);
    let angle = |eighths: usize| core::f64::consts::FRAC_PI_4 * eighths as f64 / n as f64;
    let (sin, cos) = match eighth % 2 {
        0 => angle(rest).sin_cos(),
        _ => {
            let (cos, sin) = angle(n - rest).sin_cos();
            (sin, cos)
        }
    };
    match eighth / 2 {
        0 => [cos, -sin],
        1 => [-sin, -cos],
        2 => [-cos, sin],
        _ => [sin, cos],
    }
}

/// Number of outputs at the start of a window that are discarded, because they need samples before
/// it. Multiples of 32 keep loads and stores aligned to whole lines.
pub const fn discarded(taps: usize, shift: usize) -> usize {
    (taps - 1 + shift).div_ceil(32) * 32
}

/// Number of places by which the taps are delayed, so that a launch with this offset reads whole
/// lines.
pub const fn shift(offset: usize) -> usize {
    (32 - offset % 32) % 32
}

/// The most taps of a shape for elements of type `T`: a quarter of a window's outputs remains. Of
/// 8-byte elements an eighth, because the next transforms go through global memory, in windows that
/// are far too long for short rows.
pub const fn most_taps<S: Shape, T>() -> usize {
    match size_of::<T>() {
        8 => S::POINTS / 8 * 7 - 31,
        _ => quarter_kept(S::POINTS),
    }
}

/// The most taps with which a quarter of a window's outputs remain.
pub const fn quarter_kept(points: usize) -> usize {
    points / 4 * 3 - 31
}

/// Index of the first pair of factors for a thread's butterfly `q` of a pass: constants plus the
/// thread's position.
pub(super) const fn factors_at<S: Shape>(pass: Pass, q: usize) -> usize {
    pass.factors
        + if S::THREADS < pass.stride {
            S::THREADS * q
        } else {
            0
        }
}

/// A thread's slot in a pass: the first point of its first butterfly.
#[inline(always)]
pub(super) fn first_slot<S: Shape>(pass: Pass, thread: usize) -> usize {
    let (line, place) = (thread / pass.stride, thread % pass.stride);
    gapped::<S>(line * pass.radix * pass.stride) + gapped::<S>(place)
}

/// Distance of point `r` of a thread's butterfly `q` from its first slot. Gaps can be added,
/// because the numbers share no bits.
pub(super) const fn slot_of<S: Shape>(pass: Pass, q: usize, r: usize) -> usize {
    let butterfly = if S::THREADS < pass.stride {
        S::THREADS * q
    } else {
        S::THREADS * q * pass.radix
    };
    gapped::<S>(butterfly) + gapped::<S>(pass.stride * r)
}

/// Position in its window of a thread's register `e`, minus the thread's number.
pub(super) const fn place<S: Shape>(e: usize) -> usize {
    let first = S::PASSES[0];
    S::THREADS * (e / first.radix) + first.stride * (e % first.radix)
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $Name:ident: $points:literal points, $threads:literal threads, $radices:expr, gap after $gap:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Name;

        impl Shape for $Name {
            const POINTS: usize = $points;
            const THREADS: usize = $threads;
            const PASSES: [Pass; MOST_PASSES] = passes($points, $radices);
            const GAP_AFTER: usize = $gap;
        }
    )*};
}

shapes! {
    /// 2¹¹ points.
    Points2048: 2048 points, 128 threads, [8, 16, 16, 1], gap after 16;
    /// 2¹² points.
    Points4096: 4096 points, 256 threads, [16, 16, 16, 1], gap after 16;
    /// 2¹³ points.
    Points8192: 8192 points, 256 threads, [32, 16, 16, 1], gap after 16;
    /// 2¹⁴ points.
    Points16384: 16384 points, 512 threads, [32, 32, 16, 1], gap after 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether adjacent lanes always access different banks, in each pass.
    fn check<S: Shape>() -> bool {
        let mut apart = true;
        for pass in S::PASSES.into_iter().filter(|pass| pass.radix > 1) {
            let mut owners = vec![0; slots::<S>()];
            for e in 0..S::POINTS / S::THREADS {
                let slot = |thread| {
                    first_slot::<S>(pass, thread)
                        + slot_of::<S>(pass, e / pass.radix, e % pass.radix)
                };
                (0..S::THREADS).for_each(|thread| owners[slot(thread)] += 1);
                for lanes in 0..S::THREADS / 16 {
                    let banks = (0..16).fold(0_u32, |banks, lane| {
                        banks | 1 << (slot(16 * lanes + lane) % 16)
                    });
                    apart &= banks == 0xFFFF;
                }
            }
            assert!(owners.iter().all(|&owners| owners <= 1));
            assert_eq!(owners.iter().sum::<usize>(), S::POINTS);
            for point in 0..S::POINTS {
                assert_eq!(owners[gapped::<S>(point)], 1, "{pass:?}");
            }
        }
        apart
    }

    /// The same as [`Points4096`] without gaps.
    struct Ungapped;

    impl Shape for Ungapped {
        const GAP_AFTER: usize = usize::MAX;
        const PASSES: [Pass; MOST_PASSES] = Points4096::PASSES;
        const POINTS: usize = Points4096::POINTS;
        const THREADS: usize = Points4096::THREADS;
    }

    #[test]
    fn a_slot_belongs_to_one_thread_and_gaps_keep_lanes_in_different_banks() {
        assert!(check::<Points2048>());
        assert!(check::<Points4096>());
        assert!(check::<Points8192>());
        assert!(check::<Points16384>());
        assert!(!check::<Ungapped>());
    }

    #[test]
    fn factors_are_roots_of_one_and_as_many_as_the_table_has() {
        let factors = factors::<Points8192>();
        assert_eq!(2 * factors.len(), factors_len::<Points8192>());
        // The first pass's third output, of the butterfly at position 100.
        let [re, im] = factors[2 * (256 + 100)];
        let angle = -core::f64::consts::TAU * 200.0 / 8192.0;
        assert!((re - angle.cos()).abs() < 1e-16 && (im - angle.sin()).abs() < 1e-16);
        for k in 0..24 {
            let [re, im] = root(k, 24);
            let angle = -core::f64::consts::TAU * k as f64 / 24.0;
            assert!((re - angle.cos()).abs() < 1e-15 && (im - angle.sin()).abs() < 1e-15);
        }
    }

    #[test]
    fn loads_and_stores_begin_at_whole_lines() {
        for offset in [0, 1, 63, 127] {
            for taps in [1, 2, 33, 128] {
                let kept_from = discarded(taps, shift(offset));
                assert!(kept_from.is_multiple_of(32) && kept_from >= taps - 1 + shift(offset));
                assert!((offset + shift(offset)).is_multiple_of(32));
            }
        }
    }
}
