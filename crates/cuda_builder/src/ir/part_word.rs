//! Atomics that LLVM 22 lowers to a loop around `atom.cas`: those of 8 and 16 bits, and `nand`.
//!
//! LLVM reads the first value with a plain load, which races with other threads' atomics on it and
//! on the bytes next to an `AtomicU8` or `AtomicU16`. Here no load is plain. 16 bits have a `cas`
//! of their own. A byte is changed within its word: the first guess of the other bytes is 0, and
//! the failing `cas` returns them. The word's address is the byte's with its last two bits cleared
//! by an instruction next to the `cas`, which tells the emulator which byte is meant.
//!
//! A thread's own stack has no atomics: there LLVM's loop becomes plain accesses, and is kept.

use super::module::{Instruction, Module, ORDERINGS, Opcode, local, typed, unexpected, value};
use super::own_stack::own_pointers;
use crate::error::CudaBuilderError;

/// Rewrites every such `atomicrmw` and `cmpxchg`.
pub(crate) fn lower(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut count = 0;
    for function in module.functions_mut() {
        let has_some = (function.instructions())
            .filter_map(Atomic::of)
            .any(|atomic| atomic.is_lowered());
        if !has_some {
            continue;
        }
        let own = own_pointers(function)?;
        function.expand(|instruction| {
            let Some(atomic) = Atomic::of(instruction).filter(Atomic::is_lowered) else {
                return Ok(None);
            };
            if local(atomic.address).is_some_and(|name| own.contains(name)) {
                return Ok(None);
            }
            count += 1;
            let form = || unexpected("an atomic of another form", instruction.text());
            let lines = atomic.lines(instruction, count).ok_or_else(form)?;
            let position = instruction.position_text();
            let lines = lines
                .into_iter()
                .map(|line| Instruction::new(&(line + &position)));
            lines.collect::<Result<_, _>>().map(Some)
        })?;
    }
    Ok(())
}

/// An `atomicrmw` or a `cmpxchg`.
struct Atomic<'i> {
    /// `add`, `nand`, `cmpxchg`.
    operation: &'i str,
    /// `ptr addrspace(3)`
    pointer: &'i str,
    address: &'i str,
    ty: &'i str,
    /// The operand, or the expected and the new value.
    values: Vec<&'i str>,
    /// Scope and orderings as written.
    ordering: &'i str,
}

impl<'i> Atomic<'i> {
    fn of(instruction: &'i Instruction<'_>) -> Option<Self> {
        let count = match instruction.opcode() {
            Opcode::AtomicRmw => 1,
            Opcode::CmpXchg => 2,
            _ => return None,
        };
        let pieces: Vec<_> = instruction.pieces().take(1 + count).collect();
        let last = pieces.get(count)?;
        let (operation, place) = match count {
            1 => pieces[0].trim_start_matches("volatile ").split_once(' ')?,
            _ => ("cmpxchg", pieces[0]),
        };
        let (pointer, address) = typed(place);
        let (ty, operand) = typed(last);
        let end = last.rfind(operand)? + operand.len();
        Some(Atomic {
            operation,
            pointer,
            address,
            ty,
            values: pieces[1..].iter().map(|piece| value(piece)).collect(),
            ordering: last[end..].trim(),
        })
    }

    fn bits(&self) -> Option<u32> {
        self.ty.strip_prefix('i')?.parse().ok()
    }

    fn is_lowered(&self) -> bool {
        match self.bits() {
            Some(8 | 16) => true,
            Some(32 | 64) => self.operation == "nand",
            _ => false,
        }
    }

    /// The equivalent instructions.
    fn lines(&self, instruction: &Instruction<'_>, number: u32) -> Option<Vec<String>> {
        let bits = self.bits()?;
        let space = match self.pointer {
            "ptr" => "",
            "ptr addrspace(1)" => ".global",
            "ptr addrspace(3)" => ".shared",
            _ => return None,
        };
        let compares = self.operation == "cmpxchg";
        let (scope, orderings) = ordering(self.ordering)?;
        let scope_of_ptx = match scope {
            "" => ".sys",
            "syncscope(\"device\")" => ".gpu",
            "syncscope(\"block\")" => ".cta",
            _ => return None,
        };
        let text = match (bits, compares) {
            (8, true) => BYTE_COMPARED.to_owned(),
            (8, false) => byte(self.operation)?,
            (_, true) => COMPARED.to_owned(),
            (_, false) => whole(self.operation)?,
        };
        let text = text
            .replace("SPACE", space)
            .replace("SCOPE", scope_of_ptx)
            .replace("BITS", &bits.to_string())
            .replace('\n', "\\0A\\09");
        let (class, register) = match bits {
            8 => ("r", 32),
            16 => ("h", 16),
            32 => ("r", 32),
            _ => ("l", 64),
        };
        let name = format!("%part.word.{number}");
        let mut lines = Vec::new();
        let releases = |kind: &str| matches!(kind, "release" | "acq_rel");
        let acquires = |kind: &str| matches!(kind, "acquire" | "acq_rel" | "seq_cst");
        let fence = |kind: &str| format!("fence {scope} {kind}").replace("  ", " ");
        if orderings.contains(&"seq_cst") {
            lines.push(fence("seq_cst"));
        } else if orderings.iter().any(|kind| releases(kind)) {
            lines.push(fence("release"));
        }
        // A byte is in a 32-bit register.
        let widened = |value: &str, part: &str| match bits {
            8 => (
                Some(format!("{name}.{part} = zext i8 {value} to i32")),
                format!("{name}.{part}"),
            ),
            _ => (None, value.to_owned()),
        };
        let mut operands = format!("{} {}", self.pointer, self.address);
        let mut constraints = format!("=&{class},l");
        let mut widths = Vec::new();
        for (value, part) in self.values.iter().zip(["a", "b"]) {
            let (line, operand) = widened(value, part);
            lines.extend(line);
            operands.push_str(&format!(", i{register} {operand}"));
            constraints.push_str(&format!(",{class}"));
            widths.push(operand);
        }
        let result = instruction.result_text();
        let old = match (bits, compares) {
            (8, _) | (_, true) => format!("{name} = "),
            _ => result.to_owned(),
        };
        lines.push(format!(
            "{old}call i{register} asm sideeffect \"{text}\", \"{constraints},~{{memory}}\"({operands}) convergent"
        ));
        if orderings.iter().any(|kind| acquires(kind)) {
            lines.push(fence("acquire"));
        }
        if compares {
            let pair = format!("{{ {}, i1 }}", self.ty);
            lines.push(format!(
                "{name}.c = icmp eq i{register} {name}, {}",
                widths[0]
            ));
            let narrow = match bits {
                8 => {
                    lines.push(format!("{name}.o = trunc i32 {name} to i8"));
                    format!("{name}.o")
                }
                _ => name.clone(),
            };
            lines.push(format!(
                "{name}.p = insertvalue {pair} poison, {} {narrow}, 0",
                self.ty
            ));
            lines.push(format!(
                "{result}insertvalue {pair} {name}.p, i1 {name}.c, 1"
            ));
        } else if bits == 8 {
            lines.push(format!("{result}trunc i32 {name} to i8"));
        }
        Some(lines)
    }
}

/// The scope as written, and the orderings.
fn ordering(text: &str) -> Option<(&str, Vec<&str>)> {
    let (scope, rest) = match text.strip_prefix("syncscope(") {
        Some(rest) => text.split_at("syncscope(".len() + rest.find(')')? + 1),
        None => ("", text),
    };
    let orderings: Vec<_> = rest.split_whitespace().collect();
    let known = orderings
        .iter()
        .all(|ordering| ORDERINGS.contains(ordering));
    (known && !orderings.is_empty()).then_some((scope, orderings))
}

/// An operation on 16, 32 or 64 bits: `$0` is the old value, `$1` the address, `$2` the operand.
fn whole(operation: &str) -> Option<String> {
    let compute = match operation {
        "xchg" => "mov.bBITS next, $2;",
        "add" => "add.sBITS next, $0, $2;",
        "sub" => "sub.sBITS next, $0, $2;",
        "and" => "and.bBITS next, $0, $2;",
        "nand" => "and.bBITS next, $0, $2;\nnot.bBITS next, next;",
        "or" => "or.bBITS next, $0, $2;",
        "xor" => "xor.bBITS next, $0, $2;",
        "max" => "max.sBITS next, $0, $2;",
        "min" => "min.sBITS next, $0, $2;",
        "umax" => "max.uBITS next, $0, $2;",
        "umin" => "min.uBITS next, $0, $2;",
        _ => return None,
    };
    Some(format!(
        "{{\n.reg .pred again;\n.reg .bBITS seen, next;\nld.relaxedSCOPESPACE.bBITS seen, [$1];\nretry:\n\
         mov.bBITS $0, seen;\n{compute}\natom.relaxedSCOPESPACE.cas.bBITS seen, [$1], $0, next;\n\
         setp.ne.sBITS again, seen, $0;\n@again bra retry;\n}}"
    ))
}

/// `$0` is the old value, `$1` the address, `$2` and `$3` the expected and the new value.
const COMPARED: &str = "atom.relaxedSCOPESPACE.cas.bBITS $0, [$1], $2, $3;";

/// The word of the byte at `$1`, the byte's shift within it, and its mask.
const BYTE: &str = "{
.reg .pred again, same;
.reg .b64 word;
.reg .b32 shift, mask, keep, seen, old, next, part;
and.b64 word, $1, -4;
cvt.u32.u64 shift, $1;
and.b32 shift, shift, 3;
shl.b32 shift, shift, 3;
mov.b32 mask, 255;
shl.b32 mask, mask, shift;
not.b32 keep, mask;
";

/// The same for a byte; all values have 32 bits. Bitwise operations need no loop.
fn byte(operation: &str) -> Option<String> {
    let signed = |operation: &str| {
        format!(
            "shl.b32 next, $0, 24;\nshl.b32 part, $2, 24;\n{operation}.s32 next, next, part;\nshr.u32 next, next, 24;"
        )
    };
    let compute = match operation {
        "or" | "xor" => {
            return Some(format!(
                "{BYTE}shl.b32 part, $2, shift;\natom.relaxedSCOPESPACE.{operation}.b32 seen, [word], part;\n\
                 shr.u32 $0, seen, shift;\nand.b32 $0, $0, 255;\n}}"
            ));
        }
        "and" => {
            return Some(format!(
                "{BYTE}shl.b32 part, $2, shift;\nor.b32 part, part, keep;\n\
                 atom.relaxedSCOPESPACE.and.b32 seen, [word], part;\n\
                 shr.u32 $0, seen, shift;\nand.b32 $0, $0, 255;\n}}"
            ));
        }
        "xchg" => "mov.b32 next, $2;".to_owned(),
        "add" => "add.s32 next, $0, $2;".to_owned(),
        "sub" => "sub.s32 next, $0, $2;".to_owned(),
        "nand" => "and.b32 next, $0, $2;\nnot.b32 next, next;".to_owned(),
        "max" => signed("max"),
        "min" => signed("min"),
        "umax" => "max.u32 next, $0, $2;".to_owned(),
        "umin" => "min.u32 next, $0, $2;".to_owned(),
        _ => return None,
    };
    Some(format!(
        "{BYTE}mov.b32 seen, 0;\nretry:\nmov.b32 old, seen;\nshr.u32 $0, old, shift;\nand.b32 $0, $0, 255;\n\
         {compute}\nshl.b32 next, next, shift;\nand.b32 next, next, mask;\nand.b32 part, old, keep;\n\
         or.b32 next, next, part;\natom.relaxedSCOPESPACE.cas.b32 seen, [word], old, next;\n\
         setp.ne.s32 again, seen, old;\n@again bra retry;\n}}"
    ))
}

/// Repeats while only the other bytes differ from the guess.
const BYTE_COMPARED: &str = "{
.reg .pred again, same;
.reg .b64 word;
.reg .b32 shift, mask, keep, seen, old, next, part, expected, new;
and.b64 word, $1, -4;
cvt.u32.u64 shift, $1;
and.b32 shift, shift, 3;
shl.b32 shift, shift, 3;
mov.b32 mask, 255;
shl.b32 mask, mask, shift;
not.b32 keep, mask;
shl.b32 expected, $2, shift;
shl.b32 new, $3, shift;
mov.b32 part, 0;
retry:
or.b32 old, part, expected;
or.b32 next, part, new;
atom.relaxedSCOPESPACE.cas.b32 seen, [word], old, next;
and.b32 part, seen, keep;
and.b32 next, seen, mask;
setp.eq.s32 same, next, expected;
setp.ne.and.s32 again, seen, old, same;
@again bra retry;
shr.u32 $0, next, shift;
}";

#[cfg(test)]
mod tests {
    use super::lower;
    use crate::ir::module::Module;
    use crate::ir::testing::{check_body, function, rewritten};

    #[test]
    fn halves_have_a_comparison_of_their_own() {
        check_body(
            lower,
            "  %1 = cmpxchg weak ptr addrspace(3) %p, i16 %a, i16 2 acq_rel monotonic, align 2, !dbg !5\n",
            "  fence release, !dbg !5\n  \
             %part.word.1 = call i16 asm sideeffect \"atom.relaxed.sys.shared.cas.b16 $0, [$1], $2, $3;\", \
             \"=&h,l,h,h,~{memory}\"(ptr addrspace(3) %p, i16 %a, i16 2) convergent, !dbg !5\n  fence acquire, !dbg !5\n  \
             %part.word.1.c = icmp eq i16 %part.word.1, %a, !dbg !5\n  \
             %part.word.1.p = insertvalue { i16, i1 } poison, i16 %part.word.1, 0, !dbg !5\n  \
             %1 = insertvalue { i16, i1 } %part.word.1.p, i1 %part.word.1.c, 1, !dbg !5\n",
        );
    }

    /// The assembly for one instruction.
    #[track_caller]
    fn assembly(line: &str) -> String {
        let text = rewritten(&function(&format!("  {line}\n")), lower);
        assert!(
            !text.contains("atomicrmw") && !text.contains("cmpxchg "),
            "{text}"
        );
        text
    }

    #[test]
    fn no_value_is_loaded_plainly_and_every_space_and_scope_is_kept() {
        for (pointer, space) in [
            ("ptr", ""),
            ("ptr addrspace(1)", ".global"),
            ("ptr addrspace(3)", ".shared"),
        ] {
            for (scope, ptx) in [
                ("", ".sys"),
                ("syncscope(\"block\") ", ".cta"),
                ("syncscope(\"device\") ", ".gpu"),
            ] {
                for (ty, bits) in [("i8", 32), ("i16", 16)] {
                    for operation in ["xchg", "add", "sub", "nand", "max", "min", "umax", "umin"] {
                        let text = assembly(&format!(
                            "%1 = atomicrmw {operation} {pointer} %p, {ty} %v {scope}monotonic, align 1"
                        ));
                        assert!(
                            text.contains(&format!("atom.relaxed{ptx}{space}.cas.b{bits} ")),
                            "{text}"
                        );
                        let loads = text.matches("ld.").count();
                        let relaxed = text
                            .matches(&format!("ld.relaxed{ptx}{space}.b{bits} "))
                            .count();
                        assert!(
                            loads == relaxed && loads == usize::from(bits == 16),
                            "{text}"
                        );
                    }
                }
            }
        }
        let text = assembly("%1 = atomicrmw nand ptr addrspace(1) %p, i64 %v monotonic, align 8");
        assert!(
            text.contains("ld.relaxed.sys.global.b64 ") && text.contains("cas.b64 "),
            "{text}"
        );
    }

    #[test]
    fn bits_of_a_byte_need_no_loop() {
        for operation in ["and", "or", "xor"] {
            let text = assembly(&format!(
                "%1 = atomicrmw {operation} ptr %p, i8 %v monotonic, align 1"
            ));
            let line = format!("atom.relaxed.sys.{operation}.b32 seen, [word], part;");
            assert!(text.contains(&line) && !text.contains("retry"), "{text}");
        }
    }

    #[test]
    fn a_byte_s_word_is_found_beside_its_comparison() {
        let text = assembly("%1 = cmpxchg ptr %p, i8 1, i8 %b seq_cst seq_cst, align 1");
        for part in [
            "  fence seq_cst\n",
            "zext i8 1 to i32",
            "and.b64 word, $1, -4;",
            "cas.b32 seen, [word], old, next;",
            "  fence acquire\n",
            "icmp eq i32 %part.word.1, %part.word.1.a",
            "trunc i32 %part.word.1 to i8",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn words_and_the_stack_are_left_to_llvm() {
        let body = "  %q = alloca [4 x i8], align 1\n  %1 = atomicrmw add ptr %q, i8 1 monotonic, align 1\n  \
                    %2 = atomicrmw add ptr %p, i32 1 monotonic, align 4\n  \
                    %3 = cmpxchg ptr %p, i64 0, i64 1 monotonic monotonic, align 8\n  \
                    %4 = atomicrmw fadd ptr %p, half %h monotonic, align 2\n";
        check_body(lower, body, body);
    }

    #[test]
    fn what_is_not_known_is_quoted() {
        for line in [
            "%1 = atomicrmw uinc_wrap ptr %p, i8 1 monotonic, align 1",
            "%1 = atomicrmw add ptr addrspace(7) %p, i8 1 monotonic, align 1",
            "%1 = atomicrmw add ptr %p, i8 1 syncscope(\"cluster\") monotonic, align 1",
        ] {
            let ir = function(&format!("  {line}\n"));
            let error = lower(&mut Module::parse(&ir).unwrap()).unwrap_err();
            assert!(error.to_string().contains(line), "{error}");
        }
    }
}
