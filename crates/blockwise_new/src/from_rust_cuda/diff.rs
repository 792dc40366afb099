//! Unified diffs, as `patch -p1` and `git apply` read them.

use std::fmt::Write as _;

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// The changes between two texts of a file; empty if there are none. A new file has no old text.
pub(super) fn unified(path: &str, old: Option<&str>, new: &str) -> String {
    let old_path = old.map_or("/dev/null".to_owned(), |_| format!("a/{path}"));
    let (old, new) = (split(old.unwrap_or_default()), split(new));
    let steps = steps(&old, &new);
    let mut text = String::new();
    for hunk in hunks(&steps) {
        if text.is_empty() {
            let _ = write!(text, "--- {old_path}\n+++ b/{path}\n");
        }
        let [removed, added] = [Step::Added, Step::Removed]
            .map(|other| hunk.iter().filter(|(step, ..)| *step != other).count());
        let (_, first_old, first_new) = hunk[0];
        // An empty side is named by the line before it.
        let [first_old, first_new] = [(first_old, removed), (first_new, added)]
            .map(|(first, count)| first + usize::from(count > 0));
        let _ = writeln!(text, "@@ -{first_old},{removed} +{first_new},{added} @@");
        for &(step, at_old, at_new) in hunk {
            let (sign, line) = match step {
                Step::Kept => (' ', old[at_old]),
                Step::Removed => ('-', old[at_old]),
                Step::Added => ('+', new[at_new]),
            };
            let _ = write!(text, "{sign}{line}");
            if !line.ends_with('\n') {
                text += "\n\\ No newline at end of file\n";
            }
        }
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Kept,
    Removed,
    Added,
}

/// A step, and how many lines of either text come before it.
type At = (Step, usize, usize);

/// Lines with their ends.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The shortest way from one text to the other, after Myers: `ends[d]` has, for each diagonal, how
/// far `d` changes reach.
fn steps(old: &[&str], new: &[&str]) -> Vec<At> {
    let (rows, columns) = (old.len() as isize, new.len() as isize);
    let offset = rows + columns + 1;
    let mut far = vec![0_isize; 2 * offset as usize + 1];
    let mut ends = Vec::new();
    'search: for changes in 0..=rows + columns {
        ends.push(far[(offset - changes - 1) as usize..=(offset + changes + 1) as usize].to_vec());
        for diagonal in (-changes..=changes).step_by(2) {
            let [left, right] = [diagonal - 1, diagonal + 1].map(|at| far[(offset + at) as usize]);
            let is_added = diagonal == -changes || (diagonal != changes && left < right);
            let mut row = if is_added { right } else { left + 1 };
            while row < rows
                && row - diagonal < columns
                && old[row as usize] == new[(row - diagonal) as usize]
            {
                row += 1;
            }
            far[(offset + diagonal) as usize] = row;
            if row >= rows && row - diagonal >= columns {
                break 'search;
            }
        }
    }
    let mut steps = Vec::new();
    let (mut row, mut column) = (rows, columns);
    for (changes, far) in ends.iter().enumerate().rev() {
        let changes = changes as isize;
        let reach = |diagonal: isize| far[(diagonal + changes + 1) as usize];
        let diagonal = row - column;
        let is_added = diagonal == -changes
            || (diagonal != changes && reach(diagonal - 1) < reach(diagonal + 1));
        let before = if is_added { diagonal + 1 } else { diagonal - 1 };
        let (from_row, from_column) = match changes {
            0 => (0, 0),
            _ => (reach(before), reach(before) - before),
        };
        while row > from_row && column > from_column {
            (row, column) = (row - 1, column - 1);
            steps.push((Step::Kept, row as usize, column as usize));
        }
        if changes > 0 {
            let step = if is_added { Step::Added } else { Step::Removed };
            (row, column) = (from_row, from_column);
            steps.push((step, row as usize, column as usize));
        }
    }
    steps.reverse();
    steps
}

/// Changes with the lines around them; those that are close together are one.
fn hunks(steps: &[At]) -> Vec<&[At]> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (at, _) in (steps.iter().enumerate()).filter(|(_, (step, ..))| *step != Step::Kept) {
        let (start, end) = (
            at.saturating_sub(CONTEXT),
            (at + CONTEXT + 1).min(steps.len()),
        );
        match ranges.last_mut().filter(|(_, last)| start <= *last) {
            Some((_, last)) => *last = end,
            None => ranges.push((start, end)),
        }
    }
    (ranges.into_iter())
        .map(|(start, end)| &steps[start..end])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        assert_eq!(unified("x", Some(old), old), "");
        let new = old.replace("b\n", "B\n").replace("l\n", "");
        assert_eq!(
            unified("x", Some(old), &new),
            "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -9,4 +9,3 @@\n i\n j\n k\n-l\n"
        );
        assert_eq!(
            unified("x", Some("a"), "a\n"),
            "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
        assert_eq!(
            unified("x", None, "a\n"),
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n"
        );
    }

    /// The reader decides: `git apply` makes the new text of the old one.
    #[test]
    fn git_applies_them() {
        let folder = tempfile::tempdir().unwrap();
        let letters = |seed: usize| -> String {
            let lines = (0..40).filter(|at| (at * seed + seed) % 7 > 1);
            lines.map(|at| format!("{}\n", at * seed % 9)).collect()
        };
        let mut texts: Vec<String> = (1..5).map(letters).collect();
        texts.push("last\nwithout an end".to_owned());
        for old in &texts {
            for new in &texts {
                if old == new {
                    continue;
                }
                fs::write(folder.path().join("f"), old).unwrap();
                fs::write(folder.path().join("diff"), unified("f", Some(old), new)).unwrap();
                let git = Command::new("git")
                    .args(["apply", "--unidiff-zero", "diff"])
                    .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap())
                    .current_dir(folder.path())
                    .output();
                let output = git.unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(
                    output.status.success(),
                    "{said}\n{}",
                    unified("f", Some(old), new)
                );
                assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), *new);
            }
        }
    }
}
