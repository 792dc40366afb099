//! The nearest word to one that was mistyped.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The word nearest to another: at most a third of its letters differ, or it only goes on.
pub(super) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let rated = words.into_iter().filter_map(|other| {
        let lower = other.to_lowercase();
        let apart = distance(&word, &lower);
        let goes_on = length >= 2 && lower.starts_with(&word);
        let is_near = apart <= (length.max(lower.chars().count()) / 3).max(1);
        // A single letter is near to every other.
        ((is_near && length > 1) || goes_on).then_some((apart, other))
    });
    rated
        .min_by_key(|(apart, _)| *apart)
        .map(|(_, other)| other)
}

/// Letters to insert, leave out, replace, or swap with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut rows: [Vec<usize>; 2] = [Vec::new(), (0..=other.len()).collect()];
    let mut before = None;
    for (row, letter) in one.chars().enumerate() {
        let [older, last] = &rows;
        let mut next = vec![row + 1];
        for (column, &with) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != with);
            let mut least = replaced.min(last[column + 1] + 1).min(next[column] + 1);
            let is_swapped = column > 0 && before == Some(with) && other[column - 1] == letter;
            if is_swapped && row > 0 {
                least = least.min(older[column - 1] + 1);
            }
            next.push(least);
        }
        let [_, last] = rows;
        rows = [last, next];
        before = Some(letter);
    }
    rows[1].last().copied().unwrap_or(0)
}

/// A usage error with the one word that is nearest to what was written, where clap names several or
/// none.
pub(super) fn suggested(mut error: Error, root: &Command, arguments: &[String]) -> Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand);
            let mut parent = root;
            for argument in arguments.iter().take_while(|argument| **argument != word) {
                parent = parent.find_subcommand(argument).unwrap_or(parent);
            }
            let names = parent.get_subcommands().map(Command::get_name);
            let near = nearest(&word, names).map(str::to_owned);
            error.remove(ContextKind::SuggestedSubcommand);
            if let Some(near) = near {
                let near = ContextValue::Strings(vec![near]);
                error.insert(ContextKind::SuggestedSubcommand, near);
            }
        }
        ErrorKind::InvalidValue => {
            let word = text(ContextKind::InvalidValue);
            if let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) {
                let near = nearest(&word, valid.iter().map(String::as_str)).map(str::to_owned);
                error.remove(ContextKind::SuggestedValue);
                if let Some(near) = near {
                    error.insert(ContextKind::SuggestedValue, ContextValue::String(near));
                }
            }
        }
        ErrorKind::ValueValidation if text(ContextKind::InvalidArg).starts_with("--device ") => {
            let word = text(ContextKind::InvalidValue);
            if let Some(near) = nearest(&word, ["auto", "gpu", "emulator"]) {
                let near = ContextValue::String(near.to_owned());
                error.insert(ContextKind::SuggestedValue, near);
            }
        }
        _ => {}
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::{Cli, help};
    use super::*;

    #[test]
    fn the_nearest_word_is_one_that_may_be_meant() {
        let words = ["sum", "scan", "tune", "transpose", "trace", "demo"];
        let near = |word| nearest(word, words);
        for (word, meant) in [
            ("sun", "sum"),
            ("Sum", "sum"),
            ("smu", "sum"),
            ("transposee", "transpose"),
            ("trnaspose", "transpose"),
            ("trans", "transpose"),
            ("dmeo", "demo"),
        ] {
            assert_eq!(near(word), Some(meant), "{word}");
        }
        for word in ["", "x", "convolution", "frobnicate"] {
            assert_eq!(near(word), None, "{word}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("ca", "ac"), 1);
    }

    #[test]
    fn an_unknown_word_gets_the_nearest_one_alone() {
        let said = |line: &str| {
            let root = help::of(Cli::command());
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = root.clone().try_get_matches_from(&words).expect_err(line);
            suggested(error, &root, &words).to_string()
        };
        for (line, meant) in [
            ("blockwise sun x", "'sum'"),
            ("blockwise transposee a", "'transpose'"),
            ("blockwise profile transpos", "'transpose'"),
            ("blockwise help demoo", "'demo'"),
            ("blockwise demo red", "'reduce'"),
            ("blockwise scan x -o y --operation mx", "'max'"),
            ("blockwise conv x y -o z --mode sme", "'same'"),
            ("blockwise sum x --kernel wid", "'wide'"),
            ("blockwise sum x --device gup", "'gpu'"),
            ("blockwise sum x --device emulater", "'emulator'"),
            ("blockwise scale matmull --sizes 8", "'matmul'"),
            ("blockwise sum x --kernl wide", "'--kernel'"),
        ] {
            let text = said(line);
            let tip = text.lines().find(|line| line.contains("tip: "));
            let tip = tip.unwrap_or_else(|| panic!("{line}: {text}"));
            assert!(
                tip.ends_with(meant) && tip.matches('\'').count() == 2,
                "{line}: {tip}"
            );
        }
        for line in ["blockwise frobnicate", "blockwise sum x --device q"] {
            assert!(!said(line).contains("tip: "), "{line}: {}", said(line));
        }
    }
}
