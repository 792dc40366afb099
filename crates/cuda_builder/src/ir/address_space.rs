//! Moves marked statics out of global memory, before LLVM optimises anything.
//!
//! It must come first: while a shared array is an ordinary internal global, GlobalOpt may split it and turn the part that
//! one function uses into a stack slot of each thread, which is a silent miscompile.

use std::collections::HashMap;

use super::symbol::symbols;
use crate::error::CudaBuilderError;

/// LLVM's numbers of NVPTX's address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Shared = 3,
    Constant = 4,
}

/// The section marks that `cuda_std_macros` writes.
const MARKS: [(&str, Space); 2] = [
    ("section \"cuda_std.shared\"", Space::Shared),
    ("section \"cuda_std.constant\"", Space::Constant),
];

/// The array whose size comes with the launch, as `cuda_std::shared` declares it.
const DYNAMIC_SHARED: &str = "cuda_std_dynamic_shared";

/// Shared arrays start where the widest vector access (16 bytes) may start.
const SHARED_ALIGNMENT: u32 = 16;

/// Gives every marked static its address space and casts every use of it back to a generic pointer; LLVM's own passes
/// then find the space of each access.
///
/// With `all_constants`, unmarked immutable statics without pointers go to the constant space too, while there is room.
pub(crate) fn lower(ir: &str, all_constants: bool) -> Result<String, CudaBuilderError> {
    let mut spaces = HashMap::new();
    let definitions = || ir.lines().filter(|line| line.starts_with('@'));
    for line in definitions() {
        if let (Some(name), Some(space)) = (
            symbols(line).next().map(|symbol| symbol.name),
            space_of(line),
        ) {
            spaces.insert(name, space);
        }
    }
    if all_constants {
        let marked = definitions().filter(|line| space_of(line) == Some(Space::Constant));
        let mut room = marked.fold(CONSTANT_BYTES, |room, line| {
            room.saturating_sub(constant_bytes(line).unwrap_or(CONSTANT_BYTES))
        });
        for line in definitions().filter(|line| space_of(line).is_none()) {
            let name = symbols(line).next().map(|symbol| symbol.name);
            if let (Some(name), Some(bytes)) =
                (name, constant_bytes(line).filter(|&bytes| bytes <= room))
            {
                room -= bytes;
                spaces.insert(name, Space::Constant);
            }
        }
    }
    let mut lowered = String::with_capacity(ir.len() + ir.len() / 8);
    for line in ir.lines() {
        let mut done = 0;
        let is_definition = line.starts_with('@');
        for (index, symbol) in symbols(line).enumerate() {
            let Some(&space) = spaces.get(symbol.name) else {
                continue;
            };
            if is_definition && index == 0 {
                lowered.push_str(&definition(line, symbol.name, space)?);
                done = line.len();
                break;
            }
            // `ptr @x`: the type before it stays, for the cast is a generic pointer again.
            let name = &line[symbol.span.clone()];
            lowered.push_str(&line[done..symbol.span.start]);
            lowered.push_str(&format!(
                "addrspacecast (ptr addrspace({}) {name} to ptr)",
                space as u32
            ));
            done = symbol.span.end;
        }
        lowered.push_str(&line[done..]);
        lowered.push('\n');
    }
    Ok(lowered)
}

/// What a module may have of constant memory, less what alignment may cost.
const CONSTANT_BYTES: u64 = 60 << 10;

/// The size of an immutable static that is bytes only.
fn constant_bytes(definition: &str) -> Option<u64> {
    let (_, rest) = definition.split_once(" constant ")?;
    let (ty, _) = split_type(rest)?;
    let arrays = ty.trim_start_matches("<{ ").trim_end_matches(" }>");
    arrays
        .split(", ")
        .map(|array| {
            array
                .strip_prefix('[')?
                .strip_suffix(" x i8]")?
                .parse::<u64>()
                .ok()
        })
        .sum()
}

/// The names of constants that the host may set: those visible outside the module.
pub(crate) fn public_constants(ir: &str) -> impl Iterator<Item = &str> {
    ir.lines()
        .filter(|line| line.starts_with('@') && space_of(line) == Some(Space::Constant))
        .filter(|line| !line.contains(" = internal ") && !line.contains(" = private "))
        .filter_map(|line| symbols(line).next().map(|symbol| symbol.name))
}

fn space_of(definition: &str) -> Option<Space> {
    if symbols(definition).next()?.name == DYNAMIC_SHARED {
        return Some(Space::Shared);
    }
    MARKS
        .iter()
        .find(|(mark, _)| definition.contains(mark))
        .map(|&(_, space)| space)
}

/// The static's definition in its new space.
fn definition(line: &str, name: &str, space: Space) -> Result<String, CudaBuilderError> {
    let unexpected = |reason: &str| CudaBuilderError::UnexpectedIr {
        symbol: name.to_owned(),
        reason: format!("{reason} in `{line}`"),
    };
    let symbol = &line[symbols(line)
        .next()
        .ok_or_else(|| unexpected("no symbol"))?
        .span];
    let (linkage, rest) = ["global ", "constant "]
        .iter()
        .find_map(|keyword| line.split_once(&format!(" {keyword}")))
        .ok_or_else(|| unexpected("neither `global` nor `constant`"))?;
    let (ty, rest) = split_type(rest).ok_or_else(|| unexpected("no type"))?;
    let alignment = alignment(line).unwrap_or(1);
    Ok(match space {
        Space::Shared if name == DYNAMIC_SHARED => {
            format!("{symbol} = external addrspace(3) global {ty}, align {SHARED_ALIGNMENT}")
        }
        // Shared memory has no initial contents, whatever the static's initialiser says.
        Space::Shared => format!(
            "{symbol} = internal addrspace(3) global {ty} undef, align {}",
            alignment.max(SHARED_ALIGNMENT)
        ),
        // `externally_initialized`: the host may set a constant that has a public name.
        Space::Constant => {
            let placed = if linkage.contains(" internal") || linkage.contains(" private") {
                "internal addrspace(4)"
            } else {
                "addrspace(4) externally_initialized"
            };
            let initialiser = rest.split(", section ").next().unwrap_or_default().trim();
            format!("{symbol} = {placed} constant {ty} {initialiser}, align {alignment}")
        }
    })
}

/// Splits `[4 x i8] undef, …` after the type, which may be nested.
fn split_type(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'<' | b'{' | b'(' => depth += 1,
            b']' | b'>' | b'}' | b')' => depth -= 1,
            b' ' | b',' if depth == 0 => return Some((&text[..at], &text[at..])),
            _ => {}
        }
    }
    (!text.is_empty()).then_some((text, ""))
}

fn alignment(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once(", align ")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ir: &str, expected: &str) {
        assert_eq!(lower(ir, false).unwrap(), expected);
    }

    #[test]
    fn a_shared_static_loses_its_initialiser_and_gains_alignment() {
        check(
            "@s = internal global [1024 x i8] zeroinitializer, section \"cuda_std.shared\", align 4\n  store float %1, ptr @s, align 4\n",
            "@s = internal addrspace(3) global [1024 x i8] undef, align 16\n  \
             store float %1, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 4\n",
        );
    }

    #[test]
    fn an_over_aligned_shared_static_keeps_its_alignment() {
        check(
            "@s = global <{ [4 x i8], [60 x i8] }> <{ [4 x i8] zeroinitializer, [60 x i8] undef }>, section \"cuda_std.shared\", align 64\n",
            "@s = internal addrspace(3) global <{ [4 x i8], [60 x i8] }> undef, align 64\n",
        );
    }

    #[test]
    fn the_dynamic_array_is_known_by_name() {
        check(
            "@cuda_std_dynamic_shared = external global [0 x i8]\n  %1 = getelementptr i8, ptr @cuda_std_dynamic_shared, i64 %0\n",
            "@cuda_std_dynamic_shared = external addrspace(3) global [0 x i8], align 16\n  \
             %1 = getelementptr i8, ptr addrspacecast (ptr addrspace(3) @cuda_std_dynamic_shared to ptr), i64 %0\n",
        );
    }

    #[test]
    fn constants_keep_their_values_and_public_ones_may_be_set_by_the_host() {
        check(
            "@c = internal constant [2 x i8] c\"\\01\\02\", section \"cuda_std.constant\", align 2\n\
             @P = constant [2 x i8] c\"\\01\\02\", section \"cuda_std.constant\", align 2\n",
            "@c = internal addrspace(4) constant [2 x i8] c\"\\01\\02\", align 2\n\
             @P = addrspace(4) externally_initialized constant [2 x i8] c\"\\01\\02\", align 2\n",
        );
    }

    #[test]
    fn all_constants_of_bytes_are_moved_while_there_is_room() {
        let ir = "@a = private unnamed_addr constant [2 x i8] c\"ab\", align 1\n@b = private constant <{ [2 x i8], ptr }> undef, align 8\n\
                  @c = internal constant [70000 x i8] zeroinitializer, align 4\n@v = internal global [2 x i8] undef, align 1\n";
        let lowered = lower(ir, true).unwrap();
        let moved: Vec<_> = lowered
            .lines()
            .map(|line| line.contains("addrspace(4)"))
            .collect();
        assert_eq!(moved, [true, false, false, false], "{lowered}");
        assert_eq!(lower(ir, false).unwrap(), ir);
    }

    #[test]
    fn other_globals_and_strings_stay_as_they_are() {
        let ir = "@a = internal global [2 x i8] undef, align 1\n@t = constant [2 x i8] c\"@s\", align 1\n  store i8 0, ptr @a, align 1\n";
        check(ir, ir);
    }
}
