//! Sizes around the tiles, for the detectors.

use kernels::matmul::slices::Cut;

use crate::operation::Case;

/// The kernels of one launch.
const WHOLE: &[&str] = &["naive", "tiled", "tiled-raw", "register-tile", "pipelined"];
const IN_SLICES: &[&str] = &["sliced", "mma", "few", "direct"];
/// The same for more than a few tiles of doubles.
const IN_TILES: &[&str] = &["sliced", "mma", "few"];
/// Those whose slices a second launch adds.
const FOLDED: &[&str] = &["sliced", "mma"];
/// Those that have batches.
const BATCHES: &[&str] = &["pipelined", "sliced", "mma", "direct"];
/// Small tiles of doubles.
const DIRECT: &[&str] = &["direct"];
/// Short inner extents.
const SHORT: &[&str] = &["short"];
/// Batches of small products.
const SMALL: &[&str] = &["small"];
/// Few rows or columns.
const FEW: &[&str] = &["few"];

/// By `narrow`, with columns padded to `wide`: instances of `few`.
const fn runs(sizes: &'static [usize], wide: usize) -> Case {
    Case::of(sizes)
        .by(FEW)
        .instance(NARROW[(wide > 8) as usize])
}
pub(super) const NARROW: [u8; 2] = [38, 39];

/// In these tiles of `sliced`.
const fn tiles(sizes: &'static [usize], cut: Cut) -> Case {
    Case::of(sizes).by(&["sliced"]).instance(cut as u8)
}

pub(super) static CASES: &[Case] = &[
    Case::of(&[33, 40, 18]).by(WHOLE).capped(1),
    Case::of(&[18, 35, 33]).by(WHOLE),
    Case::of(&[5, 0, 7]).by(WHOLE),
    Case::of(&[1, 1, 1]).by(WHOLE),
    // Every size of the groups in which the naive kernel walks along the inner dimension.
    Case::of(&[3, 31, 5]).by(WHOLE),
    // Tiles for one block that are cut on both sides, and a ring of stages that goes round.
    Case::of(&[162, 41, 141]).by(WHOLE).capped(1),
    // A tile with all of its columns and few of its rows.
    Case::of(&[5, 2, 128]).by(WHOLE),
    // Whole tiles only.
    Case::of(&[16, 32, 48]).by(WHOLE).spare(),
    // Likewise with columns that come in vectors.
    Case::of(&[5, 0, 8]).by(&["pipelined"]),
    Case::of(&[4, 1, 4]).by(&["pipelined"]),
    Case::of(&[162, 41, 260]).by(&["pipelined"]).capped(1),
    // Slices that are ragged, whole and empty; tiles that are cut, and a grid that strides over
    // both.
    Case::of(&[67, 50, 36]).by(IN_SLICES).counting(2).capped(1),
    Case::of(&[5, 40, 8]).by(IN_SLICES).counting(7),
    Case::of(&[130, 36, 66]).by(IN_TILES).counting(2).capped(1),
    Case::of(&[131, 33, 67]).by(IN_TILES).counting(2),
    Case::of(&[64, 40, 12]).by(IN_SLICES).counting(7),
    Case::of(&[3, 0, 12]).by(IN_SLICES).counting(2),
    Case::of(&[64, 0, 12]).by(IN_SLICES).counting(2),
    // B and C one to three elements behind an aligned address: tiles with and without the turned
    // vector, which may be a tile's only one; whole and partial steps, batches.
    tiles(&[67, 50, 36], Cut::Square)
        .counting(1)
        .behind(1)
        .capped(1),
    tiles(&[5, 33, 140], Cut::Square).counting(1).behind(3),
    tiles(&[65, 16, 32], Cut::Small).counting(1).behind(2),
    tiles(&[70, 67, 100], Cut::Small).counting(1).behind(3),
    tiles(&[33, 40, 68], Cut::Flat)
        .counting(1)
        .behind(1)
        .capped(1),
    tiles(&[2, 35, 21, 128], Cut::Flat).counting(1).behind(3),
    tiles(&[3, 0, 12], Cut::Flat).counting(1).behind(1),
    // Groups of loads of every size, rows of any length, and a grid that strides over rows and
    // slices.
    Case::of(&[19, 2000, 1]).by(IN_SLICES).counting(2).capped(1),
    Case::of(&[9, 1047, 1]).by(IN_SLICES).counting(3),
    Case::of(&[37, 347, 1]).by(IN_SLICES).counting(2).capped(1),
    Case::of(&[9, 704, 1]).by(IN_SLICES).counting(1),
    Case::of(&[1, 1350, 40]).by(IN_SLICES).counting(2).capped(1),
    Case::of(&[1, 301, 35]).by(IN_SLICES).counting(3),
    Case::of(&[1, 40, 35]).by(IN_SLICES).counting(2).capped(1),
    Case::of(&[1, 0, 4]).by(IN_SLICES).counting(2),
    Case::of(&[4, 0, 1]).by(IN_SLICES).counting(2),
    Case::of(&[1, 70, 1]).by(IN_SLICES).counting(1),
    // Rows of which a warp has two, or four.
    Case::of(&[37, 200, 1]).by(IN_SLICES).counting(1).capped(1),
    Case::of(&[21, 29, 1]).by(IN_SLICES).counting(1),
    // Sums of slices: a pack more than a block has, a grid that strides, and groups of every size.
    Case::of(&[20, 34, 52]).by(IN_SLICES).counting(2),
    Case::of(&[11, 80, 12]).by(IN_SLICES).counting(5).capped(1),
    Case::of(&[10, 288, 52]).by(IN_TILES).counting(18).capped(1),
    Case::of(&[2, 528, 2]).by(IN_SLICES).counting(33),
    // As many slices as a thread loads, and fewer; none of them empty.
    Case::of(&[20, 48, 20]).by(FOLDED).counting(3).capped(1),
    Case::of(&[11, 64, 12]).by(FOLDED).counting(4),
    Case::of(&[20, 96, 20]).by(FOLDED).counting(6).capped(1),
    Case::of(&[11, 112, 12]).by(FOLDED).counting(7),
    Case::of(&[11, 128, 12]).by(FOLDED).counting(8),
    // The same element by element.
    Case::of(&[9, 48, 9]).by(FOLDED).counting(3).capped(1),
    Case::of(&[7, 64, 5]).by(FOLDED).counting(4),
    Case::of(&[5, 112, 7]).by(FOLDED).counting(7),
    Case::of(&[9, 272, 9]).by(FOLDED).counting(17).capped(1),
    Case::of(&[21, 288, 51]).by(IN_TILES).counting(18).capped(1),
    // Few rows and columns: each number of sums, groups that are cut, by packs and by elements; one
    // slice and several, with a ticket for each group; grids that stride over groups and slices, and
    // some that are too large.
    Case::of(&[1, 200, 36]).by(FEW).counting(1).capped(1),
    Case::of(&[2, 300, 40]).by(FEW).counting(3).capped(2),
    Case::of(&[2, 33, 39]).by(FEW).counting(1).spare(),
    Case::of(&[4, 150, 36]).by(FEW).counting(2).spare(),
    Case::of(&[3, 170, 37]).by(FEW).counting(4).capped(1),
    Case::of(&[3, 9, 260]).by(FEW).counting(1).capped(1),
    Case::of(&[5, 60, 132]).by(FEW).counting(2).capped(1),
    Case::of(&[7, 75, 67]).by(FEW).counting(3).spare(),
    Case::of(&[16, 50, 260]).by(FEW).counting(1).capped(1),
    Case::of(&[13, 70, 131]).by(FEW).counting(2),
    Case::of(&[16, 900, 20]).by(FEW).counting(1),
    // One column: by elements and by packs, of which a thread has several rounds; batches.
    Case::of(&[9, 201, 1]).by(FEW).counting(1).capped(1),
    Case::of(&[21, 260, 1]).by(FEW).counting(2).spare(),
    Case::of(&[35, 59, 1]).by(FEW).counting(1).capped(2),
    Case::of(&[3, 11, 130, 1]).by(FEW).counting(1).capped(1),
    Case::of(&[2, 7, 48, 1]).by(FEW).counting(1),
    Case::of(&[9, 70, 2]).by(FEW).counting(2).capped(1),
    Case::of(&[21, 90, 3]).by(FEW).counting(2).spare(),
    Case::of(&[19, 50, 4]).by(FEW).counting(1).capped(1),
    Case::of(&[11, 130, 7]).by(FEW).counting(3).capped(1),
    Case::of(&[18, 300, 8]).by(FEW).counting(2),
    Case::of(&[17, 40, 13]).by(FEW).counting(2).capped(1),
    Case::of(&[6, 260, 16]).by(FEW).counting(1),
    Case::of(&[17, 0, 3]).by(FEW).counting(2),
    // Runs of rows, the last one cut: a ring of stages that goes round, whole rows of eight columns
    // and of sixteen, and batches.
    runs(&[150, 197, 6], 8).counting(1).capped(1),
    runs(&[130, 168, 16], 16).counting(1).capped(1),
    runs(&[70, 197, 3], 16).counting(2).capped(1),
    runs(&[131, 36, 8], 8).counting(2).spare(),
    runs(&[67, 70, 5], 8).counting(3).capped(1),
    runs(&[3, 65, 19, 9], 16).counting(2).capped(1),
    // More steps than the ring of any tile of `mma` has stages, in pairs and element by element.
    Case::of(&[35, 170, 66]).by(&["mma"]).counting(1).capped(1),
    Case::of(&[34, 171, 33]).by(&["mma"]).counting(1).capped(1),
    // The first rows in one slice: whole tiles of any size, parts of tiles, and all but one; in pairs
    // and element by element.
    Case::of(&[133, 70, 34])
        .by(&["mma"])
        .counting(2)
        .whole(128)
        .capped(1),
    Case::of(&[67, 131, 66]).by(&["mma"]).counting(3).whole(33),
    Case::of(&[37, 53, 35])
        .by(&["mma"])
        .counting(2)
        .whole(32)
        .capped(1),
    Case::of(&[5, 34, 9]).by(&["mma"]).counting(2).whole(4),
    // Teams of one warp to eight, steps that end within the inner extent, tiles that are cut; more
    // tiles than a grid with a cap has blocks, and slices with a ticket for each tile.
    Case::of(&[20, 7, 37]).by(DIRECT).counting(1).capped(1),
    Case::of(&[33, 29, 18]).by(DIRECT).counting(1).capped(1),
    Case::of(&[16, 61, 9]).by(DIRECT).counting(1).capped(2),
    Case::of(&[35, 131, 33]).by(DIRECT).counting(1).capped(1),
    Case::of(&[18, 300, 33]).by(DIRECT).counting(3).capped(2),
    Case::of(&[9, 9, 7, 5]).by(DIRECT).counting(1).capped(1),
    // As many slices as a thread loads ahead; a grid that is too large.
    Case::of(&[5, 70, 8]).by(DIRECT).counting(4).spare(),
    // Batches: grids that stride over products, one slice and several, in every tile; with an A that
    // all products share.
    Case::of(&[3, 5, 20, 8]).by(BATCHES).counting(1).capped(1),
    Case::of(&[2, 67, 36, 35]).by(BATCHES).counting(2),
    Case::of(&[5, 4, 0, 4]).by(BATCHES).counting(2),
    Case::of(&[1, 3, 33, 19, 36])
        .by(BATCHES)
        .counting(2)
        .capped(2),
    // Few rows or columns of each product: groups of several products, and slices with tickets.
    Case::of(&[3, 5, 20, 1]).by(FEW).counting(1).capped(1),
    Case::of(&[2, 9, 128, 1]).by(FEW).counting(2).capped(2),
    Case::of(&[5, 9, 130, 3]).by(FEW).counting(2),
    Case::of(&[1, 4, 37, 70, 2]).by(FEW).counting(1).capped(2),
    Case::of(&[5, 1, 300, 1]).by(FEW).counting(2).capped(1),
    Case::of(&[2, 17, 40, 13]).by(FEW).counting(2).capped(1),
    Case::of(&[3, 2, 33, 39]).by(FEW).counting(1).capped(1),
    Case::of(&[5, 1, 9, 36]).by(FEW).counting(1),
    Case::of(&[2, 4, 150, 36]).by(FEW).counting(2).capped(1),
    Case::of(&[1, 3, 3, 170, 37]).by(FEW).counting(2),
    Case::of(&[3, 7, 75, 67]).by(FEW).counting(3).capped(2),
    Case::of(&[1, 2, 16, 50, 132]).by(FEW).counting(1).capped(1),
    Case::of(&[3, 4, 0, 4]).by(FEW).counting(2),
    Case::of(&[3, 5, 20, 8]).by(SMALL).capped(1),
    // Runs of rows that share a B: the last one is shorter.
    Case::of(&[2, 300, 30, 3]).by(SMALL).capped(1),
    Case::of(&[1, 3, 300, 30, 3]).by(SMALL).capped(2),
    Case::of(&[1, 20, 12, 8, 20]).by(SMALL).capped(1),
    Case::of(&[9, 9, 7, 5]).by(SMALL),
    // Matrices that begin and end within a pack; the next ones too.
    Case::of(&[3, 3, 5, 7]).by(SMALL).capped(1),
    Case::of(&[4, 9, 3, 1]).by(SMALL).capped(1),
    Case::of(&[2, 70, 3, 9]).by(SMALL),
    Case::of(&[3, 4, 0, 4]).by(SMALL),
    Case::of(&[3, 4, 0, 5]).by(SMALL),
    // Threads with several copies and outputs, in packs and by elements. The next product is copied
    // while this one is computed.
    Case::of(&[3, 33, 16, 260]).by(SMALL).capped(1),
    Case::of(&[3, 33, 16, 259]).by(SMALL).capped(1),
    // The same of one product, behind which nothing may be read.
    Case::of(&[1, 33, 16, 260]).by(SMALL),
    Case::of(&[1, 33, 16, 259]).by(SMALL),
    // A block below the last run of rows.
    Case::of(&[2, 301, 30, 3]).by(SMALL).spare(),
    // Columns that are cut within a thread's, in packs of doubles.
    Case::of(&[2, 9, 4, 6]).by(SMALL),
    // One row: most of a thread's are beyond it.
    Case::of(&[3, 1, 4, 4]).by(SMALL),
    // Two products of a block, and one of the last; blocks beyond them.
    Case::of(&[515, 1, 4, 4]).by(SMALL).spare(),
    Case::of(&[515, 1, 1, 1]).by(SMALL).spare(),
    // Rows of C that begin anywhere, of fewer packs than a warp has threads and of more; a grid that
    // strides over both, and one that is too large.
    Case::of(&[70, 5, 11]).by(SHORT).capped(1),
    Case::of(&[300, 8, 31]).by(SHORT).capped(1),
    Case::of(&[37, 3, 301]).by(SHORT).capped(1),
    Case::of(&[35, 6, 37]).by(SHORT),
    Case::of(&[33, 3, 68]).by(SHORT).spare(),
    // Runs of 128 rows, whose A takes a thread four copies; the last one is whole.
    Case::of(&[7680, 3, 1]).by(SHORT).capped(1),
    // Sums of at most two terms have loops of their own.
    Case::of(&[70, 2, 11]).by(SHORT).capped(1),
    Case::of(&[37, 1, 301]).by(SHORT).capped(1),
    Case::of(&[35, 2, 37]).by(SHORT),
    Case::of(&[33, 1, 68]).by(SHORT).spare(),
    Case::of(&[5, 0, 7]).by(SHORT),
    Case::of(&[7680, 1, 1]).by(SHORT).capped(1),
    // Longer sums, of which a run has as many slots for A as its block, and more; several runs of a
    // block, by elements and in packs.
    Case::of(&[37, 9, 67]).by(SHORT).capped(1),
    Case::of(&[16, 16, 36]).by(SHORT),
    Case::of(&[37, 13, 67]).by(SHORT).capped(1),
    Case::of(&[70, 16, 36]).by(SHORT).capped(1),
    // Runs of a batch, the last of a product shorter: each product's C begins anywhere, and its A
    // with it unless all share one.
    Case::of(&[3, 35, 3, 7]).by(SHORT).capped(1),
    Case::of(&[2, 5, 12, 5]).by(SHORT).spare(),
    Case::of(&[1, 3, 33, 2, 5]).by(SHORT).capped(2),
    // Copies of B, of padded rows and of whole sectors.
    Case::of(&[5, 40, 9]).by(&["sliced-copy"]).counting(2),
    Case::of(&[162, 41, 141]).by(&["sliced-copy"]).capped(1),
    Case::of(&[1, 8, 8]).by(&["sliced-copy"]),
];

pub(super) static EDGES: &[&[usize]] = &[
    &[0, 3, 4],
    &[4, 0, 4],
    &[1, 1, 1],
    &[15, 15, 15],
    &[16, 16, 16],
    &[17, 17, 17],
    &[1, 67, 3],
    &[41, 1, 37],
    &[7, 32, 53],
    &[3, 67, 4],
    &[41, 1, 36],
    &[130, 32, 52],
    &[1, 65, 64],
    &[1, 67, 33],
    &[63, 68, 1],
    &[9, 67, 1],
    &[65, 34, 20],
    &[12, 640, 21],
    &[3, 1, 1, 1],
    &[2, 17, 33, 16],
    &[1, 2, 33, 17, 35],
    &[3, 1, 70, 33],
    &[1, 3, 15, 65, 36],
    &[4, 33, 67, 1],
    &[2, 127, 9, 3],
    // Enough rows for `narrow`.
    &[23, 129, 18, 9],
];
