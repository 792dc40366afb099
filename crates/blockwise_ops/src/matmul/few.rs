//! Products with at most sixteen rows or columns: which kernel, how its blocks divide the work, and
//! in how many slices.

use blockwise::DeviceProperties;
use kernels::matmul::slices::MOST_SLICES;
use kernels::matmul::{anywhere, few_cols, few_rows, narrow, short, thin};

use super::extents;
use super::vectors::lanes;
use crate::by_width::by_width;
use crate::operation::{Problem, Task};

mod batch;
mod of_thin;
pub(super) use batch::time;

/// How threads divide the inner extent: with the slices, it decides the order of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// Up to four rows: `lanes` neighbouring threads share a row of B, and `threads` a group.
    Thin { lanes: usize, threads: u32 },
    /// Up to sixteen rows: there is one division.
    Rows,
    /// Few columns: a team of threads shares a row of A, of which each loads packs or elements.
    Columns { team: usize, packs: bool },
    /// Three to sixteen columns of many rows, padded to `wide`.
    Narrow { wide: usize },
}

/// A launch, without its slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Few {
    /// Code and instance.
    pub which: [u8; 2],
    /// Groups of a product's outputs. A block owns one group, or several, each with some of its
    /// rows of threads.
    pub groups: usize,
    /// Threads of a block that share a group, and groups of a block.
    pub block: [u32; 2],
    pub shared_bytes: usize,
}

/// Teams by instance: threads that share a row of A.
pub(super) const TEAMS: [usize; 6] = [4, 8, 16, 32, 64, 128];
/// Lanes that share a row of B by instance, and threads that share a group.
const LANES: [usize; 5] = [2, 4, 8, 16, 32];
const THREADS: [u32; 5] = [32, 64, 128, 256, 512];

impl Few {
    /// Groups of a block: several have one slice, and of batches, more than a product has would have
    /// nothing to do.
    pub(super) fn high(&self, batch: usize, slices: usize) -> u32 {
        match (slices, batch) {
            (1, 1) => self.block[1],
            (1, _) => self.groups.min(self.block[1] as usize).next_power_of_two() as u32,
            _ => 1,
        }
    }
}

impl Division {
    fn all() -> impl Iterator<Item = Self> {
        let with = |lanes| THREADS.map(|threads| Self::Thin { lanes, threads });
        let columns = |packs| TEAMS.map(|team| Self::Columns { team, packs });
        let thin = LANES.into_iter().flat_map(with);
        thin.chain([Self::Rows])
            .chain([false, true].into_iter().flat_map(columns))
            .chain(narrow::WIDTHS.map(|wide| Self::Narrow { wide }))
    }

    /// Its number among the instances of [`FEW`](super::FEW).
    pub(super) fn instance(self) -> Option<u8> {
        Self::all().position(|it| it == self).map(|at| at as u8)
    }

    /// The requested division, if it can compute the product, or the fastest.
    pub(super) fn of(task: &Task<'_>) -> Self {
        let (of, bytes) = (extents(task.problem), task.problem.ty.bytes());
        let asked = task.options.instance;
        let asked = asked.and_then(|at| Self::all().nth(usize::from(at)));
        asked
            .filter(|division| division.fits(of, bytes))
            .unwrap_or_else(|| fastest(task).0)
    }

    fn fits(self, [rows, inner, cols]: [usize; 3], bytes: usize) -> bool {
        match self {
            Self::Thin {
                lanes: shared,
                threads,
            } => {
                let across = shared * lanes(bytes);
                rows <= thin::MOST_ROWS && across <= (threads as usize).min(widest(bytes))
            }
            Self::Rows => bytes == 4 && rows <= few_rows::MOST_ROWS,
            Self::Columns { team, packs } => {
                let whole = cols <= 1 && inner.is_multiple_of(lanes(bytes));
                cols <= most_cols(bytes) && few_cols::divides(team, cols) && (whole || !packs)
            }
            Self::Narrow { wide } => bytes == 4 && cols <= wide,
        }
    }

    /// The launch. `aligned` says whether A and B begin at whole packs.
    pub(super) fn launch(
        self,
        [rows, _, cols]: [usize; 3],
        bytes: usize,
        [a, b]: [bool; 2],
    ) -> Few {
        let pack = lanes(bytes);
        let packs_of_b = b && cols.is_multiple_of(pack);
        match self {
            Self::Thin { lanes, threads } => {
                let instance = lanes.trailing_zeros() - LANES[0].trailing_zeros();
                let across = lanes * pack;
                Few {
                    which: [packs_of_b.into(), instance as u8],
                    groups: cols.div_ceil(
                        by_width!(bytes, T => anywhere::columns::<T>(across, packs_of_b)),
                    ),
                    block: [threads, (256 / threads).max(1)],
                    shared_bytes: 0,
                }
            }
            Self::Rows => Few {
                which: [2, packs_of_b.into()],
                groups: cols.div_ceil(few_rows::columns::<f32>(packs_of_b)),
                block: [few_rows::THREADS, 1],
                shared_bytes: few_rows::SHARED_BYTES,
            },
            Self::Columns { team, packs } => {
                let instance = team.trailing_zeros() - TEAMS[0].trailing_zeros();
                let code = match cols {
                    1 => 4 + u8::from(packs && a && b),
                    _ => 3,
                };
                Few {
                    which: [code, instance as u8],
                    groups: rows.div_ceil(few_cols::rows_of(team)),
                    block: [few_cols::THREADS, 1],
                    shared_bytes: 0,
                }
            }
            Self::Narrow { wide } => Few {
                which: [6, width(wide) as u8],
                groups: rows.div_ceil(narrow::HIGH),
                block: [narrow::THREADS, 1],
                shared_bytes: narrow::shared_bytes(wide),
            },
        }
    }
}

/// Which of [`narrow::WIDTHS`] the least is that has as many columns.
fn width(cols: usize) -> usize {
    narrow::WIDTHS.iter().filter(|&&wide| wide < cols).count()
}

/// The most columns of B that a group of up to four rows reads.
const fn widest(bytes: usize) -> usize {
    thin::MOST_BYTES / bytes
}

/// The most products of a batch. Each is a layer of the grid along y, and CUDA allows this many.
const MOST_BATCH: usize = 65_535;

/// Whether the kernels can compute the batch.
pub(super) fn is_few(problem: &Problem) -> bool {
    let ([rows, _, cols], bytes) = (extents(problem), problem.ty.bytes());
    problem.extents[3] <= MOST_BATCH && (rows <= most_rows(bytes) || cols <= most_cols(bytes))
}

/// From five rows of f64 on, [`mma`](kernels::matmul::mma) computes the product.
const fn most_rows(bytes: usize) -> usize {
    match bytes {
        4 => few_rows::MOST_ROWS,
        _ => thin::MOST_ROWS,
    }
}

const fn most_cols(bytes: usize) -> usize {
    by_width!(bytes, T => few_cols::most_cols::<T>())
}

/// Whether it is the fastest kernel for a single product, or close to it (H100;
/// docs/log/2026-11-26-products.md).
pub(super) fn pays(problem: &Problem, device: &DeviceProperties) -> bool {
    let (of, bytes) = (extents(problem), problem.ty.bytes());
    let [rows, inner, cols] = of;
    if problem.extents[3] != 1 || of.contains(&0) || !is_few(problem) {
        return false;
    }
    let by_columns = by_columns(of, 1, bytes);
    // With short sums tiles of doubles are slower: 50 × 2000 × 2 takes 7.1 µs (10.1), 3000 × 64 × 4
    // 6.1 (8.3), 10 × 88 × 3 4.9 (5.6).
    let in_tiles = inner > SHORT_ROW && (rows > thin::MOST_ROWS || inner <= 2 * SHORT_OF_F64);
    if bytes == 8 && by_columns && cols > 1 && in_tiles {
        return false;
    }
    if by_narrow(of, 1, bytes, device.multiprocessors_to_fill() as usize) {
        return cols <= EIGHT || inner > SHORT_OF_MANY || rows > MANY_ROWS;
    }
    if by_columns {
        // With shorter rows of A, most lanes have nothing to do. With more than eight columns, many
        // rows read B from the L1 cache too often.
        let many = rows > MANY_ROWS;
        return match cols {
            1 => inner > SHORT_ROW || rows > SOME_ROWS && inner > 8 || many,
            2..=4 => inner > SHORT_ROW || many,
            5..=8 => inner > SHORT_ROW,
            _ => inner > SHORT_ROW && rows.saturating_mul(inner) <= MOST_OF_A,
        };
    }
    match rows {
        1..=thin::MOST_ROWS if bytes == 8 => {
            rows <= MOST_OF_F64 && (inner > SHORT_OF_F64 || inner > 1 && cols > MANY_OF_F64)
        }
        1..=thin::MOST_ROWS => inner > SHORT_ROW || inner > 1 && cols > TINY_COLS,
        ..=EIGHT => {
            let is_long = inner > ROWS_SHORT || inner > MANY_SHORT && cols >= MANY_COLS;
            bytes == 4 && is_long && (cols > NARROW || inner <= ROWS_LONG)
        }
        // Tiles of 32 × 64 are faster: 12 × 2000 × 3000 takes 18.4 µs (22.5), 16 × 4000 × 4000 34.1
        // (36.3), 10 × 5684 × 4308 49.8 (49.2) (docs/log/2026-11-29-flat.md).
        _ => false,
    }
}

/// The most groups of outputs that a launch may have, whether B is aligned or not: each has a
/// ticket.
pub(super) fn most_groups(task: &Task<'_>) -> usize {
    let (of, bytes) = (extents(task.problem), task.problem.ty.bytes());
    let division = Division::of(task);
    let groups = [true, false].map(|aligned| division.launch(of, bytes, [aligned; 2]).groups);
    let most = groups.into_iter().fold(0, usize::max);
    most.saturating_mul(task.problem.extents[3])
}

/// The fastest division and number of slices.
pub(super) fn fastest(task: &Task<'_>) -> (Division, usize) {
    let (of, batch) = (extents(task.problem), task.problem.extents[3]);
    let ([rows, inner, cols], bytes) = (of, task.problem.ty.bytes());
    let at_once = task.device.multiprocessors_to_fill() as usize;
    if by_narrow(of, batch, bytes, at_once) {
        return in_runs(of, batch, at_once);
    }
    if by_columns(of, batch, bytes) {
        return columns(of, batch, bytes, task.in_packs(&[inner]), at_once);
    }
    let is_wide = cols >= WIDE_COLS && inner.saturating_mul(cols) >= WIDE_B;
    let is_packed = task.in_packs(&[cols]);
    let is_between = is_wide && is_packed && !is_long(inner, cols.saturating_mul(bytes));
    let by_rows = bytes == 4 && batch == 1 && rows > 2 && is_between;
    if rows <= thin::MOST_ROWS && !by_rows {
        return match batch {
            1 => rows_thin(of, bytes, is_packed, at_once),
            _ => of_thin::fastest((of, batch), bytes, task.aligned, at_once),
        };
    }
    let groups = cols.div_ceil(few_rows::columns::<f32>(is_packed));
    let groups = groups.saturating_mul(batch);
    let wanted = (ROWS_BLOCKS * at_once / groups.max(1)).min(inner.div_ceil(ROWS_SHORTEST));
    (Division::Rows, wanted.clamp(1, ROWS_SLICES))
}

/// From five rows on: blocks per multiprocessor, the fewest elements of a slice, and the most
/// slices.
const ROWS_BLOCKS: usize = 2;
const ROWS_SHORTEST: usize = 128;
const ROWS_SLICES: usize = 24;

/// By columns: up to SHORT_ROW inner elements other kernels are faster, unless there are more than
/// MANY_ROWS rows. f32 5000 × 20 × 3 takes 5.1 µs either way, 100,000 × 4 × 2 9.1 instead of 12.4.
const SHORT_ROW: usize = 32;
const MANY_ROWS: usize = 20_000;
/// Up to this many rows `tiled` is faster for one column, up to SHORT_ROW inner elements: 200 × 10 ×
/// 1 takes it 4.4 µs (5.0). With more rows it is up to eight.
const SOME_ROWS: usize = 1000;
/// Columns up to which `tiled` is faster for one to four rows of f32 and SHORT_ROW inner elements: 1
/// × 9 × 11 takes it 4.3 µs (5.3), 4 × 9 × 60 4.5 (5.8).
const TINY_COLS: usize = 512;
/// Up to this inner extent `tiled` is faster for nine to sixteen columns of f32: 11,201 × 24 × 16
/// takes it 6.4 µs ([`narrow`] 7.7), 11,201 × 40 × 12 7.7 (8.8), 3000 × 20 × 16 5.1 (6.0), but 5000 ×
/// 60 × 16 7.4 (7.2), 20,000 × 24 × 8 7.9 (7.2). Up to MANY_ROWS rows: more were not measured.
const SHORT_OF_MANY: usize = 40;
/// By rows: the inner extent up to which other kernels are faster, for five to EIGHT rows, with few
/// and with many columns: 8 × 80 × 128 takes 10.1 µs (`tiled` 7.5), 8 × 104 × 12,920 8.3 (`sliced`
/// 9.4), 8 × 48 × 7896 6.7 (7.3), 8 × 24 × 19,120 7.3 (7.5).
const ROWS_SHORT: usize = 96;
const MANY_SHORT: usize = 20;
const EIGHT: usize = 8;
/// Up to NARROW columns, sums longer than ROWS_LONG of five to EIGHT rows are faster in tiles: too
/// few blocks read B. 8 × 19,336 × 104 takes 26.7 µs (`sliced` 18.1), 8 × 700 × 256 9.7 (8.7), but 8
/// × 5000 × 384 13.8 (15.3), 8 × 200 × 150 7.6 (8.4).
const NARROW: usize = 256;
const ROWS_LONG: usize = 512;
/// From nine columns on, the most elements of A: f32 1000 × 1000 × 16 takes 11.3 µs, `sliced` 10.4,
/// 1000 × 280 × 16 7.8 and 9.3, 200 × 5000 × 16 13.1 and 11.2.
const MOST_OF_A: usize = 700_000;
/// The columns and elements of B from which on [`few_rows`] is faster for three and four rows of
/// f32 too, compared with [`thin`] in groups of 128 bytes: 4 × 2063 × 5416 takes 24.6 µs (29.7),
/// but 2 × 4096 × 4096 38.3 (37.3).
const WIDE_COLS: usize = 2048;
const WIDE_B: usize = 3 << 20;
/// Whether groups of 512 bytes are faster than groups of 128, if rows of B are whole packs: 2 ×
/// 6001 × 2504 takes 28.0 µs with them and 33.0 without, 3 × 391 × 9064 12.0 and 12.9, but 3 ×
/// 12,288 × 384 16.5 and 15.4, 1 × 2048 × 2944 15.6 and 14.6.
fn is_long(inner: usize, of_row: usize) -> bool {
    of_row >= 24_000 || of_row >= 3000 && inner.saturating_mul(of_row) >= 30_000_000
}
/// In f64 other kernels are faster for three and four rows, and up to this inner extent for one and
/// two, unless columns are many: 4 × 9566 × 135 takes 9.9 µs in `mma` (16.5), 3 × 69 × 31 4.8 in
/// `direct` (6.1), 1 × 39 × 4 4.5 (4.9), 1 × 128 × 100 4.8 (5.3), 4 × 100 × 2 4.8 (5.4), but 1 × 6 ×
/// 8328 6.0 in `direct` (5.5).
const MOST_OF_F64: usize = 2;
const SHORT_OF_F64: usize = 128;
const MANY_OF_F64: usize = 4096;
/// From these columns on five to EIGHT rows of f32 are faster already at MANY_SHORT.
const MANY_COLS: usize = 7000;

/// Whether to compute by columns: the columns are few, and the rows are not the better choice.
fn by_columns([rows, inner, cols]: [usize; 3], batch: usize, bytes: usize) -> bool {
    let columns_of_few_rows = match batch {
        1 => rows > 1 && inner <= 2048,
        // 2573 times 3 × 137 × 16 takes 34 µs by columns, 16 by rows.
        _ => cols <= rows,
    };
    cols <= most_cols(bytes) && (cols == 1 || rows > thin::MOST_ROWS || columns_of_few_rows)
}

/// Whether to compute three to sixteen columns of f32 in [`narrow`]. A block has HIGH rows, and a
/// device of `at_once` multiprocessors wants many blocks: 4096 × 72 × 8 takes 6.7 µs (`few_cols`
/// 7.8), 17,240 × 304 × 16 18.9 (`sliced` 32.7), 604 times 104 × 376 × 8 41.4 (77.5), but 1000 ×
/// 1000 × 8 11.9 (`few_cols` 8.5).
fn by_narrow([rows, inner, cols]: [usize; 3], batch: usize, bytes: usize, at_once: usize) -> bool {
    let has_slices = batch == 1 && inner >= LONG_OF_NARROW;
    let is_busy = rows.saturating_mul(batch) >= ROWS_OF_EACH * at_once
        || has_slices && rows.saturating_mul(inner) >= A_OF_NARROW;
    let is_high = rows > narrow::HIGH / 2 && is_busy;
    let is_narrow = (NARROWEST..=most_cols(4)).contains(&cols);
    bytes == 4 && is_narrow && is_high && inner > SHORT_OF_NARROW
}
/// The fewest rows of all products, for each multiprocessor.
const ROWS_OF_EACH: usize = 22;
const NARROWEST: usize = 3;
/// Of fewer rows, the shortest sums and the fewest elements of A: slices then are blocks enough. 2176
/// × 15,904 × 8 takes 55.1 µs (`few_cols` 110), 1728 × 16,744 × 8 50.0 (80.1), 1648 × 8088 × 8 0.64 of
/// the time; smaller A were not measured.
const LONG_OF_NARROW: usize = 4096;
const A_OF_NARROW: usize = 3 << 22;
/// [`short`](super::short) has inner extents up to this.
const SHORT_OF_NARROW: usize = short::DEEPEST;

/// Many rows.
fn in_runs([rows, inner, cols]: [usize; 3], batch: usize, at_once: usize) -> (Division, usize) {
    let groups = rows.div_ceil(narrow::HIGH).saturating_mul(batch);
    let most = |blocks: usize, shortest: usize| {
        let slices = blocks * at_once / groups.max(1);
        slices.min(inner / shortest)
    };
    // Two blocks a multiprocessor, and four if sums are long: 9000 × 5000 × 16 takes 135 µs in one.
    let slices = most(2, NARROW_SLICE).max(most(4, 4 * NARROW_SLICE));
    let wide = narrow::WIDTHS[width(cols)];
    (Division::Narrow { wide }, slices.clamp(1, MOST_SLICES))
}
/// The fewest elements of such a slice.
const NARROW_SLICE: usize = 256;

/// One to four rows of a single product.
fn rows_thin(
    [_, inner, cols]: [usize; 3],
    bytes: usize,
    packs: bool,
    at_once: usize,
) -> (Division, usize) {
    // Threads that share a row of B, each with a pack; one more if rows may begin anywhere.
    let all = cols.div_ceil(lanes(bytes)) + usize::from(!packs);
    let narrow = if packs { 2 } else { 4 };
    let of_row = cols.saturating_mul(bytes);
    let is_long = is_long(inner, of_row);
    let wide = if inner > 128 && (is_long || !packs) {
        32
    } else if (inner > 32 || !packs) && cols >= 8192 {
        // 4 × 128 × 10,368: 8.7 µs with 32 threads a row of B, 10.2 with eight.
        32
    } else if packs {
        8
    } else {
        16
    };
    let wide = all.clamp(narrow, wide).next_power_of_two();
    let groups_of = |shared: usize| {
        let across = shared * lanes(bytes);
        let each = by_width!(bytes, T => anywhere::columns::<T>(across, packs));
        cols.div_ceil(each)
    };
    let with = |lanes: usize, threads: u32, slices: usize| {
        let slices = slices.clamp(1, MOST_SLICES);
        (Division::Thin { lanes, threads }, slices)
    };
    let least = 32.max(wide * lanes(bytes));
    let groups = groups_of(wide);
    if inner <= 128 {
        // As many threads as have loads, and several groups a block.
        let down = inner.div_ceil(4) * wide;
        let most = if packs || wide > 16 { 256 } else { 512 };
        let threads = down.next_power_of_two().clamp(least, most) as u32;
        return with(wide, threads, 1);
    }
    // The rows of B that a narrow group has in flight.
    let round = 512 * 6 / narrow;
    let is_small = inner.saturating_mul(of_row) < 8_000_000;
    if of_row <= if packs { 1024 } else { 2048 } && inner > 2 * round {
        // 3 × 3076 × 39 in 16 slices: 8.4 µs, in 24 10.0; 1 × 9126 × 57 9.4 (9.7 in 27).
        with(narrow, 256, (inner / 128).min(16))
    } else if of_row <= 8192 && is_small {
        with(narrow, if inner > round / 2 { 512 } else { 256 }, 1)
    } else if packs && !is_long {
        let threads = if groups <= at_once { 512 } else { 256 };
        let slices = if inner > 512 {
            at_once / groups.max(1)
        } else {
            1
        };
        with(wide, threads, slices.min(inner / 512))
    } else if groups <= at_once / 6 {
        // 4 × 9223 × 928 in 16 slices: 20.4 µs (21.3 in groups of 128 bytes), 1 × 2000 × 1999 in
        // seven 12.4.
        with(wide, 512, (at_once / groups.max(1)).min(inner / 256))
    } else if inner > 512 {
        // 1 × 4096 × 4096 in eight slices: 26.9 µs, 1 × 4095 × 4097 in seven 28.6, 4 × 2063 × 5416
        // in six 24.0, 1 × 700 × 20,001 in one 26.2.
        with(wide, 256, (2 * at_once / groups).min(inner / 192))
    } else {
        // 1 × 300 × 13,132: 10.5 µs, with 256 threads 11.4.
        with(wide, if groups <= at_once { 512 } else { 256 }, 1)
    }
}

/// Few columns.
fn columns(
    [rows, inner, cols]: [usize; 3],
    batch: usize,
    bytes: usize,
    packs: bool,
    at_once: usize,
) -> (Division, usize) {
    let least = few_cols::least_team(cols);
    let packs = cols == 1 && packs;
    let lanes = if packs { lanes(bytes) } else { 1 };
    // Loads of A in each row and thread. Where rows fill the device, larger teams only add sums:
    // 5888 × 615 × 1 takes 16.7 µs in teams of 128 (cuBLAS 11.2), 10,965 × 65 × 4 10.4 in teams of
    // four and 7.5 in teams of eight.
    let many = rows.saturating_mul(batch) > 16 * at_once;
    let each = match many && !packs {
        true if batch == 1 => 16,
        // 24 times 152 × 3928 × 8: 52.4 µs with 64 threads, 56.4 with 128.
        true => 32,
        false => 3,
    };
    let least = if many && cols > 1 {
        least.max(8)
    } else {
        least
    };
    // A block has rows of one product.
    let mut least = least;
    while batch != 1 && least < few_cols::THREADS as usize && few_cols::rows_of(least) / 2 >= rows {
        least *= 2;
    }
    let mut team = few_cols::THREADS as usize;
    while team > least && team * lanes * each > inner {
        team /= 2;
    }
    let groups = rows.div_ceil(few_cols::rows_of(team)).saturating_mul(batch);
    // 16 × 2360 × 8: 9.2 µs in two slices, 7.3 in six; 172 × 5754 × 1 11.0 in three, 9.2 in six.
    let (blocks, shortest) = if bytes == 4 && batch == 1 {
        (3, 384)
    } else {
        (2, 1024)
    };
    let wanted = blocks * at_once / groups.max(1);
    let slices = wanted.min(inner / shortest).clamp(1, MOST_SLICES);
    (Division::Columns { team, packs }, slices)
}

#[cfg(test)]
mod tests {
    use blockwise::Type;

    use super::super::with_task;
    use super::{Division, fastest};
    use crate::matmul::cases::NARROW;

    #[test]
    fn few_rows_of_long_sums_are_narrow() {
        let narrow = Division::Narrow { wide: 8 };
        for (of, expected) in [
            ([2176, 15_904, 8], true),
            ([1728, 16_744, 8], true),
            ([4096, 72, 8], true),
            ([1000, 1000, 8], false),
            ([424, 19_120, 8], false),
        ] {
            let (division, _) = with_task(Type::F32, &of, fastest);
            assert_eq!(division == narrow, expected, "{of:?}");
        }
    }

    #[test]
    fn cases_name_the_instances_of_narrow() {
        let of = [8, 16].map(|wide| Division::Narrow { wide }.instance());
        assert_eq!(of, NARROW.map(Some));
    }
}
