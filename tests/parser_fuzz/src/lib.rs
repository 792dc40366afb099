//! Hostile bytes for every parser of foreign bytes: PTX and its debug information, files, the
//! debugger's protocol, what ranks of a mesh send, pages of `blockwise trace`, and the environment
//! of a launcher. Nothing may panic, abort or hang, and none may take more memory than 64 MiB and
//! four times its input.
//!
//! A target returns in a few words what became of an input, such as the error without its numbers.
//! An input with a new outcome is kept and changed further: the corpora hold one input for each
//! of the first outcomes. `cargo run -p parser_fuzz --example fuzz_parsers -- TARGET SECONDS` fuzzes;
//! the test runs what is kept, and some thousand changes of it.

pub mod limit;
pub mod mutate;
mod rng;
pub mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rng::Rng;
use targets::Target;

/// Bytes of an input, at most.
pub const LONGEST: usize = 1 << 16;

/// Bytes of an input that is kept in the repository, and inputs of a target there, at most.
const KEPT: usize = 2048;
const MOST_KEPT: usize = 48;

/// Panics of any thread since the start.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics of all threads from here on.
pub fn count_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Relaxed);
        usual(panic);
    }));
}

/// Runs an input: its outcome, or that it has panicked.
pub fn run(target: &Target, input: &[u8]) -> Result<String, String> {
    let before = PANICS.load(Relaxed);
    let outcome = limit::within(input.len(), || {
        // Targets keep nothing from one input to the next.
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (target.run)(input)))
    });
    match outcome {
        Ok(outcome) if PANICS.load(Relaxed) == before => Ok(in_few_words(&outcome)),
        _ => Err(format!("{}: a panic", target.name)),
    }
}

/// The first words of an error, without what depends on the input: numbers, what is quoted, and
/// whatever is no plain word.
fn in_few_words(text: &str) -> String {
    let plain = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b',')
    };
    let words = text.split_whitespace().filter(plain);
    words.take(12).collect::<Vec<_>>().join(" ")
}

/// The inputs of a target that are in the repository.
pub fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder(target)) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    paths.sort();
    let read = |path: PathBuf| std::fs::read(path).ok();
    paths.into_iter().filter_map(read).collect()
}

fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name)
}

/// A run of one target.
pub struct Fuzzer {
    target: &'static Target,
    rng: Rng,
    inputs: Vec<Vec<u8>>,
    outcomes: BTreeSet<String>,
    /// Keeps inputs with new outcomes in the repository.
    keeps: bool,
    /// Inputs that were run.
    pub runs: u64,
}

impl Fuzzer {
    /// Starts from seeds and corpus.
    pub fn new(target: &'static Target, seed: u64, keeps: bool) -> Self {
        let mut inputs = (target.seeds)();
        inputs.extend(corpus(target));
        Self {
            target,
            rng: Rng::new(seed),
            inputs,
            outcomes: BTreeSet::new(),
            keeps,
            runs: 0,
        }
    }

    /// The outcomes so far.
    pub fn outcomes(&self) -> usize {
        self.outcomes.len()
    }

    /// Runs seeds and corpus as they are.
    ///
    /// # Errors
    /// The input that has panicked.
    pub fn known(&mut self, before: &mut dyn FnMut(&[u8])) -> Result<(), Vec<u8>> {
        for input in self.inputs.clone() {
            before(&input);
            let outcome = run(self.target, &input).map_err(|_| input)?;
            self.outcomes.insert(outcome);
            self.runs += 1;
        }
        Ok(())
    }

    /// Runs a changed input. `before` sees it first.
    ///
    /// # Errors
    /// The input, if it has panicked.
    pub fn step(&mut self, before: &mut dyn FnMut(&[u8])) -> Result<(), Vec<u8>> {
        let input = mutate::changed(&mut self.rng, &self.inputs, self.target.words);
        before(&input);
        self.runs += 1;
        match run(self.target, &input) {
            Err(_) => Err(input),
            Ok(outcome) => {
                if self.outcomes.insert(outcome) {
                    self.keep(&input);
                    self.inputs.push(input);
                }
                Ok(())
            }
        }
    }

    fn keep(&self, input: &[u8]) {
        if !self.keeps || input.len() > KEPT || corpus(self.target).len() >= MOST_KEPT {
            return;
        }
        let folder = folder(self.target);
        let name = format!("{:016x}", rng::hash(input));
        // Without it the input is found again.
        let _ = std::fs::create_dir_all(&folder);
        let _ = std::fs::write(folder.join(name), input);
    }
}
