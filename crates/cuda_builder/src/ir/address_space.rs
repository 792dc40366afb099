//! Moves marked statics out of global memory, before LLVM optimises anything.
//!
//! This must come first: while a shared array is an ordinary internal global, GlobalOpt may split
//! it and turn the part that one function uses into a per-thread stack slot, a silent miscompile.

use std::collections::HashMap;

use super::module::{Global, Item, Lexer, Module, Spanned, Token, has, unexpected};
use super::names::demangle;
use crate::error::CudaBuilderError;

/// LLVM's numbers for NVPTX's address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Shared = 3,
    Constant = 4,
}

/// The sections that `cuda_std_macros` writes.
const MARKS: [(&str, Space); 2] = [
    ("cuda_std.shared", Space::Shared),
    ("cuda_std.constant", Space::Constant),
];

/// The array whose size is set by the launch, as declared by `cuda_std::shared`.
const DYNAMIC_SHARED: &str = "cuda_std_dynamic_shared";

/// Alignment of shared arrays: that of the widest vector access.
const SHARED_ALIGNMENT: u32 = 16;

/// Gives every marked static its address space and casts each use back to a generic pointer; LLVM's
/// own passes then infer the space of each access.
///
/// With `all_constants`, unmarked immutable statics without pointers also move to the constant
/// space, while there is room.
pub(crate) fn lower(module: &mut Module<'_>, all_constants: bool) -> Result<(), CudaBuilderError> {
    let spaces = spaces(module, all_constants);
    if spaces.is_empty() {
        return Ok(());
    }
    for item in &mut module.items {
        match item {
            Item::Global(global) => match spaces.get(global.name()) {
                Some(&space) => {
                    let definition = definition(global, space)?;
                    global.replace(&definition)?;
                }
                None => {
                    if let Some(cast) = cast(global.text(), &spaces) {
                        global.replace(&cast)?;
                    }
                }
            },
            Item::Metadata(node) => {
                if let Some(cast) = cast(node.node(), &spaces) {
                    node.replace(&cast);
                }
            }
            _ => {}
        }
    }
    for instruction in module.instructions_mut() {
        if let Some(cast) = cast(instruction.text(), &spaces) {
            instruction.replace(&cast)?;
        }
    }
    Ok(())
}

/// The new space of each static that leaves global memory.
fn spaces(module: &Module<'_>, all_constants: bool) -> HashMap<String, Space> {
    let marked = |global: &Global<'_>| Some((global.name().to_owned(), space_of(global)?));
    let mut spaces: HashMap<_, _> = module.globals().filter_map(marked).collect();
    if all_constants {
        let constants =
            (module.globals()).filter(|global| space_of(global) == Some(Space::Constant));
        let mut room = constants.fold(CONSTANT_BYTES, |room, global| {
            room.saturating_sub(constant_bytes(global).unwrap_or(CONSTANT_BYTES))
        });
        for global in module.globals().filter(|global| space_of(global).is_none()) {
            if let Some(bytes) = constant_bytes(global).filter(|&bytes| bytes <= room) {
                room -= bytes;
                spaces.insert(global.name().to_owned(), Space::Constant);
            }
        }
    }
    spaces
}

/// The text with a cast for each moved static; `None` if it mentions none.
fn cast(text: &str, spaces: &HashMap<String, Space>) -> Option<String> {
    let (mut cast, mut done) = (String::new(), 0);
    if !text.contains('@') {
        return None;
    }
    for Spanned { token, span, .. } in Lexer::new(text) {
        let space = match token {
            Token::Global(name) => spaces.get(name),
            _ => None,
        };
        if let Some(&space) = space {
            // In `ptr @x` the type stays, because the cast is a generic pointer again.
            cast.push_str(&text[done..span.start]);
            let symbol = &text[span.clone()];
            let space = space as u32;
            cast.push_str(&format!(
                "addrspacecast (ptr addrspace({space}) {symbol} to ptr)"
            ));
            done = span.end;
        }
    }
    cast.push_str(&text[done..]);
    (done > 0).then_some(cast)
}

/// Constant memory that a module may use, less a reserve for alignment.
const CONSTANT_BYTES: u64 = 60 << 10;

/// The size of an immutable static that consists of bytes only.
fn constant_bytes(global: &Global<'_>) -> Option<u64> {
    if global.keyword() != "constant" {
        return None;
    }
    let arrays = (global.ty().trim_start_matches("<{ ")).trim_end_matches(" }>");
    arrays.split(", ").map(array_bytes).sum()
}

fn array_bytes(array: &str) -> Option<u64> {
    let length = array.strip_prefix('[')?.strip_suffix(" x i8]")?;
    length.parse().ok()
}

/// The constant memory of a CUDA module.
const CONSTANT_LIMIT: u64 = 64 << 10;

/// Fails if the constants exceed constant memory. Constants that LLVM has removed do not count.
pub(crate) fn check_constants(module: &Module<'_>) -> Result<(), CudaBuilderError> {
    let is_constant = |global: &&Global<'_>| global.linkage().contains("addrspace(4)");
    let mut constants: Vec<_> = (module.globals().filter(is_constant))
        .map(|global| {
            // rustc builds statics from bytes and pointers only.
            let parts = (global.ty().trim_start_matches("<{ ")).trim_end_matches(" }>");
            let bytes = parts.split(", ").map(|part| match part {
                "ptr" => 8,
                part => array_bytes(part).unwrap_or(0),
            });
            (bytes.sum::<u64>(), demangle(global.name()))
        })
        .collect();
    let bytes = constants.iter().map(|(bytes, _)| bytes).sum();
    constants.sort();
    match constants.pop() {
        Some((_, largest)) if bytes > CONSTANT_LIMIT => {
            Err(CudaBuilderError::ConstantMemory { bytes, largest })
        }
        _ => Ok(()),
    }
}

/// The names of constants that the host may set: those visible outside the module.
pub(crate) fn public_constants<'m>(module: &'m Module<'_>) -> impl Iterator<Item = &'m str> {
    module
        .globals()
        .filter(|global| space_of(global) == Some(Space::Constant) && !is_private(global))
        .map(Global::name)
}

fn is_private(global: &Global<'_>) -> bool {
    has(global.linkage(), "internal") || has(global.linkage(), "private")
}

fn space_of(global: &Global<'_>) -> Option<Space> {
    if global.name() == DYNAMIC_SHARED {
        return Some(Space::Shared);
    }
    let section = global.section()?;
    MARKS
        .iter()
        .find(|(mark, _)| *mark == section)
        .map(|&(_, space)| space)
}

/// The static's definition in its new space.
fn definition(global: &Global<'_>, space: Space) -> Result<String, CudaBuilderError> {
    if !matches!(global.keyword(), "global" | "constant") {
        let reason = "a marked static that is neither `global` nor `constant`";
        return Err(unexpected(reason, global.text()));
    }
    let (symbol, ty) = (global.symbol(), global.ty());
    let alignment = global.alignment().unwrap_or(1);
    Ok(match space {
        Space::Shared if global.name() == DYNAMIC_SHARED => {
            format!("{symbol} = external addrspace(3) global {ty}, align {SHARED_ALIGNMENT}")
        }
        // Shared memory has no initial contents; the static's initialiser is dropped.
        Space::Shared => format!(
            "{symbol} = internal addrspace(3) global {ty} undef, align {}",
            alignment.max(SHARED_ALIGNMENT)
        ),
        // `externally_initialized`: the host may set a constant with a public name.
        Space::Constant => {
            let placed = if is_private(global) {
                "internal addrspace(4)"
            } else {
                "addrspace(4) externally_initialized"
            };
            let initialiser = global.initialiser();
            format!("{symbol} = {placed} constant {ty} {initialiser}, align {alignment}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{check_constants, lower};
    use crate::ir::module::Module;
    use crate::ir::testing::{function, rewritten};

    /// A static and a use of it.
    #[track_caller]
    fn check(global: &str, expected: &str, body: &str, expected_body: &str) {
        let ir = format!("{global}{}", function(body));
        let expected = format!("{expected}{}", function(expected_body));
        assert_eq!(rewritten(&ir, |module| lower(module, false)), expected);
    }

    #[test]
    fn a_shared_static_loses_its_initialiser_and_gains_alignment() {
        check(
            "@s = internal global [1024 x i8] zeroinitializer, section \"cuda_std.shared\", align 4\n",
            "@s = internal addrspace(3) global [1024 x i8] undef, align 16\n",
            "  store float %1, ptr @s, align 4\n",
            "  store float %1, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 4\n",
        );
    }

    #[test]
    fn an_over_aligned_shared_static_keeps_its_alignment() {
        check(
            "@s = global <{ [4 x i8], [60 x i8] }> <{ [4 x i8] zeroinitializer, [60 x i8] undef }>, section \"cuda_std.shared\", align 64\n",
            "@s = internal addrspace(3) global <{ [4 x i8], [60 x i8] }> undef, align 64\n",
            "",
            "",
        );
    }

    #[test]
    fn the_dynamic_array_is_known_by_name() {
        check(
            "@cuda_std_dynamic_shared = external global [0 x i8]\n",
            "@cuda_std_dynamic_shared = external addrspace(3) global [0 x i8], align 16\n",
            "  %1 = getelementptr i8, ptr @cuda_std_dynamic_shared, i64 %0\n",
            "  %1 = getelementptr i8, ptr addrspacecast (ptr addrspace(3) @cuda_std_dynamic_shared to ptr), i64 %0\n",
        );
    }

    #[test]
    fn constants_keep_their_values_and_public_ones_may_be_set_by_the_host() {
        check(
            "@c = internal constant [2 x i8] c\"\\01\\02\", section \"cuda_std.constant\", align 2\n\
             @P = constant [2 x i8] c\"\\01\\02\", section \"cuda_std.constant\", align 2\n",
            "@c = internal addrspace(4) constant [2 x i8] c\"\\01\\02\", align 2\n\
             @P = addrspace(4) externally_initialized constant [2 x i8] c\"\\01\\02\", align 2\n",
            "",
            "",
        );
    }

    #[test]
    fn tables_debug_records_and_metadata_name_it_in_its_space() {
        let ir = "@s = global [4 x i8] undef, section \"cuda_std.shared\"\n@t = constant [1 x ptr] [ptr @s]\n\
                  define void @f() {\n    #dbg_value(ptr @s, !7, !DIExpression(), !8)\n  ret void\n}\n!1 = !{ptr @s}\n";
        let lowered = rewritten(ir, |module| lower(module, false));
        let cast = "ptr addrspacecast (ptr addrspace(3) @s to ptr)";
        assert_eq!(lowered.matches(cast).count(), 3, "{lowered}");
    }

    #[test]
    fn all_constants_of_bytes_are_moved_while_there_is_room() {
        let ir = "@a = private unnamed_addr constant [2 x i8] c\"ab\", align 1\n@b = private constant <{ [2 x i8], ptr }> undef, align 8\n\
                  @c = internal constant [70000 x i8] zeroinitializer, align 4\n@v = internal global [2 x i8] undef, align 1\n";
        let lowered = rewritten(ir, |module| lower(module, true));
        let moved: Vec<_> = lowered
            .lines()
            .map(|line| line.contains("addrspace(4)"))
            .collect();
        assert_eq!(moved, [true, false, false, false], "{lowered}");
        assert_eq!(rewritten(ir, |module| lower(module, false)), ir);
    }

    #[test]
    fn constants_that_do_not_fit_are_counted() {
        let check = |bytes: u32| {
            let ir = format!(
                "@A = addrspace(4) constant [{bytes} x i8] zeroinitializer, align 4\n\
                 @B = internal addrspace(4) constant <{{ [8 x i8], ptr }}> undef, align 8\n@C = global [70000 x i8] undef\n"
            );
            check_constants(&Module::parse(&ir).unwrap())
        };
        check(65520).unwrap();
        let error = check(65521).unwrap_err().to_string();
        assert!(
            error.contains("65537 bytes, of which the largest part is `A`"),
            "{error}"
        );
    }

    #[test]
    fn other_globals_and_strings_stay_as_they_are() {
        let globals = "@a = internal global [2 x i8] undef, align 1\n@t = constant [2 x i8] c\"@s\", align 1\n";
        let body = "  store i8 0, ptr @a, align 1\n";
        check(globals, globals, body, body);
    }
}
