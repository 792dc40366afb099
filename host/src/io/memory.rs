//! How much memory an input may take. Linux grants more memory than it has and later kills the
//! process that uses it, so an input that is endless or too long is refused first.

use std::fs;

use super::Format;
use super::error::Problem;

/// The most bytes of an input held as a whole. Half of the memory is left for results; CSV gets a
/// quarter, because its text and its numbers are held at the same time.
pub(super) fn most(format: Format) -> u64 {
    available() / if format == Format::Csv { 4 } else { 2 }
}

/// The error for an input of more than `most` bytes.
pub(super) fn too_long(most: u64, what: &str, hint: &'static str) -> Problem {
    let mib = most >> 20;
    Problem::new(format!(
        "{what} longer than the {mib} MiB that there is memory for"
    ))
    .hint(hint)
}

/// Bytes that this process can still allocate: the least that the machine, the container and the
/// limit of its address space leave, as far as they are known.
pub(super) fn available() -> u64 {
    const KIB: u64 = 1 << 10;
    let number = |path: &str, name: &str| number(&fs::read_to_string(path).ok()?, name);
    let machine = number("/proc/meminfo", "MemAvailable:").map(|kib| kib * KIB);
    // The page cache can be reclaimed, so only anonymous memory counts.
    let container = number("/sys/fs/cgroup/memory.max", "").map(|most| {
        most.saturating_sub(number("/sys/fs/cgroup/memory.stat", "anon ").unwrap_or(0))
    });
    let addresses = number("/proc/self/limits", "Max address space")
        .map(|most| most.saturating_sub(number("/proc/self/status", "VmSize:").unwrap_or(0) * KIB));
    let known = [machine, container, addresses].into_iter().flatten();
    known.min().unwrap_or(u64::MAX)
}

/// The number after a name.
fn number(text: &str, name: &str) -> Option<u64> {
    let after = &text[text.find(name)? + name.len()..];
    after.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names() {
        assert_eq!(
            number("MemFree:  7 kB\nMemAvailable:   12 kB\n", "MemAvailable:"),
            Some(12)
        );
        assert_eq!(number("34\n", ""), Some(34));
        assert_eq!(number("max\n", ""), None);
        let limits = "Max address space         unlimited            unlimited            bytes";
        assert_eq!(number(limits, "Max address space"), None);
        assert_eq!(number("VmSize:", "VmSize:"), None);
        assert_eq!(number("", "VmSize:"), None);
    }
}
