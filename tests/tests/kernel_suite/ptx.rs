//! What the kernels' PTX must look like, whatever the compiler does: entry points and parameters as
//! the host launches them, shared memory accessed as such, and each barrier of the source exactly
//! once.

use std::collections::{BTreeMap, BTreeSet};

use blockwise_ops::{OPERATIONS, Variant};
use blockwise_tests::ptx::{Entry, entries, files, good};
use kernels::conv1d::{blocked, window};
use kernels::matmul::{self, few_cols, register_tile, short};
use kernels::reduce::{axis, warps::SLOTS};
use kernels::transpose::{aligned, packs, quads, thin};
use kernels::{reverse, transpose};
use ladder::{aligned_narrow, fft_radix2 as radix2};

mod held;

/// What an entry point is expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expected {
    /// Parameters, all of 64 bits: a slice is two, a matrix three.
    params: usize,
    /// Barriers in the source, of the block and of a warp.
    barriers: usize,
    static_shared_bytes: u64,
    dynamic_shared: bool,
}

impl Expected {
    fn new(params: usize, barriers: usize) -> Self {
        Expected {
            params,
            barriers,
            static_shared_bytes: 0,
            dynamic_shared: false,
        }
    }

    fn dynamic(self) -> Self {
        Expected {
            dynamic_shared: true,
            ..self
        }
    }

    fn fixed(self, static_shared_bytes: u32) -> Self {
        Expected {
            static_shared_bytes: static_shared_bytes.into(),
            ..self
        }
    }
}

/// The kernels as the host knows them.
fn table() -> BTreeMap<String, Expected> {
    let mut table = BTreeMap::new();
    let mut add = |name: String, expected| assert_eq!(table.insert(name, expected), None);

    add(
        "conv1d_block_per_output_f64".into(),
        Expected::new(8, 2).dynamic(),
    );
    add(
        "conv1d_block_per_output_raw_f64".into(),
        Expected::new(5, 2).dynamic(),
    );
    add("peak_fma_f32".into(), Expected::new(3, 0));
    for (shape, passes) in [
        ("2048_f32", 3),
        ("4096_f32", 3),
        ("4096_ungapped_f32", 3),
        ("4096_wide_f64", 3),
        ("8192_f32", 3),
        ("16384_f32", 3),
    ] {
        // A barrier between passes, there and back; one before each level, two in its loop over
        // steps, and one before direct sums.
        let barriers = 2 * (passes - 1) + 1 + 2 + 1;
        // Of a signal, and of rows.
        let [signal, rows] = [12, 15].map(|params| Expected::new(params, barriers).dynamic());
        let of_rows = ["4096_wide_f64", "8192_f32", "16384_f32"].contains(&shape);
        add(
            format!("conv1d_fft{shape}"),
            if of_rows { rows } else { signal },
        );
        if shape == "2048_f32" {
            add("conv1d_fft2048_rows_f32".into(), rows);
        }
        let there = Expected::new(7, passes - 1);
        add(format!("conv1d_taps_fft{shape}"), there.dynamic());
    }
    let two_arrays = (2 * radix2::POINTS * size_of::<[f32; 2]>()) as u32;
    // LLVM takes the first round out of the loop over steps: its two barriers are there twice.
    let radix2 = Expected::new(11, 7 + 4).fixed(two_arrays);
    add("conv1d_fft_radix2".into(), radix2);
    let taps = Expected::new(6, 3 + 2).fixed(two_arrays);
    add("conv1d_taps_fft_radix2".into(), taps);
    for shape in [
        "2048_f32",
        "4096_f32",
        "4096_wide_f64",
        "8192_f32",
        "16384_f32",
    ] {
        add(
            format!("conv1d_fft_rows{shape}"),
            Expected::new(8, 4).dynamic(),
        );
        // One before each level, two in each of its loops over steps, one before direct sums, and one
        // before the next pair.
        add(
            format!("conv1d_fft_outputs{shape}"),
            Expected::new(24, 1 + 2 * 2 + 1 + 1).dynamic(),
        );
    }
    for t in ["f32", "wide_f64"] {
        add(format!("conv1d_fft_columns_{t}"), Expected::new(19, 0));
    }
    for (t, bytes) in [("f32", 4), ("f64", 8)] {
        add(format!("conv1d_tiled_{t}"), Expected::new(8, 2).dynamic());
        add(
            format!("conv1d_tiled_raw_{t}"),
            Expected::new(7, 2).dynamic(),
        );
        add(format!("conv1d_direct_{t}"), Expected::new(7, 0));
        let of = |bytes_of: [usize; 2]| bytes_of[bytes as usize / 8] as u32;
        let window = [window::shared_bytes::<f32>(), window::shared_bytes::<f64>()];
        add(
            format!("conv1d_window_{t}"),
            Expected::new(7, 4).fixed(of(window)),
        );
        add(
            format!("conv1d_rows_{t}"),
            Expected::new(13, 5).fixed(of(window)),
        );
        let blocked = [
            blocked::shared_bytes::<f32>(),
            blocked::shared_bytes::<f64>(),
        ];
        add(
            format!("conv1d_blocked_{t}"),
            Expected::new(7, 4).fixed(of(blocked)),
        );
        add(format!("matmul_naive_{t}"), Expected::new(9, 0));
        let tiles = 2 * matmul::TILE * matmul::TILE * bytes;
        add(
            format!("matmul_tiled_{t}"),
            Expected::new(9, 2).fixed(tiles),
        );
        if t == "f32" {
            let raw = Expected::new(8, 2).fixed(tiles);
            add("matmul_tiled_raw_f32".into(), raw);
        }
        let tiles = 2 * register_tile::DEPTH * (register_tile::SIDE + 1) * bytes;
        add(
            format!("matmul_register_tile_{t}"),
            Expected::new(9, 2).fixed(tiles),
        );
    }
    let pipelined = Expected::new(13, 3).dynamic();
    add("matmul_pipelined_f32".into(), pipelined);
    for (cut, rows) in [("tall", 8), ("square", 8), ("small", 8), ("flat", 4)] {
        for ragged in ["", "ragged"] {
            let name = format!("matmul_sliced_{cut}{ragged}_f32");
            // The largest tiles have a pitch of A and ranges too.
            let params = if cut == "tall" { 16 } else { 13 };
            // Two for each row of a thread: a warp rearranges them.
            add(name, Expected::new(params, 3 + 2 * rows).dynamic());
        }
    }
    let single = ["squareragged", "tallragged", "smallragged"];
    for tiles in ["square", "tall", "large", "small", "flat", "slim"]
        .into_iter()
        .chain(single)
    {
        let name = format!("matmul_mma_{tiles}_f64");
        add(name, Expected::new(15, 2).dynamic());
    }
    for t in ["f32", "f64"] {
        // Slots for each warp's columns and four rows; a word for the last block.
        let slots = matmul::thin::THREADS / 32 * 4 * matmul::thin::MOST_BYTES as u32;
        let thin = Expected::new(16, 4).fixed(slots + 4);
        add(format!("matmul_thin_{t}"), thin);
        let (few, one) = if t == "f32" { (4, 2) } else { (3, 1) };
        for (name, paths) in [("few_cols", few), ("one_col", one)] {
            let cols = Expected::new(16, 4 * paths).fixed(few_cols::THREADS * 2 * 8 + 4);
            add(format!("matmul_{name}_{t}"), cols);
        }
    }
    for tiles in ["small", "square", "wide", "narrow"] {
        let direct = Expected::new(17, 4).fixed(4).dynamic();
        add(format!("matmul_direct_{tiles}_f64"), direct);
    }
    let narrow = Expected::new(15, 12).fixed(4).dynamic();
    add("matmul_narrow_f32".into(), narrow);
    let rows = Expected::new(15, 24).fixed(4).dynamic();
    add("matmul_few_rows_f32".into(), rows);
    for t in ["f32", "f64"] {
        // A block's rows of A, in words of eight bytes. Each has two forms, by the inner extent.
        for (name, depth) in [("", short::DEPTH), ("_deep", short::DEEPEST)] {
            let of_a = (short::HIGHEST * depth * 8) as u32;
            let expected = Expected::new(12, 4).fixed(of_a);
            add(format!("matmul_short{name}_{t}"), expected);
        }
        // Two barriers in each form of loads.
        add(format!("matmul_small_{t}"), Expected::new(13, 4).dynamic());
        add(format!("matmul_fold_{t}"), Expected::new(5, 0));
    }
    add("matmul_pitch_f32".into(), Expected::new(11, 0));
    add("matmul_split_f32".into(), Expected::new(13, 0));
    for (t, bytes, of_sums) in [("i64", 8, 8), ("f32", 4, 8), ("f64", 8, 16)] {
        for (operation, params) in [("dot", 5), ("sum", 4), ("extreme", 4)] {
            let bytes = match operation {
                "dot" | "sum" => of_sums,
                _ => bytes,
            };
            // The slots and the partial results have lengths.
            // The documents' have no doubles.
            let trees = [("interleaved", 2), ("tree", 2), ("tree_raw", 0)];
            // Integers have dot products.
            let documented = t == "f32" || t == "i64" && operation == "dot";
            for (kernel, more) in trees.into_iter().filter(|_| documented) {
                add(
                    format!("{operation}_{kernel}_{t}"),
                    Expected::new(params + more, 1).dynamic(),
                );
            }
            add(
                format!("{operation}_shuffle_{t}"),
                Expected::new(params + 1, 1).fixed(2 * 32 * bytes),
            );
            if operation != "dot" {
                // Two folds of a block have two barriers each, the ticket two, and lines of several
                // warps, which have slots of their own, two.
                let slots = axis::THREADS + axis::THREADS / 32;
                let expected = Expected::new(16, 8).fixed(slots * 16 + 4);
                add(format!("{operation}_axis_{t}"), expected);
            }
            // Sums next to an anchor are folded by themselves.
            let wide = 1 + usize::from(operation != "extreme" && t == "f64");
            // `single` has a ticket.
            for (kernel, barriers, more) in [("wide", wide, 1), ("single", 2, 3), ("single8", 2, 3)]
            {
                add(
                    format!("{operation}_{kernel}_{t}"),
                    Expected::new(params + more, barriers).fixed(SLOTS * 16),
                );
            }
        }
    }
    for (t, bytes) in [("u32", 4), ("u64", 8)] {
        let tile = transpose::TILE * transpose::TILE * bytes;
        let padding = transpose::TILE * bytes;
        add(format!("transpose_naive_{t}"), Expected::new(6, 0));
        add(
            format!("transpose_tiled_{t}"),
            Expected::new(6, 4).fixed(tile),
        );
        let padded = [("padded", 6, 4), ("padded_raw", 5, 2)];
        // In rust-cuda's form there are words of four bytes only.
        let has = |kernel: &str| t == "u32" || !kernel.ends_with("_raw");
        for (kernel, params, barriers) in padded.into_iter().filter(|it| has(it.0)) {
            add(
                format!("transpose_{kernel}_{t}"),
                Expected::new(params, barriers).fixed(tile + padding),
            );
        }
        for (tile, name) in [(aligned::TILE, ""), (aligned_narrow::TILE, "_narrow")] {
            let slots = [tile.slots::<u32>(), tile.slots::<u64>()][bytes as usize / 8];
            add(
                format!("transpose_aligned{name}_{t}"),
                Expected::new(6, 2).fixed(slots * bytes),
            );
        }
        let slots = [thin::slots::<u32>(), thin::slots::<u64>()][bytes as usize / 8];
        let name = format!("transpose_thin_{t}");
        add(name, Expected::new(6, 2).fixed(slots * bytes));
        let slots = [packs::slots::<u32>(), packs::slots::<u64>()][bytes as usize / 8];
        let name = format!("transpose_packs_{t}");
        add(name, Expected::new(6, 2).fixed(slots * bytes));
        for (tile, name) in [
            (quads::Tile::Square, "quads"),
            (quads::Tile::Short, "thin_quads"),
        ] {
            let shared = [tile.shared_bytes::<u32>(), tile.shared_bytes::<u64>()];
            let expected = Expected::new(6, 2).fixed(shared[bytes as usize / 8]);
            add(format!("transpose_{name}_{t}"), expected);
        }
        add(format!("reverse_direct_{t}"), Expected::new(4, 0));
    }
    for (kernel, params, barriers) in [("static", 4, 3), ("static_raw", 3, 2)] {
        let expected = Expected::new(params, barriers).fixed(reverse::THREADS * 4);
        add(format!("reverse_{kernel}_u32"), expected);
    }
    for (kernel, params, barriers) in [("dynamic", 5, 3), ("dynamic_raw", 3, 2)] {
        let expected = Expected::new(params, barriers).dynamic();
        add(format!("reverse_{kernel}_u32"), expected);
    }
    for (t, bytes) in [("u8", 1), ("u16", 2)] {
        let tile = transpose::TILE * (transpose::TILE + 1) * bytes;
        let padded = Expected::new(6, 4).fixed(tile);
        add(format!("transpose_padded_{t}"), padded);
        add(format!("reverse_direct_{t}"), Expected::new(4, 0));
    }
    table
}

/// What is known of an entry point: all of it, or of an operation's kernels what the host's build
/// saw.
fn parameters_of(entry: &str) -> Option<usize> {
    let all = (OPERATIONS.iter())
        .flat_map(|of| ladder::variants(of))
        .flat_map(|it| it.kernels);
    let mut described = all.filter(|kernel| kernel.entry.name == entry);
    let described = described
        .next()
        .map(|kernel| kernel.entry.parameter_bytes.len());
    described.or(table().get(entry).map(|expected| expected.params))
}

/// Calls `check` for every kernel of every architecture that was built.
#[track_caller]
fn for_each_entry(check: impl Fn(&str, &Entry)) {
    for file in good() {
        for entry in entries(&file.text) {
            let place = format!("{} of {}", entry.name, file.origin);
            check(&place, &entry);
        }
    }
}

#[test]
fn the_entry_points_are_those_that_the_host_launches() {
    let names = |variants: Vec<&Variant>| -> BTreeSet<String> {
        let kernels = variants.into_iter().flat_map(|variant| variant.kernels);
        kernels.map(|kernel| kernel.entry.name.to_owned()).collect()
    };
    let mut of_ladder = names(ladder::STEPS.to_vec());
    of_ladder.insert("peak_fma_f32".into());
    let mut product = names(
        OPERATIONS
            .iter()
            .flat_map(|of| of.variants)
            .copied()
            .collect(),
    );
    product.extend(table().into_keys().filter(|name| !of_ladder.contains(name)));
    for (stem, expected) in [("kernels", product), ("ladder", of_ladder)] {
        for file in files(stem) {
            // Tensor cores multiply with instructions of compute capability 9.0.
            let all = expected
                .iter()
                .filter(|&name| file.origin.contains("sm_90a") || name != "matmul_tensor_f32");
            let expected: Vec<_> = all.cloned().collect();
            let mut names: Vec<_> = entries(&file.text)
                .into_iter()
                .map(|entry| entry.name)
                .collect();
            names.sort();
            assert_eq!(names, expected, "{}", file.origin);
        }
    }
}

#[test]
fn parameters_are_64_bits_each_and_slices_are_two() {
    for_each_entry(|place, entry| {
        let known = parameters_of(&entry.name).unwrap_or(0);
        assert_eq!(entry.params, vec!["u64"; known], "{place}");
    });
}

/// Where a tile is filled again and again, its first time is peeled off the loop: it has no barrier
/// before it, and the barrier after it is there twice.
#[test]
fn no_barrier_of_the_source_is_lost() {
    let table = table();
    for_each_entry(|place, entry| {
        let barriers = entry.count("bar.") + entry.count("barrier.");
        // The detectors find one that is lost, too.
        if let Some(expected) = table.get(&entry.name) {
            assert_eq!(barriers, expected.barriers, "{place}");
        }
    });
}

#[test]
fn shared_arrays_have_their_size_and_are_accessed_as_shared_memory() {
    let table = table();
    for_each_entry(|place, entry| {
        let Some(expected) = table.get(&entry.name) else {
            return;
        };
        assert_eq!(
            entry.static_shared_bytes, expected.static_shared_bytes,
            "{place}"
        );
        assert_eq!(
            entry.mentions("cuda_std_dynamic_shared"),
            expected.dynamic_shared,
            "{place}"
        );
        let uses = expected.dynamic_shared || expected.static_shared_bytes > 0;
        let stores = entry.count("st.shared.") + entry.count("cp.async.c");
        assert_eq!(stores > 0, uses, "{place}");
        assert_eq!(entry.count("ld.shared.") > 0, uses, "{place}");
    });
}

/// A generic access works, but slower, and only if a chain of compiler passes kept it right.
/// `cuda_std`'s atomics with a scope, of which a block makes few, are generic.
#[test]
fn every_access_names_its_memory() {
    for_each_entry(|place, entry| {
        for line in &entry.instructions {
            let opcode = line.split(' ').next().unwrap_or_default();
            let space = opcode
                .strip_prefix("ld.")
                .or_else(|| opcode.strip_prefix("st."))
                .or_else(|| opcode.strip_prefix("atom."))
                .filter(|rest| {
                    let orders = ["acq_rel.gpu.", "relaxed.gpu.", "relaxed.sys."];
                    !orders.iter().any(|order| rest.starts_with(order))
                });
            let named = |rest: &str| {
                ["shared.", "global.", "param."]
                    .iter()
                    .any(|space| rest.starts_with(space))
            };
            assert!(space.is_none_or(named), "{place}: {line}");
        }
    });
}

/// The builder has taken out what Rust cannot pass to assembly: `ir/asm_operands.rs`, `guards.rs`.
#[test]
fn assembly_converts_no_address_and_few_conditions() {
    for_each_entry(|place, entry| {
        for space in ["global", "shared"] {
            let conversion = format!("cvta.to.{space}.u64 {space},");
            assert_eq!(entry.count(&conversion), 0, "{place}");
        }
        // Some conditions come from two branches. There were up to 188 in a kernel.
        assert!(entry.count("setp.ne.u32 inside,") <= 6, "{place}");
    });
}

#[test]
fn no_kernel_has_a_stack_calls_a_function_or_panics() {
    for_each_entry(|place, entry| {
        // Scans call what is hardly ever run, so that it does not lie between what is.
        let scans = entry.name.starts_with("scan_once_");
        let called = |line: &str| scans && line.contains("4once7recount");
        for line in entry.instructions.iter().filter(|line| !called(line)) {
            let opcode = line.split(' ').next().unwrap_or_default();
            let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| opcode.starts_with(prefix));
            assert!(!is(&[".local", "call", "trap", "brkpt"]), "{place}: {line}");
            assert!(!line.contains("__local_depot"), "{place}: {line}");
        }
    });
}

/// One rounding for each product and sum, as the source asks: the emulator and every GPU then
/// agree.
#[test]
fn products_are_added_by_fma() {
    for_each_entry(|place, entry| {
        let name = entry.name.as_str();
        let fused = ["conv1d", "matmul", "dot"]
            .iter()
            .any(|family| name.starts_with(family) && !name.contains("block_per_output"));
        // Transforms multiply by constants, and where a product is then added LLVM names its
        // rounding.
        let fused = fused && !name.contains("_fft");
        // Dot products are added in f64, but for those of the documents.
        let widened =
            name.starts_with("dot") && !["tree", "interleaved"].iter().any(|of| name.contains(of));
        let float = ["f32", "f64"].into_iter().find(|t| name.ends_with(t));
        let float = float.map(|t| if widened { "f64" } else { t });
        // These copy or add, and `mma` and `direct` multiply on tensor cores.
        let others = [
            "matmul_split_",
            "matmul_pitch_",
            "matmul_fold_",
            "matmul_mma_",
            "matmul_direct_",
        ];
        let computes = !others.iter().any(|other| name.starts_with(other));
        if let Some(t) = float.filter(|_| fused && computes) {
            assert!(entry.count(&format!("fma.rn.{t}")) > 0, "{place}");
            // By powers of two, which is exact: a block's sum in last places of its anchor.
            let scales = if name == "dot_wide_f64" { 3 } else { 0 };
            let products = entry.count("mul.rn.f") + entry.count("mul.f");
            assert_eq!(products, scales, "{place}");
        }
    });
}
