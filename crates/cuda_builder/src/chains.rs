//! Inlining chains in PTX, from an LLVM that prints none.
//!
//! After the `.loc` of an inlined function LLVM 22 prints `// a.rs:1:2 @[ b.rs:3:4 ]`, and LLVM 23
//! `// a.rs:1:2`. Its directive `inlined_at` takes PTX 7.2, and names a place by its position, of
//! which several may be in one function. So each chain goes through llc in the name of a file:
//! [`Chains::name`] makes `a.rs@@7` of `a.rs`, and [`Chains::restore`] makes of
//! `// a.rs@@7:1:2` what LLVM 22 prints.

use std::collections::HashMap;

use crate::ir::module::{Frame, Item, Metadata, Module, Nodes};

/// Between a file and the number of a chain; no source file's name goes on so after its extension.
const MARK: &str = "@@";

/// What files of a module stand for.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// `b.rs:3:4 @[ c.rs:5:6 ]`, the outer frames of a place.
    outer: Vec<String>,
}

/// A position, and the scope and the file that it gets.
struct Place {
    number: String,
    line: u32,
    column: u32,
    scope: usize,
}

impl Chains {
    /// Gives the places of inlined functions files that stand for their chains.
    ///
    /// A module with variables stays as it is: a variable and its place are of one function.
    pub(crate) fn name(module: &mut Module<'_>) -> Self {
        let mut chains = Chains::default();
        let mut known = HashMap::new();
        let (mut scopes, mut places) = (Vec::new(), Vec::new());
        let nodes = Nodes::of(module);
        let mut next = 0;
        for item in &module.items {
            let Item::Metadata(item) = item else { continue };
            let Some((number, node)) = item.parts() else {
                continue;
            };
            next = next.max(number.parse::<usize>().map_or(0, |number| number + 1));
            if node.contains("!DILocalVariable(") {
                return Self::default();
            }
            let node = node.strip_prefix("distinct ").unwrap_or(node);
            if !node.starts_with("!DILocation(") {
                continue;
            }
            let frames = nodes.frames(number);
            let ([inner, outer @ ..], Some(scope)) = (&frames[..], nodes.outermost_scope(number))
            else {
                continue;
            };
            if outer.is_empty() {
                continue;
            }
            let key = (inner.file, inner.folder, printed(outer), scope);
            let at = *known
                .entry(key)
                .or_insert_with_key(|(file, folder, outer, scope)| {
                    chains.outer.push(outer.clone());
                    scopes.push((
                        format!("{file}{MARK}{}", chains.outer.len() - 1),
                        (*folder).to_owned(),
                        (*scope).to_owned(),
                    ));
                    scopes.len() - 1
                });
            places.push(Place {
                number: number.to_owned(),
                line: inner.line,
                column: inner.column,
                scope: at,
            });
        }
        drop(known);
        let (file_of, scope_of) = (|at: usize| next + 2 * at, |at: usize| next + 2 * at + 1);
        let mut places = places.into_iter().peekable();
        for item in &mut module.items {
            let Item::Metadata(item) = item else { continue };
            let is_next = |place: &Place| {
                item.parts()
                    .is_some_and(|(number, _)| number == place.number)
            };
            let Some(place) = places.next_if(is_next) else {
                continue;
            };
            let (line, column, scope) = (place.line, place.column, scope_of(place.scope));
            item.replace(&format!(
                "!DILocation(line: {line}, column: {column}, scope: !{scope})"
            ));
        }
        for (at, (file, folder, scope)) in scopes.iter().enumerate() {
            let (file_number, scope_number) = (file_of(at), scope_of(at));
            for (number, node) in [
                (
                    file_number,
                    format!("!DIFile(filename: \"{file}\", directory: \"{folder}\")"),
                ),
                (
                    scope_number,
                    format!(
                        "!DILexicalBlockFile(scope: !{scope}, file: !{file_number}, discriminator: 0)"
                    ),
                ),
            ] {
                module
                    .items
                    .push(Item::Metadata(Metadata::numbered(number, &node)));
            }
        }
        chains
    }

    /// PTX with the chains in its comments, and without the files that stood for them.
    pub(crate) fn restore(&self, ptx: &str) -> String {
        if self.outer.is_empty() {
            return ptx.to_owned();
        }
        let mut numbers = HashMap::new();
        let mut first = HashMap::new();
        for (number, path) in ptx.lines().filter_map(file) {
            let path = split(path).map_or(path, |(path, _)| path);
            numbers.insert(number, *first.entry(path).or_insert(number));
        }
        let mut text = String::with_capacity(ptx.len());
        for line in ptx.lines() {
            if let Some((number, path)) = file(line) {
                if numbers.get(number) != Some(&number) {
                    continue;
                }
                match split(path) {
                    Some((path, _)) => text += &format!("\t.file\t{number} \"{path}\""),
                    None => text += line,
                }
            } else {
                match self.place(line, &numbers) {
                    Some(place) => text += &place,
                    None => text += line,
                }
            }
            text.push('\n');
        }
        text
    }

    /// A `.loc` whose file stands for a chain, or is another's twin.
    fn place(&self, line: &str, numbers: &HashMap<&str, &str>) -> Option<String> {
        let rest = line.strip_prefix("\t.loc\t")?;
        let (number, rest) = rest.split_once(' ')?;
        let real = numbers.get(number)?;
        let comment = rest.find("// ").map(|at| rest.split_at(at + 3));
        let chained = comment.and_then(|(code, comment)| {
            let (file, at) = comment.split_once(MARK)?;
            let (chain, place) = at.split_once(':')?;
            let outer = self.outer.get(chain.parse::<usize>().ok()?)?;
            Some(format!("{code}{file}:{place} @[ {outer} ]"))
        });
        Some(format!(
            "\t.loc\t{real} {}",
            chained.as_deref().unwrap_or(rest)
        ))
    }
}

/// The frames as LLVM 22 prints them.
fn printed(frames: &[Frame<'_>]) -> String {
    let mut text = String::new();
    for (at, frame) in frames.iter().enumerate() {
        let opening = if at == 0 { "" } else { " @[ " };
        text += &format!("{opening}{}:{}", frame.file, frame.line);
        if frame.column != 0 {
            text += &format!(":{}", frame.column);
        }
    }
    text + &" ]".repeat(frames.len().saturating_sub(1))
}

/// Number and path of a `.file`.
fn file(line: &str) -> Option<(&str, &str)> {
    let (number, path) = line.strip_prefix("\t.file\t")?.split_once(' ')?;
    Some((number, path.trim().strip_prefix('"')?.strip_suffix('"')?))
}

/// A marked name, and its mark's number.
fn split(path: &str) -> Option<(&str, usize)> {
    let (path, number) = path.rsplit_once(MARK)?;
    Some((path, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use cuda_tools::Toolchain;

    use super::*;

    /// A function that is inlined twice, at one place of a function that is inlined at two; nothing
    /// but the chain tells the loads apart.
    const TEXT: &str = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) !dbg !5 {
  %x = load volatile i32, ptr addrspace(1) %p, align 4, !dbg !20
  %y = add i32 %x, %a, !dbg !10
  %z = load volatile i32, ptr addrspace(1) %p, align 4, !dbg !21
  %w = add i32 %y, %z, !dbg !22
  store volatile i32 %w, ptr addrspace(1) %p, align 4, !dbg !20
  ret void, !dbg !12
}
define ptx_kernel void @l(ptr addrspace(1) %p) !dbg !6 {
  store volatile i32 1, ptr addrspace(1) %p, align 4, !dbg !23
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, producer: "x", isOptimized: true, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "src/a.rs", directory: "/w")
!2 = !DIFile(filename: "core/src/b.rs", directory: "/w")
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, type: !7, unit: !0, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "l", scope: !1, file: !1, line: 11, type: !7, unit: !0, spFlags: DISPFlagDefinition)
!7 = !DISubroutineType(types: !{null})
!8 = distinct !DISubprogram(name: "g", scope: !2, file: !2, line: 100, type: !7, unit: !0, spFlags: DISPFlagDefinition)
!9 = distinct !DISubprogram(name: "h", scope: !2, file: !2, line: 49, type: !7, unit: !0, spFlags: DISPFlagDefinition)
!10 = !DILocation(line: 3, column: 3, scope: !5)
!12 = !DILocation(line: 6, column: 1, scope: !5)
!13 = distinct !DILocation(line: 2, column: 7, scope: !5)
!14 = distinct !DILocation(line: 4, column: 7, scope: !5)
!15 = distinct !DILocation(line: 50, column: 9, scope: !9, inlinedAt: !13)
!16 = distinct !DILocation(line: 50, column: 9, scope: !9, inlinedAt: !14)
!17 = distinct !DILocation(line: 12, scope: !6)
!20 = !DILocation(line: 101, column: 3, scope: !8, inlinedAt: !15)
!21 = !DILocation(line: 101, column: 3, scope: !8, inlinedAt: !16)
!22 = !DILocation(line: 50, column: 20, scope: !9, inlinedAt: !14)
!23 = !DILocation(line: 101, scope: !8, inlinedAt: !17)
"#;

    fn llc(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.ll");
        fs::write(&source, text).unwrap();
        let mut llc = Command::new(Toolchain::find().unwrap().llc);
        let output = llc
            .args(["-mcpu=sm_80", "-o", "-"])
            .arg(source)
            .output()
            .unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The comments after `.loc`, in order.
    fn comments(ptx: &str) -> Vec<&str> {
        let places = ptx.lines().filter(|line| line.starts_with("\t.loc\t"));
        places
            .filter_map(|line| Some(line.split_once("// ")?.1))
            .collect()
    }

    fn through_files(text: &str) -> String {
        let mut module = Module::parse(text).unwrap();
        let chains = Chains::name(&mut module);
        chains.restore(&llc(&module.to_string()))
    }

    #[test]
    fn each_place_has_its_chain_with_any_llvm() {
        let ptx = through_files(TEXT);
        let g_in_k =
            |line| format!("core/src/b.rs:101:3 @[ core/src/b.rs:50:9 @[ src/a.rs:{line}:7 ] ]");
        let expected = [
            "src/a.rs:0:0".to_owned(),
            g_in_k(2),
            g_in_k(4),
            "src/a.rs:3:3".to_owned(),
            "core/src/b.rs:50:20 @[ src/a.rs:4:7 ]".to_owned(),
            g_in_k(2),
            "src/a.rs:6:1".to_owned(),
        ];
        let found = comments(&ptx);
        for place in &expected {
            assert!(found.contains(&place.as_str()), "no {place}\n{ptx}");
        }
        // Without a column, of which some LLVMs print 0.
        let last = found.last().unwrap();
        assert!(
            last.starts_with("core/src/b.rs:101") && last.ends_with(" @[ src/a.rs:12 ]"),
            "{last}"
        );
        assert!(found.iter().all(|place| !place.contains(MARK)), "{ptx}");
        let files: Vec<_> = ptx.lines().filter_map(file).map(|(_, path)| path).collect();
        assert_eq!(files, ["/w/src/a.rs", "/w/core/src/b.rs"], "{ptx}");
    }

    /// Where LLVM prints chains itself, they are these.
    #[test]
    fn chains_are_those_that_llvm_22_prints() {
        if Toolchain::find().unwrap().llvm_version.major != 22 {
            println!("skipped: this LLVM prints none");
            return;
        }
        let (own, through) = (llc(TEXT), through_files(TEXT));
        assert_eq!(comments(&through), comments(&own));
        // Labels of debug information go.
        let code = |ptx: &str| -> Vec<String> {
            let ptx = crate::labels::drop_unused(ptx);
            let lines = ptx.lines().filter(|line| !line.contains("$L__func"));
            lines
                .map(|line| line.split_whitespace().collect())
                .collect()
        };
        assert_eq!(code(&through), code(&own));
    }

    #[test]
    fn what_has_no_chains_or_has_variables_stays_as_it_is() {
        let plain = TEXT
            .replace(", inlinedAt: !15", "")
            .replace(", inlinedAt: !16", "");
        let plain = plain
            .replace(", inlinedAt: !13", "")
            .replace(", inlinedAt: !14", "")
            .replace(", inlinedAt: !17", "");
        let variable = format!("{TEXT}!30 = !DILocalVariable(name: \"x\", scope: !5)\n");
        for text in [plain, variable] {
            let mut module = Module::parse(&text).unwrap();
            let chains = Chains::name(&mut module);
            assert_eq!(module.to_string(), text);
            assert_eq!(
                chains.restore("\t.loc\t1 2 3 // a@@0:2:3\n"),
                "\t.loc\t1 2 3 // a@@0:2:3\n"
            );
        }
    }
}
