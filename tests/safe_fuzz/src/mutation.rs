//! Does the fuzzer see what it is there for? Barriers are taken out of the PTX of good kernels,
//! each place of the library in turn.
//!
//! A place is a line of source that waits: `ring.rs:72`. LLVM writes the chain of inlined calls
//! beside each instruction, so the kernels are built once and not once for each mistake.

use crate::batch::Built;
use crate::generate::Kernel;
use std::collections::BTreeMap;
use std::path::Path;

/// What calls a barrier in the library and in the functions that generated kernels share.
const CALL: &str = "block.sync_threads(";

/// The files that may hold the library's barriers, from the workspace's folder.
const SOURCES: [&str; 2] = ["crates/cuda_std/src/block", "tests/safe_fuzz/kernels/src"];

/// Good kernels without the barriers of one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The file's name and the line.
    pub place: String,
    /// The kernels that had one there.
    pub kernels: Vec<Kernel>,
    /// The text without them.
    pub ptx: String,
}

/// Every place where the library waits, in order.
///
/// # Panics
/// When a source file cannot be read.
pub fn places() -> Vec<String> {
    let mut found = Vec::new();
    for folder in SOURCES {
        let folder = crate::batch::root().join(folder);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{error}"));
        for file in entries.flatten().map(|entry| entry.path()) {
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}"));
            let lines = text.lines().enumerate().filter(|(_, line)| waits(line));
            found.extend(lines.map(|(index, _)| place(&file, index + 1)));
        }
    }
    found.sort();
    found
}

/// Whether the line's code waits: words of the compiler's errors and comments quote the call, too.
fn waits(line: &str) -> bool {
    let code = line.split(['"', '`']).next().unwrap_or_default();
    let code = code.split("//").next().unwrap_or_default();
    code.contains(CALL)
}

fn place(file: &Path, line: usize) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}:{line}")
}

/// One mutant for each place where these kernels wait, the library's and their own.
pub fn mutants(built: &Built) -> Vec<Mutant> {
    let mut barriers: BTreeMap<String, Vec<(usize, &str)>> = BTreeMap::new();
    let (mut entry, mut position) = ("", "");
    for (index, line) in built.ptx.lines().enumerate() {
        let code = line.trim_start();
        if let Some((_, name)) = line.split_once(".entry ") {
            entry = name.trim_end_matches('(');
        } else if line.contains(".func ") {
            entry = "";
        } else if code.starts_with(".loc") {
            position = code;
        } else if code.starts_with("bar.sync")
            && let Some(place) = waiting(position)
        {
            barriers.entry(place).or_default().push((index, entry));
        }
    }
    let mutant = |(place, barriers): (String, Vec<(usize, &str)>)| {
        let mut lines: Vec<_> = built.ptx.lines().collect();
        for &(index, _) in &barriers {
            lines[index] = "";
        }
        // A function that is not inlined may be anybody's.
        let waits = |kernel: &&Kernel| {
            (barriers.iter()).any(|(_, entry)| entry.is_empty() || *entry == kernel.name)
        };
        Mutant {
            place,
            kernels: built.kernels.iter().filter(waits).cloned().collect(),
            ptx: lines.join("\n") + "\n",
        }
    };
    barriers.into_iter().map(mutant).collect()
}

/// The line that called `Block::sync_threads`, from the comment of a `.loc`:
/// `thread.rs:200:14 @[ threads.rs:132:9 @[ ring.rs:72:15 …`.
fn waiting(loc: &str) -> Option<String> {
    let (_, chain) = loc.split_once("// ")?;
    let mut frames = chain.split(" @[ ");
    let mut frame = frames.find(|frame| frame.contains("block/threads.rs:"))?;
    frame = frames.next().unwrap_or(frame);
    let mut parts = frame
        .trim_end_matches([' ', ']'])
        .rsplit('/')
        .next()?
        .split(':');
    let (file, line) = (parts.next()?, parts.next()?.parse().ok()?);
    Some(place(Path::new(file), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_belongs_to_the_line_that_waits() {
        let inlined = ".loc\t4 200 14  // a/src/thread.rs:200:14 @[ a/src/block/threads.rs:132:9 @[ a/src/block/ring.rs:72:15 @[ k.rs:5:1 ] ] ]";
        assert_eq!(waiting(inlined).as_deref(), Some("ring.rs:72"));
        assert_eq!(waiting(".loc\t3 7 1  // k.rs:7:1"), None);
    }

    #[test]
    fn words_about_a_barrier_are_no_place() {
        assert!(waits(
            "        block.sync_threads(()); // `block.sync_threads(())`"
        ));
        for words in [
            "    message = \"a block's barrier is `block.sync_threads(written)`\",",
            "    /// The round ends with `block.sync_threads(loaded)`.",
            "        self, // in a loop: tile = block.sync_threads(loaded);",
            "    label = \"write: `block.sync_threads(())`\"",
        ] {
            assert!(!waits(words), "{words}");
        }
    }

    #[test]
    fn the_librarys_places_are_found() {
        let places = places();
        for file in ["ring.rs", "scratch.rs", "shared.rs", "slots.rs", "lib.rs"] {
            assert!(
                places.iter().any(|place| place.starts_with(file)),
                "{places:?}"
            );
        }
    }
}
