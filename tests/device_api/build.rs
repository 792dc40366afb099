//! Turns the table of rust-cuda's public items (`docs/upstream.md`) into Rust that names each item
//! that is said to be here, so that a row can't be wrong for long: a name or a signature that is
//! not as the table says does not compile, neither for the host nor for the device.

use std::error::Error;
use std::fmt::Write as _;
use std::{env, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let table = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../docs/upstream.md");
    println!("cargo::rerun-if-changed={}", table.display());
    let text =
        fs::read_to_string(&table).map_err(|error| format!("{}: {error}", table.display()))?;
    let for_device = env::var("CARGO_CFG_TARGET_ARCH")? == "nvptx64";
    let mut code = String::new();
    for row in text.lines().filter_map(Row::parse) {
        let row = row?;
        if !row.is_here() || !row.exists(for_device) {
            continue;
        }
        for choice in choices(row.item)? {
            choice.check(row.form, &mut code)?;
        }
    }
    fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("upstream.rs"),
        code,
    )?;
    Ok(())
}

/// One line of a table: `| item | form | in | here | remark |`.
struct Row<'a> {
    item: &'a str,
    form: &'a str,
    since: &'a str,
    here: &'a str,
}

impl<'a> Row<'a> {
    /// `None` for text, headings and rules between tables.
    fn parse(line: &'a str) -> Option<Result<Self, String>> {
        let cells: Vec<_> = line
            .strip_prefix("| `")?
            .strip_suffix('|')?
            .split('|')
            .collect();
        let cell = |at: usize| {
            cells
                .get(at)
                .map_or("", |cell| cell.trim().trim_matches('`'))
        };
        let row = Row {
            item: cell(0),
            form: cell(1),
            since: cell(2),
            here: cell(3),
        };
        let known = ["yes", "differs", "refused"].contains(&row.here);
        let explained = row.here == "yes" || !cell(4).is_empty();
        Some(if cells.len() != 5 || !known || !explained {
            Err(format!("docs/upstream.md: not a row of the table: {line}"))
        } else {
            Ok(row)
        })
    }

    /// The builder's items are for the host, some of `cuda_std` for the device.
    fn exists(&self, for_device: bool) -> bool {
        if for_device {
            !self.item.contains("cuda_builder")
        } else {
            !self.since.contains("device only")
        }
    }

    fn is_here(&self) -> bool {
        matches!(self.here, "yes" | "differs")
    }
}

/// One of the paths that a pattern `a::{b,c}_{d,e}` stands for, and what was chosen in each brace.
#[derive(Clone)]
struct Choice<'a> {
    path: String,
    chosen: Vec<&'a str>,
}

fn choices(pattern: &str) -> Result<Vec<Choice<'_>>, String> {
    let mut choices = vec![Choice {
        path: String::new(),
        chosen: Vec::new(),
    }];
    let mut rest = pattern;
    while let Some((plain, after)) = rest.split_once('{') {
        let (options, after) = after
            .split_once('}')
            .ok_or_else(|| format!("no closing brace in {pattern}"))?;
        choices = choices
            .iter()
            .flat_map(|choice| {
                options.split(',').map(|option| {
                    let mut longer = choice.clone();
                    longer.path.push_str(plain);
                    longer.path.push_str(option);
                    longer.chosen.push(option);
                    longer
                })
            })
            .collect();
        rest = after;
    }
    for choice in &mut choices {
        choice.path.push_str(rest);
    }
    Ok(choices)
}

impl Choice<'_> {
    /// Writes an item that compiles only if this one exists in the given form: a function's type,
    /// `field` with its type, or anything else that can be imported. `$1` in the form is what was
    /// chosen in the first brace.
    fn check(&self, form: &str, code: &mut String) -> Result<(), Box<dyn Error>> {
        let mut form = form.to_owned();
        for (at, option) in self.chosen.iter().enumerate() {
            form = form.replace(&format!("${}", at + 1), option);
        }
        let path = &self.path;
        if let Some(ty) = form.strip_prefix("field ") {
            let (owner, field) = path.rsplit_once("::").ok_or("a field without a struct")?;
            writeln!(
                code,
                "const _: for<'a> fn(&'a {owner}) -> &'a {ty} = |owner| &owner.{field};"
            )?;
        } else if form.starts_with("fn") || form.starts_with("unsafe ") || form.starts_with("for<")
        {
            writeln!(code, "const _: {form} = {path};")?;
        } else {
            writeln!(code, "const _: () = {{ use {path} as _; }};")?;
        }
        Ok(())
    }
}
