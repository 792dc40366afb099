//! What an operation costs each rank: bytes from the other ranks, memory and arithmetic. Bytes come
//! from the plans that the operations themselves run.

use blockwise_ops::LaunchError;
use blockwise_ops::operation::Problem;

use super::{Link, Machine};
use crate::{Blocks, Grid, Split, carried, conv1d, matmul, transpose};

/// An operation on arrays that are evenly divided.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Work {
    /// Arrays that are folded to one number, such as the dot product of two.
    Folded {
        /// Elements of each.
        len: usize,
        /// Arrays.
        operands: usize,
    },
    /// Outputs that come from windows of a signal: a convolution.
    Windows(Problem),
    /// Matrix product of these rows, inner extent and columns, on the grid that moves the fewest
    /// elements.
    Matmul([usize; 3]),
    /// Transpose of row shards.
    Transpose {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// An operation each of whose parts starts from the result of all earlier parts, such as
    /// running sums.
    Carried {
        /// Elements.
        len: usize,
        /// Parts begin at multiples of this many elements.
        align: usize,
    },
}

/// What one rank has to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Demand {
    /// Bytes of its parts of the arrays and of what it gathers.
    pub(super) memory: f64,
    /// Seconds of memory traffic before the first transfer starts and after the last one ends.
    pub(super) ends: f64,
    /// Seconds of its other kernels, by memory traffic and by arithmetic.
    pub(super) moving: f64,
    pub(super) computing: f64,
    /// Bytes that arrive before the kernels start, by sender.
    pub(super) first: Vec<(usize, usize)>,
    /// Bytes that arrive while they run, by sender.
    pub(super) during: Vec<(usize, usize)>,
    /// Messages from each of those senders.
    pub(super) rounds: usize,
}

impl Work {
    /// Bytes that ranks receive from each other, as (sender, receiver, bytes).
    ///
    /// # Errors
    /// What the operation itself refuses.
    pub fn links(
        &self,
        ranks: usize,
        element_bytes: usize,
    ) -> Result<Vec<(usize, usize, usize)>, LaunchError> {
        let plan = Plan::new(*self, ranks)?;
        let of_rank = |rank| {
            let [first, during] = plan.received(rank, element_bytes);
            let all = first.into_iter().chain(during);
            all.map(move |(from, bytes)| (from, rank, bytes))
        };
        Ok((0..ranks).flat_map(of_rank).collect())
    }

    /// The cost for each rank, in order.
    pub(super) fn demands(
        &self,
        ranks: usize,
        element_bytes: usize,
        machine: &Machine,
    ) -> Result<impl Iterator<Item = Demand>, LaunchError> {
        let plan = Plan::new(*self, ranks)?;
        Ok((0..ranks).map(move |rank| plan.demand(rank, element_bytes, machine)))
    }
}

/// An operation's own plan.
enum Plan {
    Folded {
        split: Split,
        operands: usize,
    },
    Windows {
        layout: conv1d::Layout,
        /// The operand that every rank gathers, if there are more taps than samples.
        gathered: Option<Split>,
    },
    Matmul(matmul::Layout),
    Transpose(transpose::Layout),
    Carried {
        split: Split,
        align: usize,
    },
}

impl Plan {
    fn new(work: Work, ranks: usize) -> Result<Self, LaunchError> {
        Ok(match work {
            Work::Folded { len, operands } => Self::Folded {
                split: Split::even(len, ranks),
                operands,
            },
            Work::Windows(mut whole) => {
                let [samples, taps, ..] = whole.extents;
                let [long, short] = [samples.max(taps), samples.min(taps)];
                if short == 0 {
                    let what = if samples == 0 {
                        "the signal"
                    } else {
                        "the list of taps"
                    };
                    return Err(LaunchError::EmptyInput { what });
                }
                // The longer operand is the one that is divided.
                whole.extents[..2].copy_from_slice(&[long, short]);
                Self::Windows {
                    layout: conv1d::Layout::new(Split::even(long, ranks), whole),
                    gathered: (taps > samples).then(|| Split::even(samples, ranks)),
                }
            }
            Work::Matmul(of @ [rows, inner, cols]) => {
                let grid = Grid::for_product(of, ranks);
                let [a, b] = [[rows, inner], [inner, cols]].map(|shape| Blocks::even(shape, grid));
                Self::Matmul(matmul::Layout::new(a, b, None))
            }
            Work::Transpose { rows, cols } => Self::Transpose(transpose::Layout {
                rows: Split::even(rows, ranks),
                cols: Split::even(cols, ranks),
            }),
            Work::Carried { len, align } => Self::Carried {
                split: carried::aligned(len, align, ranks),
                align,
            },
        })
    }

    /// Bytes that a rank receives before its kernels start, and while they run, by sender.
    fn received(&self, rank: usize, element_bytes: usize) -> [Vec<(usize, usize)>; 2] {
        let elements = match self {
            // Every rank's total, folded in order.
            Self::Folded { split, .. } => {
                let with = others(split, rank).filter(|(_, len)| *len > 0);
                let totals = with.map(|(from, _)| (from, size_of::<[u64; 2]>()));
                return [totals.collect(), Vec::new()];
            }
            // From each other rank, the number of totals that the longest part has.
            Self::Carried { split, align } => {
                let longest = (0..split.ranks()).map(|rank| split.range(rank).len()).max();
                let totals = longest.unwrap_or(0).div_ceil(*align);
                let with = others(split, rank).map(|(from, _)| (from, totals));
                [with.filter(|(_, len)| *len > 0).collect(), Vec::new()]
            }
            Self::Windows { layout, gathered } => {
                let whole = gathered.iter().flat_map(|split| others(split, rank));
                [whole.chain(layout.received(rank)).collect(), Vec::new()]
            }
            // Tiles travel while others are transposed.
            Self::Transpose(layout) => [Vec::new(), layout.received(rank)],
            // The transfer of B's first panel is not overlapped.
            Self::Matmul(layout) => {
                let [mut first, panels] = layout.received(rank);
                let share = layout.first_panel(rank);
                let part = |len: usize| (len as f64 * share).round() as usize;
                first.extend(panels.iter().map(|&(from, len)| (from, part(len))));
                let rest = panels
                    .into_iter()
                    .map(|(from, len)| (from, len - part(len)));
                [first, rest.filter(|(_, len)| *len > 0).collect()]
            }
        };
        elements.map(|links| {
            let links = links.into_iter();
            links
                .map(|(from, elements)| (from, elements * element_bytes))
                .collect()
        })
    }

    fn demand(&self, rank: usize, element_bytes: usize, machine: &Machine) -> Demand {
        let bytes = |elements: f64| elements * element_bytes as f64;
        let [first, during] = self.received(rank, element_bytes);
        let single = element_bytes == size_of::<f32>();
        let mut ends = 0.0;
        let (memory, moving, computing, rounds) = match self {
            Self::Folded { split, operands } => {
                let read = bytes((split.range(rank).len() * operands) as f64);
                (read, read / machine.reading, 0.0, 1)
            }
            // With several ranks, the totals take a pass of their own.
            Self::Carried { split, .. } => {
                let part = bytes(split.range(rank).len() as f64);
                let totals = if split.ranks() > 1 { part } else { 0.0 };
                let moving = totals / machine.totalling + 2.0 * part / machine.scanning;
                (2.0 * part, moving, 0.0, 1)
            }
            Self::Windows { layout, .. } => {
                let [inputs, outputs, taps] = layout.lengths(rank).map(|len| len as f64);
                let moved = bytes(inputs + outputs);
                let rate = if single {
                    machine.convolution
                } else {
                    machine.convolution / 2.0
                };
                let direct = 2.0 * taps * outputs / rate;
                let computing = direct.min(machine.transforms * outputs);
                // The host orders the transfers of halos before it launches the kernel.
                if !layout.received(rank).is_empty() {
                    ends = machine.within.start;
                }
                (moved, moved / machine.copying, computing, 1)
            }
            Self::Matmul(layout) => {
                let [rows, inner, cols] = layout.lengths(rank).map(|len| len as f64);
                let rate = if single {
                    machine.product_f32
                } else {
                    machine.product_f64
                };
                let operands = rows * inner + inner * cols + rows * cols;
                let computing = 2.0 * rows * inner * cols / rate;
                let moved = bytes(operands) / machine.copying;
                let held = bytes(layout.held(rank) as f64);
                (held, moved, computing, layout.panels(rank).len().max(1))
            }
            // The kernel's reads and writes. With several ranks, both are also copied once, and the
            // output moves again when tiles are put next to each other; not where devices copy tiles
            // to their places, the own ones meanwhile.
            Self::Transpose(layout) => {
                let input = (layout.rows.range(rank).len() * layout.cols.len()) as f64;
                let output = (layout.cols.range(rank).len() * layout.rows.len()) as f64;
                let ranks = layout.rows.ranks() as f64;
                let turning = bytes(2.0 * input) / machine.copying;
                if ranks == 1.0 {
                    (bytes(input + output), turning, 0.0, 1)
                } else if machine.within == Link::COPIES {
                    let pieces = layout.pieces(element_bytes);
                    let first = turning / pieces as f64;
                    ends = first + machine.within.start * pieces as f64;
                    (bytes(2.0 * input + output), turning - first, 0.0, pieces)
                } else {
                    let pieces = layout.pieces(element_bytes);
                    let placing = bytes(2.0 * output) / machine.rows;
                    // Nothing travels while the first piece is transposed and the last one is put in
                    // its place.
                    let outside = (turning + placing * (1.0 - 1.0 / ranks)) / pieces as f64;
                    let overlapped = turning + placing - outside;
                    ends = outside + machine.within.start * pieces as f64;
                    (bytes(2.0 * (input + output)), overlapped, 0.0, pieces)
                }
            }
        };
        Demand {
            memory,
            ends,
            moving,
            computing,
            first,
            during,
            rounds,
        }
    }
}

/// The other ranks with the lengths of their parts.
fn others(split: &Split, rank: usize) -> impl Iterator<Item = (usize, usize)> {
    let others = (0..split.ranks()).filter(move |&from| from != rank);
    others.map(|from| (from, split.range(from).len()))
}
