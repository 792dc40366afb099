//! Checks of the pages: the summary, included files, and links. Needs no mdBook.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::outputs;
use crate::workspace;

/// Folders whose sources have anchors.
const SOURCES: [&str; 2] = ["kernels/src", "examples"];

/// Reports everything that is wrong with the book in that folder.
pub(super) fn check(book: &Path) -> Result<()> {
    let mut faults = Vec::new();
    let source = book.join("src");
    let pages = pages(&source)?;
    faults.extend(summary(&source, &pages)?);
    let mut included = BTreeSet::new();
    let mut traced = BTreeSet::new();
    for page in &pages {
        let text = read(&source.join(page))?;
        for inclusion in inclusions(&text) {
            match included_text(&source, inclusion) {
                Ok(_) => included.extend(place(&source, inclusion)),
                Err(error) => faults.push(format!("{page}: {error:#}")),
            }
        }
        let typed = code(&text).filter(|code| inclusions(code).next().is_none());
        faults.extend(typed.map(|code| format!("{page}: code that nothing compiles: {code}")));
        traced.extend(embedded(&text).map(str::to_owned));
        let broken = links(&text).filter(|link| !leads_somewhere(&source, link));
        faults.extend(broken.map(|link| format!("{page}: the link {link} leads nowhere")));
    }
    faults.extend(unused(&source, &included)?);
    let made: BTreeSet<_> = outputs::traces().map(str::to_owned).collect();
    let unmade = traced.difference(&made);
    faults.extend(unmade.map(|name| format!("nothing makes the trace {name}")));
    let unseen = made.difference(&traced);
    faults.extend(unseen.map(|name| format!("no page shows the trace {name}")));
    if !faults.is_empty() {
        bail!("the book has faults:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

/// The Markdown files except the summary.
fn pages(source: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(source).with_context(|| format!("no {}", source.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "SUMMARY.md" {
            pages.push(name);
        }
    }
    pages.sort();
    Ok(pages)
}

/// Pages that the summary does not list exactly once, and entries without a page or with a
/// different title.
fn summary(source: &Path, pages: &[String]) -> Result<Vec<String>> {
    let text = read(&source.join("SUMMARY.md"))?;
    let mut faults = Vec::new();
    let listed: Vec<_> = links(&text).collect();
    for page in pages {
        if listed.iter().filter(|link| *link == page).count() != 1 {
            faults.push(format!("SUMMARY.md does not list {page} once"));
        }
    }
    for link in listed {
        let Ok(page) = fs::read_to_string(source.join(link)) else {
            faults.push(format!("SUMMARY.md lists {link}, which is not there"));
            continue;
        };
        let title = page.lines().next().unwrap_or_default();
        let entry = format!("[{}]({link})", title.trim_start_matches("# "));
        if !text.contains(&entry) {
            faults.push(format!("SUMMARY.md has no {entry}"));
        }
    }
    Ok(faults)
}

/// The arguments of every `{{#include …}}`.
fn inclusions(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("{{#include ").skip(1);
    parts.filter_map(|part| Some(part.split_once("}}")?.0.trim()))
}

/// The included text: a file, or the lines between its anchors of that name.
fn included_text(source: &Path, inclusion: &str) -> Result<String> {
    let (file, anchor) = inclusion.split_once(':').unwrap_or((inclusion, ""));
    let text = read(&source.join(file))?;
    if anchor.is_empty() {
        return Ok(text);
    }
    let at = |mark: &str| -> Result<usize> {
        let is_it = |line: &str| line.trim() == format!("// {mark}: {anchor}");
        let lines: Vec<_> = (0..)
            .zip(text.lines())
            .filter(|(_, line)| is_it(line))
            .collect();
        match lines.as_slice() {
            [(at, _)] => Ok(*at),
            _ => bail!("{file} has {} lines `// {mark}: {anchor}`", lines.len()),
        }
    };
    let (start, end) = (at("ANCHOR")?, at("ANCHOR_END")?);
    if start + 1 >= end {
        bail!("{file} has nothing between the anchors `{anchor}`");
    }
    Ok(text.lines().skip(start + 1).take(end - start - 1).collect())
}

/// File and anchor, in a form that is the same wherever they are included.
fn place(source: &Path, inclusion: &str) -> Option<(PathBuf, String)> {
    let (file, anchor) = inclusion.split_once(':').unwrap_or((inclusion, ""));
    Some((source.join(file).canonicalize().ok()?, anchor.to_owned()))
}

/// The blocks of Rust code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("```rust").skip(1);
    parts.filter_map(|part| Some(part.split_once('\n')?.1.split_once("```")?.0))
}

/// The targets of Markdown links outside code.
pub(super) fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| {
        let parts = prose.split("](").skip(1);
        parts.filter_map(|part| Some(part.split_once(')')?.0))
    })
}

/// The traces that a page embeds or links.
fn embedded(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("traces/").skip(1);
    parts.filter_map(|part| Some(part.split_once(".html")?.0))
}

/// Whether a link leads to a page or a trace: files outside the book's folder are not in the built
/// book.
fn leads_somewhere(source: &Path, link: &str) -> bool {
    let file = link.split('#').next().unwrap_or_default();
    if let Some(trace) = embedded(file).next() {
        return outputs::traces().any(|name| name == trace);
    }
    let inside = Path::new(file)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    inside && (file.is_empty() || source.join(file).is_file())
}

/// Anchors, outputs and pictures that no page shows.
fn unused(source: &Path, included: &BTreeSet<(PathBuf, String)>) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for folder in SOURCES {
        for file in rust_files(&workspace::root().join(folder))? {
            for line in read(&file)?.lines() {
                let Some(anchor) = line.trim().strip_prefix("// ANCHOR: ") else {
                    continue;
                };
                if !included.contains(&(file.canonicalize()?, anchor.to_owned())) {
                    faults.push(format!("no page includes {}:{anchor}", file.display()));
                }
            }
        }
    }
    let outputs: BTreeSet<_> = outputs::names().collect();
    for name in &outputs {
        let path = source.join("output").join(name);
        if !path
            .canonicalize()
            .is_ok_and(|path| included.contains(&(path, String::new())))
        {
            faults.push(format!("no page includes the output {name}"));
        }
    }
    for entry in fs::read_dir(source.join("output"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !outputs.contains(&name) {
            faults.push(format!("nothing makes the output {name}"));
        }
    }
    Ok(faults)
}

/// The Rust files below a folder.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_holds_together() {
        check(&crate::book::folder()).unwrap();
    }

    /// Each exercise's page shows the commands to solve it with.
    #[test]
    fn every_exercise_has_its_page() {
        let exercises = workspace::root().join("crates/blockwise_new/exercises/src");
        let source = crate::book::folder().join("src");
        let pages: Vec<_> = pages(&source)
            .unwrap()
            .iter()
            .map(|page| read(&source.join(page)).unwrap())
            .collect();
        let files = rust_files(&exercises).unwrap();
        let names = files
            .iter()
            .map(|file| file.file_stem().unwrap().to_str().unwrap());
        for name in names.filter(|name| *name != "lib") {
            let number: usize = name[1..3].parse().unwrap();
            let command = format!(
                "\ncargo xtask exercise {number}   # without a checkout: blockwise exercise {number}\n"
            );
            let is_it = |page: &&String| {
                page.contains(&format!("\n## Exercise {number}\n"))
                    && page.contains(&format!("`src/{name}.rs`"))
                    && page.contains(&command)
            };
            assert_eq!(
                pages.iter().filter(is_it).count(),
                1,
                "pages with `{command}`"
            );
        }
    }

    #[test]
    fn what_is_wrong_with_a_page_is_named() {
        let book = std::env::temp_dir().join(format!("book-{}", std::process::id()));
        let source = book.join("src");
        fs::create_dir_all(source.join("output")).unwrap();
        let write = |file: &str, text: &str| fs::write(source.join(file), text).unwrap();
        write("SUMMARY.md", "[One](one.md)\n[Gone](gone.md)\n");
        write("two.md", "# Two\n");
        write(
            "code.rs",
            "// ANCHOR: a\nlet a = 1;\n// ANCHOR_END: a\n// ANCHOR: open\n",
        );
        write(
            "one.md",
            "# 1\n{{#include code.rs:a}}{{#include code.rs:open}}{{#include no.rs}}\n[x](two.md) [y](three.md) [z](../../a.md)\n\
             [t](traces/reverse.html) [u](traces/three.html)\n```\n[c](code)\n```\n```rust\nlet b = 2;\n```\n",
        );
        let said = check(&book).unwrap_err().to_string();
        fs::remove_dir_all(&book).unwrap();
        for fault in [
            "SUMMARY.md does not list two.md once",
            "SUMMARY.md lists gone.md",
            "SUMMARY.md has no [1](one.md)",
            "code.rs has 0 lines `// ANCHOR_END: open`",
            "no.rs",
            "code that nothing compiles: let b = 2;",
            "the link three.md",
            "the link ../../a.md",
            "no page includes the output reverse.txt",
            "the link traces/three.html",
            "nothing makes the trace three",
            "no page shows the trace naive",
        ] {
            assert!(said.contains(fault), "{fault}\n{said}");
        }
        for fine in [
            "code.rs:a",
            "the link two.md",
            "the link code",
            "the link traces/reverse.html",
        ] {
            assert!(!said.contains(&format!("{fine} leads")), "{fine}\n{said}");
        }
    }
}
