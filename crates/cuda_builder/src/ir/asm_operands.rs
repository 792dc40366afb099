//! Moves conversions of addresses, and of conditions that always hold, out of inline assembly.
//!
//! Rust passes only generic pointers and integers. So a template converts the pointers to a memory
//! space, and a `bool` to a predicate:
//!
//! ```text
//! {
//! .reg .pred inside;
//! .reg .u64 global;
//! setp.ne.u32 inside, ${1}, 0;
//! cvta.to.global.u64 global, ${2};
//! @inside ld.global.b32 ${0}, [global];
//! }
//! ```
//!
//! Outside the template LLVM converts most pointers once, where they enter the kernel. A result that
//! the template converts to a generic address, `cvta.global.u64 ${0}, sum;`, is converted outside,
//! too: LLVM then knows its space. A predicate that is always true is removed here, most others
//! [in the PTX](crate::guards).

use std::borrow::Cow;

use super::module::{Callee, Instruction, Module, value};
use crate::error::CudaBuilderError;

/// The lines of a template, which Rust joins by line feeds.
const LINE: &str = "\\0A";

/// Before the template of assembly whose result is a generic address.
const POINTER: &str = "ptr asm";

/// Moves conversions out of every template that has them in this form, each on a line of its own.
/// Other templates stay as they are.
pub(crate) fn lift(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut count = 0;
    for function in module.functions_mut() {
        function.expand(|instruction| {
            let Some(mut assembly) = Assembly::of(instruction)? else {
                return Ok(None);
            };
            let mut before = Vec::new();
            let mut result = None;
            for (space, number) in [("global", 1), ("shared", 3)] {
                if assembly.gives(space) {
                    result = Some((
                        format!("ptr addrspace({number})"),
                        format!("%asm.address.{count}"),
                    ));
                    count += 1;
                }
                let conversion = format!("cvta.to.{space}.u64 ");
                let Some((at, name, operand)) = assembly.statement(&conversion, ";") else {
                    continue;
                };
                let argument = assembly.arguments[operand.argument];
                if !argument.starts_with("ptr ") || argument.contains("addrspace(") {
                    continue;
                }
                if !assembly.replace(at, &format!(".reg .u64 {name};"), &name, operand.number) {
                    continue;
                }
                let (ty, fresh) = (
                    format!("ptr addrspace({number})"),
                    format!("%asm.address.{count}"),
                );
                count += 1;
                let position = instruction.position_text();
                before.push(Instruction::new(&format!(
                    "{fresh} = addrspacecast ptr {} to {ty}{position}",
                    value(argument)
                ))?);
                assembly.new_arguments[operand.argument] = format!("{ty} {fresh}").into();
            }
            if let Some((at, name, operand)) = assembly.statement("setp.ne.u32 ", ", 0;")
                && assembly.constraints[operand.number] == "r"
                && value(assembly.arguments[operand.argument]) == "1"
                && assembly.always(at, &format!(".reg .pred {name};"), &name)
            {
                // Nothing names the operand any more: as an immediate it needs no register.
                assembly.constraints[operand.number] = "n";
            }
            if !assembly.is_changed {
                return Ok(None);
            }
            let Some((ty, fresh)) = result else {
                let called = instruction.result_text();
                before.push(assembly.instruction(instruction, called, None)?);
                return Ok(Some(before));
            };
            let called = format!("{fresh} = ");
            before.push(assembly.instruction(instruction, &called, Some(&ty))?);
            before.push(Instruction::new(&format!(
                "{}addrspacecast {ty} {fresh} to ptr{}",
                instruction.result_text(),
                instruction.position_text()
            ))?);
            Ok(Some(before))
        })?;
    }
    Ok(())
}

/// A call of inline assembly.
struct Assembly<'i> {
    /// What comes before the template: the result's type and flags.
    start: &'i str,
    /// The template's lines, edited so far.
    lines: Vec<Cow<'i, str>>,
    /// One for each operand, outputs first, then clobbers.
    constraints: Vec<&'i str>,
    arguments: Vec<&'i str>,
    new_arguments: Vec<Cow<'i, str>>,
    attributes_at: usize,
    is_changed: bool,
}

/// An input: its number in the template, and among the arguments.
#[derive(Clone, Copy)]
struct Operand {
    number: usize,
    argument: usize,
}

impl<'i> Assembly<'i> {
    /// `None` for other instructions, and if an output is in memory: it would be an argument too.
    fn of(instruction: &'i Instruction<'_>) -> Result<Option<Self>, CudaBuilderError> {
        let Some(call) = instruction.call()? else {
            return Ok(None);
        };
        let Callee::Assembly {
            template,
            constraints,
        } = call.callee
        else {
            return Ok(None);
        };
        let arguments: Vec<_> = call.arguments().collect();
        let (start, _) = instruction.operands().split_once('"').unwrap_or_default();
        let is_plain = !constraints.contains('*');
        Ok(is_plain.then(|| Assembly {
            start,
            lines: template.split(LINE).map(Cow::Borrowed).collect(),
            constraints: constraints.split(',').collect(),
            new_arguments: arguments.iter().map(|&text| text.into()).collect(),
            arguments,
            attributes_at: call.attributes_at,
            is_changed: false,
        }))
    }

    /// Finds the line `START NAME, ${OPERAND} END`: its index, NAME and OPERAND. `None` if another
    /// line uses the operand.
    fn statement(&self, start: &str, end: &str) -> Option<(usize, String, Operand)> {
        let (at, inner) = (self.lines.iter().enumerate())
            .find_map(|(at, line)| Some((at, line.strip_prefix(start)?.strip_suffix(end)?)))?;
        // rustc writes an operand as `${1}`.
        let (name, operand) = inner.strip_suffix('}')?.split_once(", ${")?;
        let number: usize = operand.parse().ok()?;
        let outputs = (self.constraints.iter())
            .take_while(|constraint| constraint.starts_with('='))
            .count();
        let argument = number.checked_sub(outputs)?;
        let uses = (self.lines.iter())
            .map(|line| uses(line, operand))
            .sum::<usize>();
        (uses == 1 && argument < self.arguments.len()).then(|| {
            let operand = Operand { number, argument };
            (at, name.to_owned(), operand)
        })
    }

    /// Removes the conversion at line `at` and its declaration, and names the operand instead of
    /// its result. `false` if there is no such declaration.
    fn replace(&mut self, at: usize, declaration: &str, name: &str, operand: usize) -> bool {
        if !self.remove(at, declaration) {
            return false;
        }
        for line in &mut self.lines {
            let named = words(line)
                .map(|word| match word == name {
                    true => format!("${{{operand}}}"),
                    false => word.to_owned(),
                })
                .collect();
            *line = Cow::Owned(named);
        }
        true
    }

    /// Removes the line `cvta.SPACE.u64 ${0}, NAME;` and the declaration of NAME, and names the result
    /// instead. `false` if it is no generic address, or not made like this.
    fn gives(&mut self, space: &str) -> bool {
        let is_only = self
            .constraints
            .iter()
            .filter(|of| of.starts_with('='))
            .count()
            == 1
            && self.lines.iter().map(|line| uses(line, "0")).sum::<usize>() == 1
            && self.start.contains(POINTER);
        let conversion = format!("cvta.{space}.u64 ${{0}}, ");
        let found = self.lines.iter().enumerate().find_map(|(at, line)| {
            let name = line.strip_prefix(&conversion)?.strip_suffix(';')?;
            Some((at, name.to_owned()))
        });
        is_only
            && found
                .is_some_and(|(at, name)| self.replace(at, &format!(".reg .u64 {name};"), &name, 0))
    }

    /// Removes a predicate that is set at line `at`: its guards, its declaration and that line.
    /// `false` if it is used in another way.
    fn always(&mut self, at: usize, declaration: &str, name: &str) -> bool {
        let guard = format!("@{name} ");
        let is_guard = |(number, line): (usize, &Cow<'_, str>)| {
            let rest = line.strip_prefix(&guard).unwrap_or(line);
            number == at || line == declaration || words(rest).all(|word| word != name)
        };
        if !self.lines.iter().enumerate().all(is_guard) || !self.remove(at, declaration) {
            return false;
        }
        for line in &mut self.lines {
            if let Some(rest) = line.strip_prefix(&guard) {
                *line = Cow::Owned(rest.to_owned());
            }
        }
        true
    }

    /// Removes a line and a declaration; nothing, if there is no such declaration.
    fn remove(&mut self, at: usize, declaration: &str) -> bool {
        let Some(declared) = self.lines.iter().position(|line| line == declaration) else {
            return false;
        };
        for line in [at.max(declared), at.min(declared)] {
            self.lines.remove(line);
        }
        self.is_changed = true;
        true
    }

    /// The changed call, whose result has this text before it, and this type if it is another. Braces
    /// that no longer enclose a declaration are removed.
    fn instruction<'n>(
        mut self,
        old: &Instruction<'_>,
        result: &str,
        ty: Option<&str>,
    ) -> Result<Instruction<'n>, CudaBuilderError> {
        let declares = self.lines.iter().any(|line| line.contains(".reg "));
        let is_block = self.lines.first().is_some_and(|line| line == "{")
            && self.lines.last().is_some_and(|line| line == "}");
        if !declares && is_block {
            self.lines.pop();
            self.lines.remove(0);
        }
        let start = match ty {
            Some(ty) => self.start.replacen(POINTER, &format!("{ty} asm"), 1),
            None => self.start.to_owned(),
        };
        let text = format!(
            "{result}{}{start}\"{}\", \"{}\"({}){}{}",
            old.operation()
                .strip_suffix(old.operands())
                .unwrap_or_default(),
            self.lines.join(LINE),
            self.constraints.join(","),
            self.new_arguments.join(", "),
            &old.operands()[self.attributes_at..],
            old.metadata()
        );
        Instruction::new(&text)
    }
}

/// How often a line names the operand.
fn uses(line: &str, operand: &str) -> usize {
    let mut before = "";
    words(line)
        .filter(|&word| {
            let is_operand = word == operand && (before.ends_with('$') || before.ends_with("${"));
            before = word;
            is_operand
        })
        .count()
}

/// A line, divided into words, such as `ld.global`, and what is between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "_.%".contains(c);
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_of_word(c) != is_of_word(first));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::lift;
    use crate::ir::testing::check_body;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        check_body(lift, body, expected);
    }

    #[test]
    fn an_address_is_converted_outside() {
        let guard = ".reg .pred inside;\\0Asetp.ne.u32 inside, ${2}, 0;";
        let integer = "  %i = zext i1 %c to i32\n";
        check(
            &format!(
                "{integer}  %1 = call {{ i32, i32 }} asm sideeffect \"{{\\0A.reg .u64 global;\\0A{guard}\\0A\
                 cvta.to.global.u64 global, ${{3}};\\0A@inside ld.global.v2.b32 {{${{0}}, ${{1}}}}, [global];\\0A}}\", \
                 \"=&r,=&r,r,l,0,1,~{{memory}}\"(i32 %i, ptr nonnull align 8 %p, i32 0, i32 7) #4, !dbg !5\n"
            ),
            &format!(
                "{integer}  %asm.address.0 = addrspacecast ptr %p to ptr addrspace(1), !dbg !5\n  \
                 %1 = call {{ i32, i32 }} asm sideeffect \"{{\\0A{guard}\\0A@inside ld.global.v2.b32 {{${{0}}, ${{1}}}}, [${{3}}];\\0A}}\", \
                 \"=&r,=&r,r,l,0,1,~{{memory}}\"(i32 %i, ptr addrspace(1) %asm.address.0, i32 0, i32 7) #4, !dbg !5\n"
            ),
        );
    }

    #[test]
    fn a_result_is_converted_outside() {
        let call = |ty: &str, lines: &str| {
            format!(
                "  %q = tail call {ty} asm \"{{\\0A{lines}\\0A}}\", \"=&l,l,l\"(ptr %p, i64 %n) #4, !dbg !5\n"
            )
        };
        let address = ".reg .u64 a;\\0A.reg .u64 b;\\0Acvta.to.global.u64 a, ${1};";
        let sum = "add.u64 b, a, ${2};\\0Acvta.global.u64 ${0}, b;";
        check(
            &call("ptr", &format!("{address}\\0A{sum}")),
            "  %asm.address.1 = addrspacecast ptr %p to ptr addrspace(1), !dbg !5\n  \
             %asm.address.0 = tail call ptr addrspace(1) asm \"add.u64 ${0}, ${1}, ${2};\", \"=&l,l,l\"(ptr addrspace(1) %asm.address.1, i64 %n) #4, !dbg !5\n  \
             %q = addrspacecast ptr addrspace(1) %asm.address.0 to ptr, !dbg !5\n",
        );
        // It is read again, or an integer.
        let made = ".reg .u64 b;\\0Aadd.u64 b, ${1}, ${2};\\0Acvta.global.u64 ${0}, b;";
        let again = call("ptr", &format!("{made}\\0Aprefetch.L2 [${{0}}];"));
        check(&again, &again);
        let integer = call("i64", made);
        check(&integer, &integer);
    }

    #[test]
    fn a_condition_that_always_holds_is_left_out() {
        let call = |template: &str, constraint: &str| {
            format!("  %1 = call i32 asm \"{template}\", \"=&r,{constraint},0\"(i32 1, i32 0)\n")
        };
        let lines = ".reg .pred q;\\0Asetp.ne.u32 q, ${1}, 0;";
        check(
            &call(
                &format!("{{\\0A{lines}\\0A@q ld.global.b32 ${{0}}, [x];\\0A}}"),
                "r",
            ),
            &call("ld.global.b32 ${0}, [x];", "n"),
        );
        let other = call(
            &format!("{{\\0A{lines}\\0A@!q ld.global.b32 ${{0}}, [x];\\0A}}"),
            "r",
        );
        check(&other, &other);
    }

    #[test]
    fn braces_stay_for_other_declarations() {
        check(
            "  call void asm \"{\\0A.reg .u64 shared;\\0A.reg .u64 x;\\0Acvta.to.shared.u64 shared, ${0};\\0A\
             add.u64 x, shared, ${1};\\0Ast.shared.u32 [shared+8], 0;\\0A}\", \"l,l\"(ptr %p, i64 3)\n",
            "  %asm.address.0 = addrspacecast ptr %p to ptr addrspace(3)\n  call void asm \"{\\0A.reg .u64 x;\\0A\
             add.u64 x, ${0}, ${1};\\0Ast.shared.u32 [${0}+8], 0;\\0A}\", \"l,l\"(ptr addrspace(3) %asm.address.0, i64 3)\n",
        );
    }

    #[test]
    fn what_has_another_form_stays() {
        let with = |lines: &str, arguments: &str| {
            let body = format!(
                "  %i = zext i1 %c to i32\n  %j = zext i1 %c to i64\n  %k = zext i8 %d to i32\n  \
                 call void asm \"{{\\0A{lines}\\0A}}\", \"r,l\"({arguments})\n"
            );
            check(&body, &body);
        };
        // The operand is used twice, in either form.
        let address = "cvta.to.global.u64 g, ${1};\\0Ald.global.u32 %r, [g];";
        with(
            &format!(".reg .u64 g;\\0A{address}\\0Aadd.u64 x, ${{1}}, 1;"),
            "i32 0, ptr %p",
        );
        with(
            &format!(".reg .u64 g;\\0A{address}\\0Aadd.u64 x, $1, 1;"),
            "i32 0, ptr %p",
        );
        // It is not a pointer, or it points to a memory space already.
        with(&format!(".reg .u64 g;\\0A{address}"), "i32 0, i64 %p");
        with(
            &format!(".reg .u64 g;\\0A{address}"),
            "i32 0, ptr addrspace(1) %p",
        );
        // Declared with others.
        with(&format!(".reg .u64 g, h;\\0A{address}"), "i32 0, ptr %p");
        // The predicate is not always true, has another width, or is compared with another number.
        let predicate = ".reg .pred q;\\0Asetp.ne.u32 q, ${0}, 0;\\0A@q bar.sync 0;";
        with(predicate, "i32 %k, ptr %p");
        with(predicate, "i64 %j, ptr %p");
        with(predicate, "i32 0, ptr %p");
        with(&predicate.replace(", 0;", ", 1;"), "i32 %i, ptr %p");
    }
}
