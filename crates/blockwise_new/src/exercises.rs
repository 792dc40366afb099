//! The exercises of the book, as `blockwise new --exercises` writes them. Their solutions stay in
//! the checkout.

/// Files of the folder `exercises`, each with its contents.
macro_rules! files {
    ($($file:literal,)*) => {
        &[$(($file, include_str!(concat!("../exercises/", $file)))),*]
    };
}

/// The project's files.
pub(crate) const FILES: &[(&str, &str)] = files![
    "README.md",
    "src/lib.rs",
    "src/e01_threads.rs",
    "src/e02_covering.rs",
    "src/e03_barrier.rs",
    "src/e04_dynamic.rs",
    "src/e05_coalescing.rs",
    "src/e06_turning.rs",
    "src/e07_banks.rs",
    "src/e08_tree.rs",
    "src/e09_warps.rs",
    "src/e10_atomics.rs",
    "src/e11_wide_loads.rs",
    "src/e12_halo.rs",
    "src/e13_everyone.rs",
    "src/e14_tiles.rs",
    "src/e15_registers.rs",
    "src/e16_copies.rs",
    "tests/common/mod.rs",
    "tests/e01_threads.rs",
    "tests/e02_covering.rs",
    "tests/e03_barrier.rs",
    "tests/e04_dynamic.rs",
    "tests/e05_coalescing.rs",
    "tests/e06_turning.rs",
    "tests/e07_banks.rs",
    "tests/e08_tree.rs",
    "tests/e09_warps.rs",
    "tests/e10_atomics.rs",
    "tests/e11_wide_loads.rs",
    "tests/e12_halo.rs",
    "tests/e13_everyone.rs",
    "tests/e14_tiles.rs",
    "tests/e15_registers.rs",
    "tests/e16_copies.rs",
];

/// The exercises in order, by their files' names: `e01_threads`.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let sources = FILES
        .iter()
        .filter_map(|(file, _)| file.strip_prefix("src/"));
    let names = sources.filter_map(|file| file.strip_suffix(".rs"));
    names.filter(|name| *name != "lib")
}
