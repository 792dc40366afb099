//! One target for each parser.

mod debugger;
mod dwarf;
mod environment;
mod files;
mod mesh;
mod pages;
mod ptx;

/// A parser of foreign bytes.
pub struct Target {
    /// Its name on the command line, and its folder in the corpus.
    pub name: &'static str,
    /// Parses an input; in a few words, what becomes of it.
    pub run: fn(&[u8]) -> String,
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that its format has.
    pub words: &'static [&'static str],
    /// Changed inputs that the test runs.
    pub in_test: u64,
}

/// All of them.
pub static TARGETS: [Target; 9] = [
    ptx::TARGET,
    files::NPY,
    files::WAV,
    files::CSV,
    debugger::TARGET,
    dwarf::TARGET,
    mesh::TARGET,
    pages::TARGET,
    environment::TARGET,
];

/// The target of a name.
pub fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
