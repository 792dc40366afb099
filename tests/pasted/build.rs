//! Writes the blocks of Rust code of README and of the book as modules, one for each page, and
//! builds their kernels.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The variable with the file of modules.
const PAGES: &str = "PASTED_PAGES";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let book = root.join("docs/book/src");
    println!("cargo::rerun-if-changed={}", book.display());
    let mut modules = String::new();
    let mut pasted = String::new();
    module("readme", &root.join("README.md"), &mut pasted, &mut modules)?;
    let mut pages: Vec<PathBuf> = (fs::read_dir(&book)?)
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, Box<dyn Error>>>()?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    for page in pages {
        let name = page.file_stem().unwrap_or_default().display().to_string();
        module(&name, &page, &mut pasted, &mut modules)?;
    }
    let file = PathBuf::from(env::var("OUT_DIR")?).join("pages.rs");
    fs::write(&file, modules)?;
    println!("cargo::rustc-env={PAGES}={}", file.display());
    // SAFETY: no other thread runs yet. The compiler of the build for the device inherits it.
    unsafe { env::set_var(PAGES, &file) };
    cuda_builder::embed().finish();
    Ok(())
}

/// A block of Rust code of a page.
#[derive(Default)]
struct Block {
    /// What the page shows.
    shown: String,
    /// With the lines that the book hides.
    whole: String,
    /// Those alone.
    hidden: String,
}

/// One page's code. `pasted` is what earlier pages show: two entry points of one name cannot be in
/// one module of PTX.
fn module(
    name: &str,
    page: &Path,
    pasted: &mut String,
    modules: &mut String,
) -> Result<(), Box<dyn Error>> {
    let (mut code, mut is_new) = (String::new(), false);
    for block in blocks(page)? {
        if pasted.contains(&block.shown) {
            code += &block.hidden;
        } else {
            code += &block.whole;
            *pasted += &block.shown;
            is_new = true;
        }
    }
    if is_new {
        write!(
            modules,
            "#[allow(dead_code, missing_docs, unused_imports, clippy::all, reason = \"as on the page\")]\n\
             pub mod {name} {{\n{code}}}\n\n"
        )?;
    }
    Ok(())
}

/// The blocks of Rust code of a page. What is marked `ignore` is an excerpt.
fn blocks(page: &Path) -> Result<Vec<Block>, Box<dyn Error>> {
    let text = read(page)?;
    let folder = page.parent().unwrap_or(Path::new(""));
    let parts = text.split("```rust\n").skip(1);
    let code = parts.filter_map(|part| Some(part.split_once("```")?.0));
    code.map(|code| {
        let mut block = Block::default();
        for line in code.lines() {
            let included = line.strip_prefix("{{#include ");
            let (text, is_hidden) = match included.and_then(|rest| rest.strip_suffix("}}")) {
                Some(place) => (between_anchors(folder, place)?, false),
                None => match line.strip_prefix("# ") {
                    Some(hidden) => (format!("{hidden}\n"), true),
                    None => (format!("{line}\n"), false),
                },
            };
            block.whole += &text;
            match is_hidden {
                true => block.hidden += &text,
                false => block.shown += &text,
            }
        }
        Ok(block)
    })
    .collect()
}

/// The lines between a file's anchors: `file:anchor`.
fn between_anchors(folder: &Path, place: &str) -> Result<String, Box<dyn Error>> {
    let (file, anchor) = place.split_once(':').ok_or("a whole file")?;
    let text = read(&folder.join(file))?;
    let is = |mark: &str, line: &str| line.trim() == format!("// {mark}: {anchor}");
    let lines = text.lines().skip_while(|line| !is("ANCHOR", line)).skip(1);
    let lines = lines.take_while(|line| !is("ANCHOR_END", line));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    if code.is_empty() {
        return Err(format!("{place}: no anchor").into());
    }
    Ok(code)
}

fn read(file: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", file.display());
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()).into())
}
