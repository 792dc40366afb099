//! Cuts a command's output down to what the book shows. Works on text only, because the command's
//! tests cut outputs with the same code.

use anyhow::{Context, Result, bail};

use super::list::{BROKEN, Output, Part};

impl Output {
    /// The words of the command.
    pub(crate) fn words(&self) -> Vec<&'static str> {
        let (mut all, words) = match self.part {
            Part::Figures { of, .. } => (vec!["profile"], of.split_whitespace().collect()),
            Part::Finding { kernel, words } => {
                let words = words.iter().flat_map(|words| words.split_whitespace());
                (
                    vec!["check", BROKEN, "--kernel", kernel],
                    words.collect::<Vec<_>>(),
                )
            }
        };
        all.extend(words);
        all
    }

    /// The file's text: the command as typed, and the shown part of its output.
    pub(crate) fn shown(&self, said: &str) -> Result<String> {
        let part = match &self.part {
            Part::Figures { kernels, rows, .. } => table(said, kernels, rows)?,
            Part::Finding { .. } => first_finding(said),
        };
        Ok(format!("{}\n\n{part}", typed(&self.words())))
    }
}

/// The command as typed into a shell. Long lines are broken before an option.
fn typed(words: &[&str]) -> String {
    let mut text = "$ blockwise".to_owned();
    let mut width = text.len();
    for (at, word) in words.iter().enumerate() {
        let quoted = |word: &str| match word.contains('[') {
            true => format!("'{word}'"),
            false => word.to_owned(),
        };
        let word = quoted(word);
        let value = words.get(at + 1).map_or(0, |value| 1 + quoted(value).len());
        if word.starts_with("--") && width + 1 + word.len() + value > 94 {
            text += " \\\n   ";
            width = 3;
        }
        width += 1 + word.len();
        text = text + " " + &word;
    }
    text
}

/// These columns and rows of the first table, the rows in the given order. A row that belongs to
/// the one above it is named with its indent.
fn table(said: &str, kernels: &[&str], rows: &[&str]) -> Result<String> {
    let cells = |line: &str| -> Vec<String> {
        let parts = line.split("  ").map(str::trim);
        parts
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut lines = said.lines().skip_while(|line| !line.starts_with(' '));
    let header = cells(lines.next().context("no table")?);
    let columns = kernels.iter().map(|kernel| {
        let place = header.iter().position(|name| name == kernel);
        place.with_context(|| format!("no kernel `{kernel}` in {header:?}"))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let mut shown = vec![(
        String::new(),
        kernels.iter().map(|name| (*name).to_owned()).collect(),
    )];
    let mut wanted = rows.iter().peekable();
    for line in lines.take_while(|line| !line.is_empty()) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let cells = cells(line);
        let Some((name, figures)) = cells.split_first() else {
            continue;
        };
        let name = format!("{indent}{name}");
        if wanted.next_if(|wanted| **wanted == name).is_some() {
            let figures: Vec<_> = columns
                .iter()
                .filter_map(|&at| figures.get(at).cloned())
                .collect();
            shown.push((name, figures));
        }
    }
    if let Some(missing) = wanted.next() {
        bail!("no row `{missing}` in its place");
    }
    let width = |column: usize| {
        shown
            .iter()
            .map(|(_, cells)| cells[column].chars().count())
            .max()
    };
    let widths: Vec<_> = (0..kernels.len()).filter_map(width).collect();
    let names = shown.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = shown.iter().map(|(name, cells)| {
        let cells = cells.iter().zip(&widths);
        let cells: String = cells
            .map(|(cell, width)| format!("  {cell:>width$}"))
            .collect();
        format!("{name:<names$}{cells}\n")
    });
    Ok(lines.collect())
}

/// The first finding, why it is wrong, what to do, and the source lines. Frames, addresses and PTX
/// lines are left out: they change with the compiler.
fn first_finding(said: &str) -> String {
    let mut lines = said
        .lines()
        .map(|line| line.trim_start_matches('=').trim_end());
    let mut text = lines.next().unwrap_or_default().trim_start().to_owned() + "\n";
    let severities = [" Error: ", " Warning: ", " Information: "];
    let found = |line: &str| severities.iter().any(|severity| line.starts_with(severity));
    let mut lines = lines.skip_while(|line| !found(line) && !line.contains("SUMMARY"));
    let mut finding = lines.by_ref().take_while(|line| !line.is_empty());
    let mut add = |line: &str| text += &wrapped(&without_ptx_lines(&line[1.min(line.len())..]));
    if let Some(first) = finding.next() {
        add(first);
    }
    // The next line states the finding; the remaining words are the hint.
    if let Some(second) = finding.next() {
        add(second);
    }
    let mut in_source = false;
    for line in finding {
        in_source |= line.trim_start().starts_with("-->");
        if in_source || line.trim_start().starts_with("hint:") {
            add(line);
        }
    }
    text
}

fn without_ptx_lines(line: &str) -> String {
    let mut parts = line.split(" (PTX line ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

/// Words in lines of at most 96 characters; lines of source stay as they are.
fn wrapped(line: &str) -> String {
    let indent = " ".repeat(line.len() - line.trim_start().len());
    let is_source = line.contains(" | ") || line.trim() == "|" || line.contains("-->");
    if is_source || line.chars().count() <= 96 {
        return format!("{line}\n");
    }
    let mut text = String::new();
    let mut row = String::new();
    for word in line.split_whitespace() {
        if !row.is_empty() && row.chars().count() + 1 + word.chars().count() > 96 {
            text += &(row + "\n");
            row = format!("{indent}  {word}");
        } else if row.is_empty() {
            row = format!("{indent}{word}");
        } else {
            row = row + " " + word;
        }
    }
    text + &row + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_profile_the_named_rows_and_columns_are_shown() {
        let said = "a subject\n\n              one       two\nloads           5  1,000 KB\n  sectors    4.00      5.00\nstores          \
                    6         7\n  sectors    1.00     32.00\n\none, its lines:\n";
        assert_eq!(
            table(said, &["two"], &["stores", "  sectors"]).unwrap(),
            "             two\nstores         7\n  sectors  32.00\n"
        );
        let error = table(said, &["two"], &["stores", "loads"]).unwrap_err();
        assert_eq!(error.to_string(), "no row `loads` in its place");
        let error = table(said, &["three"], &[]).unwrap_err();
        assert!(error.to_string().contains("`three`"), "{error}");
    }

    #[test]
    fn of_a_check_the_first_finding_is_shown_without_what_the_compiler_changes() {
        let said = "========= BLOCKWISE CHECK of k in 1 schedule\n=========\n========= Error: Race on __shared__ memory [race]\n\
                    =========     nothing orders the two\n=========     read of 0x1, in k at k.rs:2:1 (PTX line 5)\n=========   and\n\
                    =========     hint: a barrier between k.rs:1:1 (PTX line 4) and k.rs:2:1 (PTX line 5)\n=========   --> k.rs:2:1\n\
                    =========    |\n========= 1 | write\n=========    | ----- earlier\n=========\n========= Error: another\n=========\n";
        assert_eq!(
            first_finding(said),
            "BLOCKWISE CHECK of k in 1 schedule\nError: Race on __shared__ memory [race]\n    nothing orders the two\n    \
             hint: a barrier between k.rs:1:1 and k.rs:2:1\n  --> k.rs:2:1\n   |\n1 | write\n   | ----- earlier\n"
        );
        let clean = "========= BLOCKWISE CHECK of k in 1 schedule\n=========\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(
            first_finding(clean),
            "BLOCKWISE CHECK of k in 1 schedule\nERROR SUMMARY: 0 errors\n"
        );
    }

    #[test]
    fn a_command_is_quoted_and_broken_into_lines() {
        let words = ["check", "--arg", "slice:f32[1000]=iota"];
        assert_eq!(
            typed(&words),
            "$ blockwise check --arg 'slice:f32[1000]=iota'"
        );
        let long = ["--arg", "12345678901234567890123456789012345"].repeat(3);
        let lines = typed(&long);
        let lines: Vec<_> = lines.lines().collect();
        assert!(
            lines.len() == 2 && lines[1].starts_with("    --arg 1"),
            "{lines:?}"
        );
    }
}
