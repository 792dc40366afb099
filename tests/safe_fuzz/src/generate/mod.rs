//! A random safe kernel, made of statements that a user could write.
//!
//! A kernel is decided by its seed and its number of statements, so a smaller one for the same seed
//! is found by trying fewer statements. Nearly all are right; some wait where threads may have gone
//! different ways, which is for the builder to refuse.

mod arrays;
mod element;
mod expression;
mod launch;
mod memory;
mod parameters;
mod statement;
mod travel;

pub use launch::{Argument, Launch};

use crate::rng::Rng;
use element::{Element, Form};
use std::fmt::Write;

/// How a kernel is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Safe: its barriers are checked.
    Safe,
    /// The same as an `unsafe fn` whose barriers are not checked.
    Unchecked,
}

/// A random kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What decides it.
    pub seed: u64,
    /// At most N statements.
    pub statements: usize,
    /// Its name in the PTX.
    pub name: String,
    /// Whether its threads may panic.
    pub panics: bool,
    /// Its launches.
    pub launches: Vec<Launch>,
    /// The lengths of the dynamic arrays.
    lengths: Vec<String>,
    parameters: Vec<String>,
    body: String,
}

impl Kernel {
    /// The kernel of a seed.
    pub fn new(seed: u64, statements: usize) -> Self {
        let mut generator = Generator::new(seed, statements);
        generator.parameters();
        generator.body();
        generator.kernel
    }

    /// Its text.
    pub fn source(&self, style: Style) -> String {
        let mut options = Vec::new();
        if !self.lengths.is_empty() {
            options.push(format!("shared({})", self.lengths.join(", ")));
        }
        let unsafety = match style {
            Style::Safe => "",
            Style::Unchecked => {
                options.push("allow_divergence = \"to see whether it is\"".to_owned());
                "unsafe "
            }
        };
        format!(
            "#[kernel({})]\npub {unsafety}fn {}({}) {{\n{}}}\n",
            options.join(", "),
            self.name,
            self.parameters.join(", "),
            self.body
        )
    }
}

/// A shared array in the kernel that is being written.
#[derive(Clone, Debug)]
struct Array {
    /// The variable that holds it now.
    variable: String,
    form: Form,
    element: Element,
    state: State,
    /// The number of elements is at least the block's threads, whatever the launch.
    has_slots: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shared,
    Written,
    Published,
    Refill,
    Ring,
    /// Moved away, or a view of it is in scope.
    Away,
}

/// An output.
#[derive(Clone, Debug)]
enum Output {
    Strided(String, Element),
    FromEnd(String, Element),
    PerBlock(String, Element),
    /// Several elements of a tile for each thread.
    Several(String, Element),
    Matrix {
        variable: String,
        element: Element,
        rows: usize,
        cols: usize,
    },
    Atomics(String),
}

/// Writes a kernel. Variables of generated code that hold numbers are `u32`.
struct Generator {
    rng: Rng,
    kernel: Kernel,
    /// Statements that may still be written.
    left: usize,
    indent: usize,
    /// The number of names given.
    names: usize,
    /// Numbers that all threads of a block have alike.
    uniform: Vec<String>,
    /// The other ones.
    divergent: Vec<String>,
    /// Variables among them that may be assigned: name, and whether it is uniform.
    variables: Vec<(String, bool)>,
    inputs: Vec<String>,
    matrices: Vec<String>,
    arrays: Vec<Array>,
    /// References to whole arrays in scope.
    views: Vec<(String, Form)>,
    scratches: Vec<(String, Element)>,
    outputs: Vec<Output>,
    /// The threads of the block, where its type says them.
    constant_threads: Option<usize>,
    /// Threads of the block may have gone different ways here.
    split: bool,
    /// A closure that is called several times: nothing can be moved.
    in_closure: bool,
    /// Nested blocks.
    depth: usize,
    /// In how many of 100 cases a barrier is written where threads may have gone different ways.
    misplaced: usize,
    /// Barriers are written behind numbers that may differ, for the builder to refuse.
    traps: bool,
    /// Threads may panic.
    may_panic: bool,
}

impl Generator {
    fn new(seed: u64, statements: usize) -> Self {
        let mut rng = Rng::new(seed);
        let misplaced = if rng.chance(25) { 12 } else { 0 };
        let traps = rng.chance(40);
        let may_panic = rng.chance(10);
        Self {
            rng,
            kernel: Kernel {
                seed,
                statements,
                name: format!("k_{seed:x}_{statements}"),
                panics: false,
                launches: Vec::new(),
                lengths: Vec::new(),
                parameters: Vec::new(),
                body: String::new(),
            },
            left: statements,
            indent: 1,
            names: 0,
            uniform: Vec::new(),
            divergent: Vec::new(),
            variables: Vec::new(),
            inputs: Vec::new(),
            matrices: Vec::new(),
            arrays: Vec::new(),
            views: Vec::new(),
            scratches: Vec::new(),
            outputs: Vec::new(),
            constant_threads: None,
            split: false,
            in_closure: false,
            depth: 0,
            misplaced,
            traps,
            may_panic,
        }
    }

    fn body(&mut self) {
        self.line("let t = block.thread() as u32;");
        self.line("let b = block.index() as u32;");
        self.line("let threads = block.threads() as u32;");
        self.uniform.extend(["b".to_owned(), "threads".to_owned()]);
        self.divergent.push("t".to_owned());
        self.line("let mut sum = t;");
        self.divergent.push("sum".to_owned());
        self.variables.push(("sum".to_owned(), false));
        self.roles();
        while self.left > 0 {
            self.statement();
        }
        self.store_sums();
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let indent = 4 * self.indent;
        // Writing to a string cannot fail.
        let _ = writeln!(self.kernel.body, "{:indent$}{}", "", text.as_ref());
    }

    fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }
}
