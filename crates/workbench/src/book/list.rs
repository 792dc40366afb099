//! The files of `docs/book/src/output`: which command each shows, and what of it.

/// The broken kernels' PTX, as a reader names it.
pub(crate) const BROKEN: &str = "target/ptx/broken_kernels.sm_80.ptx";

/// The arguments of the broken convolutions and of the broken products.
const CONVOLUTION: &str = "--grid 4 --block 256 --shared 1056 --arg slice:f32[1000]=random:1 --arg slice:f32[9]=random:2 \
                           --arg f32[1000] --arg u64:1000 --arg u64:4";
const PRODUCT: &str = "--arg slice:f32[1440]=random:1 --arg slice:f32[1800]=random:2 --arg f32[2000] --arg u64:40 --arg u64:36 \
                       --arg u64:50";

/// A file of the folder.
pub(crate) struct Output {
    /// The file, without `.txt`.
    pub(crate) name: &'static str,
    pub(crate) part: Part,
}

/// What a page shows of a command's output.
pub(crate) enum Part {
    /// `blockwise profile` with these words: columns and rows of its table.
    Figures {
        of: &'static str,
        kernels: &'static [&'static str],
        rows: &'static [&'static str],
    },
    /// `blockwise check` of a broken kernel with these words: its first finding.
    Finding {
        kernel: &'static str,
        words: &'static [&'static str],
    },
}

const fn figures(
    name: &'static str,
    of: &'static str,
    kernels: &'static [&'static str],
    rows: &'static [&'static str],
) -> Output {
    let part = Part::Figures { of, kernels, rows };
    Output { name, part }
}

const fn finding(kernel: &'static str, words: &'static [&'static str]) -> Output {
    let part = Part::Finding { kernel, words };
    Output { name: kernel, part }
}

pub(crate) const OUTPUTS: &[Output] = &[
    figures(
        "reverse",
        "reverse --len 4096",
        &["static", "direct"],
        &[
            "blocks",
            "threads of a block",
            "barriers",
            "shared requests",
            "  wavefronts a request",
            "global loads",
            "  sectors a request",
            "global stores",
            "  sectors a request",
            "shared bytes of a block",
        ],
    ),
    figures(
        "transpose_naive",
        "transpose --rows 64 --cols 64 --kernel naive",
        &["naive"],
        &[
            "global loads",
            "  sectors a request",
            "  coalescing",
            "global stores",
            "  sectors a request",
            "  coalescing",
        ],
    ),
    figures(
        "transpose_tiled",
        "transpose --rows 64 --cols 64",
        &["naive", "tiled"],
        &[
            "shared requests",
            "  wavefronts",
            "  wavefronts a request",
            "global loads",
            "  sectors a request",
            "global stores",
            "  sectors a request",
        ],
    ),
    figures(
        "transpose_padded",
        "transpose --rows 64 --cols 64",
        &["tiled", "padded"],
        &[
            "shared requests",
            "  wavefronts",
            "  wavefronts a request",
            "  bank conflicts",
            "shared bytes of a block",
        ],
    ),
    figures(
        "reduce_tree",
        "sum --len 65536",
        &["interleaved", "tree"],
        &[
            "barriers",
            "shared requests",
            "  wavefronts",
            "  wavefronts a request",
        ],
    ),
    figures(
        "reduce_shuffle",
        "sum --len 65536",
        &["tree", "shuffle"],
        &["barriers", "shared bytes of a block"],
    ),
    figures(
        "reduce_single",
        "sum --len 65536",
        &["wide", "single"],
        &["blocks", "global stores", "global atomics"],
    ),
    figures(
        "reduce_wide",
        "sum --len 65536",
        &["shuffle", "wide"],
        &[
            "blocks",
            "global loads",
            "  sectors a request",
            "  coalescing",
        ],
    ),
    figures(
        "conv",
        "conv --len 8192 --taps 31",
        &["direct", "tiled"],
        &[
            "barriers",
            "shared requests",
            "  wavefronts a request",
            "global loads",
            "  sectors a request",
            "shared bytes of a block",
        ],
    ),
    figures(
        "matmul_tiled",
        "matmul --rows 128 --inner 128 --cols 128",
        &["naive", "tiled"],
        &[
            "barriers",
            "shared requests",
            "  wavefronts a request",
            "global loads",
            "  sectors a request",
            "f32 operations",
        ],
    ),
    figures(
        "matmul_registers",
        "matmul --rows 128 --inner 128 --cols 128",
        &["tiled", "register-tile"],
        &[
            "barriers",
            "shared requests",
            "global loads",
            "f32 operations",
        ],
    ),
    figures(
        "matmul_pipelined",
        "matmul --rows 128 --inner 128 --cols 128",
        &["register-tile", "pipelined"],
        &[
            "barriers",
            "shared requests",
            "global loads",
            "shared bytes of a block",
        ],
    ),
    finding(
        "copy_off_by_one",
        &["--grid 4 --block 256 --arg slice:f32[1000]=iota --arg f32[1000]"],
    ),
    finding(
        "matmul_uncovered_grid",
        &["--grid 3,2 --block 16,16", PRODUCT],
    ),
    finding(
        "reverse_missing_barrier",
        &["--tool race --grid 4 --block 256 --arg slice:u32[1000]=iota --arg u32[1000]"],
    ),
    finding(
        "reverse_shared_too_small",
        &["--grid 4 --block 256 --arg slice:u32[1000]=iota --arg u32[1000]"],
    ),
    finding(
        "dot_missing_barrier",
        &[
            "--tool race --grid 4 --block 256 --shared 1024",
            "--arg slice:f32[3000]=random:1 --arg slice:f32[3000]=random:2 --arg f32[4]",
        ],
    ),
    finding(
        "sum_warp_without_sync",
        &["--tool race --grid 4 --block 32 --arg slice:f32[128]=random:1 --arg f32[4]"],
    ),
    finding(
        "sum_shuffle_wrong_mask",
        &["--grid 4 --block 32 --arg slice:f32[64]=random:1 --arg f32[4]"],
    ),
    finding(
        "sum_blocks_race",
        &["--grid 4 --block 256 --arg slice:f32[1024]=random:1 --arg f32[1]=zeros"],
    ),
    finding(
        "sum_unwritten_partials",
        &["--block 32 --arg slice:f32[20]=random:1 --arg f32[32]"],
    ),
    finding(
        "load_misaligned",
        &["--block 64 --arg slice:f32[257]=random:1 --arg f32[64]"],
    ),
    finding("conv1d_halo_not_loaded", &[CONVOLUTION]),
    finding("conv1d_halo_off_by_one", &[CONVOLUTION]),
    finding("conv1d_early_return", &[CONVOLUTION]),
    finding(
        "sum_barrier_in_branch",
        &["--grid 4 --block 256 --arg slice:f32[1024]=random:1 --arg f32[4]"],
    ),
    finding(
        "matmul_missing_barrier",
        &["--tool race --grid 4,3 --block 16,16", PRODUCT],
    ),
    finding("matmul_accumulates", &["--grid 4,3 --block 16,16", PRODUCT]),
    finding(
        "reverse_copy_too_early",
        &["--block 256 --shared 1024 --arg slice:u32[256]=iota --arg u32[256]"],
    ),
    finding(
        "named_barrier_wrong_count",
        &["--block 256 --arg slice:u32[256]=iota --arg u32[256]"],
    ),
];

/// A trace that a page embeds.
pub(crate) struct Trace {
    /// The page, without `.html`.
    pub(crate) name: &'static str,
    /// The words after `blockwise trace`.
    pub(crate) words: &'static str,
}

const fn trace(name: &'static str, words: &'static str) -> Trace {
    Trace { name, words }
}

/// Small launches: a reader steps through them.
pub(crate) const TRACES: &[Trace] = &[
    trace("covering", "conv --len 700 --taps 5 --kernel direct"),
    trace("reverse", "reverse --len 512 --kernel static"),
    trace("dynamic", "reverse --len 512 --kernel dynamic"),
    trace("naive", "transpose --rows 64 --cols 64 --kernel naive"),
    trace("tiled", "transpose --rows 64 --cols 64 --kernel tiled"),
    trace(
        "padded",
        "transpose --rows 64 --cols 64 --kernel tiled,padded",
    ),
    trace("trees", "sum --len 2048 --kernel interleaved,tree"),
    trace("shuffle", "sum --len 2048 --kernel shuffle"),
    trace("single", "sum --len 8192 --kernel single"),
    trace("wide", "sum --len 8192 --kernel wide"),
    trace("halo", "conv --len 700 --taps 9 --kernel tiled"),
    trace(
        "matmul",
        "matmul --rows 32 --inner 32 --cols 32 --kernel tiled",
    ),
    trace(
        "registers",
        "matmul --rows 64 --inner 32 --cols 64 --kernel register-tile",
    ),
    trace(
        "pipelined",
        "matmul --rows 64 --inner 64 --cols 64 --kernel pipelined",
    ),
];
