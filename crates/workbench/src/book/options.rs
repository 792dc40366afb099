//! The help of every command, as one Markdown text. The commands are found in the help itself, so
//! that none can be forgotten. The command's tests generate the same text and compare.

use anyhow::{Result, ensure};

/// The file below `docs/book/src/output`.
pub(crate) const FILE: &str = "options.md";

/// The help of `blockwise` and of all commands in it, each below a heading. `help` gives what a
/// command, named by its words, prints for `--help`.
pub(crate) fn markdown(mut help: impl FnMut(&[String]) -> Result<String>) -> Result<String> {
    let root = help(&[])?;
    let shared: Vec<_> = root.lines().filter_map(option).collect();
    let mut text = section(&[], &root, &[])?;
    let mut waiting = commands(&[], &root);
    while let Some(words) = waiting.pop() {
        let said = help(&words)?;
        text += &section(&words, &said, &shared)?;
        waiting.extend(commands(&words, &said));
    }
    Ok(text)
}

/// Heading and help, without the options that `shared` names.
fn section(words: &[String], said: &str, shared: &[&str]) -> Result<String> {
    ensure!(!said.contains("```"), "a fence in the help of {words:?}");
    let mut text = String::new();
    let mut is_shown = true;
    for line in said.lines().map(str::trim_end) {
        is_shown = match option(line) {
            Some(name) => !shared.contains(&name),
            None => is_shown || (!line.is_empty() && !line.starts_with(' ')),
        };
        // Clap puts an empty line between options; here only sections are separated.
        if !is_shown || line.is_empty() {
            continue;
        }
        if !line.starts_with(' ') && !text.is_empty() {
            text.push('\n');
        }
        text += line;
        text.push('\n');
    }
    let name = [&["blockwise".to_owned()], words].concat().join(" ");
    Ok(format!("\n## `{name}`\n\n```text\n{text}```\n"))
}

/// The long name of the option that a line of help describes, or begins to.
fn option(line: &str) -> Option<&str> {
    let indent = line.len() - line.trim_start().len();
    let long = line.find("--").filter(|at| *at == 6)?;
    let rest = &line[long..];
    (indent == 2 || indent == 6).then(|| rest.split(' ').next().unwrap_or(rest))
}

/// The commands that a help lists, the last one first.
fn commands(words: &[String], said: &str) -> Vec<Vec<String>> {
    let lines = said.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines
        .take_while(|line| !line.is_empty())
        // Lines with more indent continue a command's description.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let mut all: Vec<_> = names
        .map(|name| [words, &[name.to_owned()]].concat())
        .collect();
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "What it is\n\nUsage: blockwise <COMMAND>\n\nCommands:\n  sum   Add\n  page  Write\n  help  Print this\n\n\
                        Options:\n      --json  A document\n  -q, --quiet  Nothing\n";
    const SUM: &str = "Add\n\nOptions:\n      --json\n          A document\n          \n          [default: no]\n\n  -o, --out <F>\n\
                       \x20         Where\n\n  -q, --quiet\n          Nothing\n\nExit codes: 0\n";
    const PAGE: &str = "Write\n\nCommands:\n  one  The first\n\nOptions:\n      --more  x\n";

    #[test]
    fn each_command_is_found_and_its_own_options_are_shown() {
        let mut asked = Vec::new();
        let text = markdown(|words| {
            asked.push(words.join(" "));
            Ok(match &*asked[asked.len() - 1] {
                "" => ROOT,
                "sum" => SUM,
                "page" => PAGE,
                _ => "The first\n",
            }
            .to_owned())
        })
        .unwrap();
        assert_eq!(asked, ["", "sum", "page", "page one"]);
        assert!(text.contains("  -q, --quiet  Nothing\n```"), "{text}");
        let sum = "## `blockwise sum`\n\n```text\nAdd\n\nOptions:\n  -o, --out <F>\n          Where\n\nExit codes: 0\n```\n";
        assert!(text.contains(sum), "{text}");
        assert!(text.contains("## `blockwise page one`\n"), "{text}");
        assert!(text.contains("      --more  x\n"), "{text}");
    }

    #[test]
    fn a_fence_would_end_the_block() {
        assert!(markdown(|_| Ok("```\n".to_owned())).is_err());
    }
}
