//! A random safe kernel, made of statements that a user could write.
//!
//! A kernel is decided by its seed and its number of statements, so a smaller one for the same seed
//! is found by trying fewer statements. Nearly all are right; some wait where threads may have gone
//! different ways, which is for the builder to refuse.

mod arrays;
mod contract;
mod disguise;
mod element;
mod expression;
mod launch;
mod memory;
mod parameters;
mod statement;
mod travel;

pub use launch::{Argument, Launch};

use crate::rng::Rng;
use contract::Constant;
use disguise::Disguise;
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
    /// Whether the compiler may refuse it: parameters have names that rules use otherwise.
    pub may_not_compile: bool,
    /// Its launches.
    pub launches: Vec<Launch>,
    constants: Vec<Constant>,
    rules: Vec<String>,
    /// The lengths of the dynamic arrays.
    lengths: Vec<String>,
    parameters: Vec<String>,
    body: String,
    disguise: Disguise,
    /// A macro has a parameter of its own, of the same name as the one that it is called with.
    has_twin: bool,
}

impl Kernel {
    /// The kernel of a seed.
    pub fn new(seed: u64, statements: usize) -> Self {
        let mut generator = Generator::new(seed, statements);
        generator.parameters();
        generator.body();
        generator.disguise();
        generator.kernel
    }

    /// Whether the host sees another contract than the device.
    pub fn differs(&self) -> bool {
        self.constants.iter().any(Constant::differs)
    }

    /// Its text.
    pub fn source(&self, style: Style) -> String {
        let mut options = Vec::new();
        if !self.rules.is_empty() {
            options.push(format!("require({})", self.rules.join(", ")));
        }
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
        let mut text: String = self.constants.iter().map(Constant::text).collect();
        let mut parameters = self.parameters.clone();
        if self.has_twin {
            parameters.insert(2, "TWIN: u32".to_owned());
        }
        text += &contract::attributes(&options.join(", "), &self.constants);
        text += &format!(
            "pub {unsafety}fn {}({}) {{\n{}}}\n",
            self.name,
            parameters.join(", "),
            self.body
        );
        let passed = self.parameters[1].split(':').next().unwrap_or_default();
        self.disguise.text(&text, &self.name, passed)
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
    /// The shortest length of each of them.
    lengths: Vec<(String, usize)>,
    /// Statements that rely on the rules.
    facts: Vec<String>,
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
    /// Constants may be others on the host.
    differs: bool,
}

impl Generator {
    fn new(seed: u64, statements: usize) -> Self {
        let mut rng = Rng::new(seed);
        // Most kernels have nothing to refuse: only those that are built are run.
        let (misplaced, traps) = match rng.below(100) {
            0..8 => (12, false),
            8..22 => (0, true),
            _ => (0, false),
        };
        let may_panic = rng.chance(10);
        let differs = rng.chance(20);
        Self {
            rng,
            kernel: Kernel {
                seed,
                statements,
                name: format!("k_{seed:x}_{statements}"),
                panics: false,
                may_not_compile: false,
                launches: Vec::new(),
                constants: Vec::new(),
                rules: Vec::new(),
                lengths: Vec::new(),
                parameters: Vec::new(),
                body: String::new(),
                disguise: Disguise::None,
                has_twin: false,
            },
            left: statements,
            indent: 1,
            names: 0,
            uniform: Vec::new(),
            divergent: Vec::new(),
            variables: Vec::new(),
            inputs: Vec::new(),
            lengths: Vec::new(),
            facts: Vec::new(),
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
            differs,
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
        for fact in std::mem::take(&mut self.facts) {
            self.line(fact);
        }
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
