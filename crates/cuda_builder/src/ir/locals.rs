//! Keeps every variable in memory, for the debugger.
//!
//! rustc gives each variable a slot on the stack, and LLVM without its optimiser leaves it there:
//! stores are in the order of the source. All functions are inlined, so that the slots of a kernel
//! and of its closures are one frame, and stack traces are those of an ordinary build.
//!
//! A debugger takes a slot for the variable's value wherever the variable is in scope. Two kinds of
//! variables would show a value that is not theirs, and lose their place:
//!
//! - one without a value where its scope begins, `let x;`: in a loop the slot still has the one of
//!   the iteration before;
//! - one whose scope is interrupted by instructions outside it. DWARF for NVPTX has one range for a
//!   scope, from its first instruction to its last.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::module::{Function, Instruction, Module, Nodes, Opcode, local, value};
use crate::error::CudaBuilderError;
use crate::uniformity::dominators;

/// Marks all functions to be inlined that do not forbid it.
pub(crate) fn inline(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let groups = module.groups();
    let forbids = |function: &Function<'_>| {
        let group = function.head.group().and_then(|group| groups.get(&group));
        let words = group.map_or("", |group| group.list()).split(' ');
        let own = function.head.attributes().split(' ');
        words.chain(own).any(|word| word == "noinline")
    };
    let functions = module.functions();
    let names = functions.filter(|function| !function.is_kernel() && !forbids(function));
    let names: BTreeSet<String> = names.map(|function| function.name().to_owned()).collect();
    super::inline::always(module, &names)
}

/// A record that gives a variable its slot.
struct Declaration<'m> {
    slot: &'m str,
    variable: &'m str,
    position: &'m str,
    /// The slot has a pointer to the variable: a closure's captures.
    is_indirect: bool,
}

impl<'m> Declaration<'m> {
    fn of(instruction: &'m Instruction<'_>) -> Option<Self> {
        let text = instruction.text().strip_prefix("#dbg_declare(ptr %")?;
        let (slot, rest) = text.split_once(", !")?;
        let (variable, rest) = rest.split_once(", !DIExpression(")?;
        let (expression, rest) = rest.split_once("), !")?;
        Some(Self {
            slot,
            variable,
            position: rest.strip_suffix(')')?,
            is_indirect: expression.starts_with("DW_OP_deref"),
        })
    }

    /// The same variable without a place.
    fn without_place(&self) -> String {
        let (variable, position) = (self.variable, self.position);
        format!("#dbg_value(ptr poison, !{variable}, !DIExpression(), !{position})")
    }
}

/// Drops the places of variables that have no value where their scope begins. Before functions are
/// inlined.
pub(crate) fn drop_late(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let dropped = {
        let nodes = Nodes::of(module);
        let functions = module.functions().enumerate();
        let late = functions.flat_map(|(at, function)| {
            let late = late(function, &nodes).into_iter();
            late.map(move |text| (at, text))
        });
        late.collect()
    };
    drop_places(module, &dropped)
}

/// The declarations of a function's variables that get their values late.
fn late(function: &Function<'_>, nodes: &Nodes<'_>) -> Vec<String> {
    let declarations = function.instructions().filter_map(Declaration::of);
    let slots = function.instructions();
    let slots = slots.filter(|instruction| instruction.opcode() == Opcode::Alloca);
    let slots: HashSet<&str> = slots.filter_map(Instruction::result).collect();
    // What is passed has its value from the start.
    let is_own = |it: &Declaration<'_>| {
        !it.is_indirect && slots.contains(it.slot) && !nodes.has_field(it.variable, "arg")
    };
    let declarations: Vec<_> = declarations.filter(is_own).collect();
    let mut slots: HashMap<&str, &str> = declarations.iter().map(|it| (it.slot, it.slot)).collect();
    let empty: HashSet<&str> = (function.instructions())
        .filter(|instruction| instruction.operands().starts_with(" [0 x i8]"))
        .filter_map(Instruction::result)
        .collect();
    let mut writes: HashMap<&str, Vec<Option<&str>>> = HashMap::new();
    for instruction in function.instructions() {
        let written: Vec<&str> = match instruction.opcode() {
            Opcode::GetElementPtr | Opcode::Phi | Opcode::Select | Opcode::AddrSpaceCast => {
                let slot = instruction
                    .locals()
                    .find_map(|name| slots.get(name).copied());
                slots.extend(instruction.result().zip(slot));
                continue;
            }
            Opcode::Store => {
                let address = instruction.pieces().nth(1).map(value).and_then(local);
                address.into_iter().collect()
            }
            Opcode::Call => instruction.locals().collect(),
            _ => continue,
        };
        for slot in written.iter().filter_map(|name| slots.get(name)) {
            writes.entry(slot).or_default().push(instruction.position());
        }
    }
    let is_late = |it: &&Declaration<'_>| {
        let Some(scope) = nodes.number(it.variable, "scope") else {
            return true;
        };
        let call = nodes.number(it.position, "inlinedAt");
        let is_outside = |position: &Option<&str>| {
            let frames = position.map_or_else(Vec::new, |position| nodes.scopes(position));
            let own = frames.into_iter().find(|frame| frame.call == call);
            own.is_none_or(|frame| !nodes.is_within(frame.scope, scope))
        };
        let writes = writes.get(it.slot).map_or(&[][..], Vec::as_slice);
        !empty.contains(it.slot) && !writes.iter().any(is_outside)
    };
    let late = declarations.iter().filter(is_late);
    late.map(Declaration::without_place).collect()
}

/// Orders each function's blocks so that a scope is one range where that is possible: rustc has a
/// loop's exit, and the panic of an index, between the blocks of scopes that they are not in.
///
/// Values and blocks must have names: LLVM counts the others.
pub(crate) fn lay_out(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for function in module.functions_mut() {
        let order = layout(function);
        let mut blocks: Vec<_> = std::mem::take(&mut function.blocks)
            .into_iter()
            .map(Some)
            .collect();
        let ordered = order.into_iter().filter_map(|at| blocks[at].take());
        function.blocks = ordered.collect();
    }
    Ok(())
}

/// The numbers of a function's blocks in their new order: each before those that it dominates, first
/// those that panic, last those that leave the loop.
fn layout(function: &Function<'_>) -> Vec<usize> {
    let blocks = &function.blocks;
    let labels = blocks.iter().enumerate();
    let numbers: HashMap<&str, usize> = labels.map(|(at, block)| (&*block.label, at)).collect();
    let successors = blocks.iter().map(|block| {
        let known = block.successors().filter_map(|label| numbers.get(label));
        known.copied().collect()
    });
    let successors: Vec<Vec<usize>> = successors.collect();
    let panics = panics(function, &successors);
    let nearest = dominators(&successors);
    let mut inner = vec![Vec::new(); blocks.len()];
    for (at, &outer) in nearest.iter().enumerate() {
        if outer != at {
            inner[outer].push(at);
        }
    }
    let mut order = Vec::new();
    // A block that nothing leads to is its own dominator.
    for start in (0..blocks.len()).filter(|&at| nearest[at] == at) {
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            order.push(at);
            let mut next = std::mem::take(&mut inner[at]);
            if next.len() > 1 {
                let outer = |&at: &usize| Some(nearest[at]).filter(|&outer| outer != at);
                let around = std::iter::successors(Some(at), outer);
                // How far outwards each is.
                let around: HashMap<usize, usize> = around.zip(1..).collect();
                next.sort_by_cached_key(|&to| (!panics[to], returns(to, &around, &successors), to));
            }
            waiting.extend(next.into_iter().rev());
        }
    }
    order
}

/// For each block, whether every way from it ends in a panic.
fn panics(function: &Function<'_>, successors: &[Vec<usize>]) -> Vec<bool> {
    let ends = function.blocks.iter().map(|block| {
        let last = block.terminator().map(Instruction::opcode);
        last == Some(Opcode::Unreachable)
    });
    let mut panics: Vec<bool> = ends.collect();
    loop {
        let leads = |at: &usize| {
            let next = &successors[*at];
            !panics[*at] && !next.is_empty() && next.iter().all(|&next| panics[next])
        };
        let more: Vec<usize> = (0..panics.len()).filter(leads).collect();
        if more.is_empty() {
            return panics;
        }
        for at in more {
            panics[at] = true;
        }
    }
}

/// How far outwards the nearest of the blocks `around` is that a block leads back to; the most there
/// is if it leads to none.
fn returns(from: usize, around: &HashMap<usize, usize>, successors: &[Vec<usize>]) -> usize {
    let mut seen = HashSet::from([from]);
    let mut waiting = vec![from];
    let mut nearest = usize::MAX;
    while let Some(at) = waiting.pop() {
        for &next in &successors[at] {
            match around.get(&next) {
                Some(&distance) => nearest = nearest.min(distance),
                None if seen.insert(next) => waiting.push(next),
                None => {}
            }
        }
    }
    nearest
}

/// Drops the places of variables whose scopes are not one range each. After functions have been
/// inlined.
pub(crate) fn drop_interrupted(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let dropped = {
        let nodes = Nodes::of(module);
        let functions = module.functions().enumerate();
        let interrupted = functions.flat_map(|(at, function)| {
            let interrupted = interrupted(function, &nodes).into_iter();
            interrupted.map(move |text| (at, text))
        });
        interrupted.collect()
    };
    drop_places(module, &dropped)
}

/// The instructions of something, by their numbers in the function.
#[derive(Default)]
struct Extent {
    first: usize,
    last: usize,
    count: usize,
}

impl Extent {
    fn add(&mut self, at: usize) {
        if self.count == 0 {
            self.first = at;
        }
        self.last = at;
        self.count += 1;
    }
}

fn interrupted(function: &Function<'_>, nodes: &Nodes<'_>) -> Vec<String> {
    // A frame is the call that it is inlined at.
    let mut frames: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
    let mut scopes: HashMap<(Option<&str>, &str), Extent> = HashMap::new();
    // Calls at one place of the source, inlined into the same frame.
    let mut twins: BTreeMap<(Option<&str>, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut known = HashMap::new();
    for (at, instruction) in function.instructions().enumerate() {
        let Some(position) = instruction.position() else {
            continue;
        };
        let all = known
            .entry(position)
            .or_insert_with(|| nodes.scopes(position));
        for frame in all {
            frames.entry(frame.call).or_default().push(at);
            for scope in nodes.around(frame.scope) {
                scopes.entry((frame.call, scope)).or_default().add(at);
            }
            if let Some(call) = frame.call {
                let outer = nodes.number(call, "inlinedAt");
                let text = |name| nodes.word(call, name).unwrap_or_default();
                let place = (outer, text("line"), text("column"));
                twins.entry(place).or_default().insert(call);
            }
        }
    }
    let mut mixed: HashSet<&str> = HashSet::new();
    for calls in twins.values().filter(|calls| calls.len() > 1) {
        let mut ranges = Vec::new();
        for &call in calls {
            let all = frames.get(&Some(call)).map_or(&[][..], Vec::as_slice);
            ranges.extend(all.first().zip(all.last()).map(|(a, b)| (*a, *b, call)));
        }
        ranges.sort_unstable();
        let mut reach: Option<(usize, &str)> = None;
        for (first, last, call) in ranges {
            if let Some((end, other)) = reach.filter(|(end, _)| *end > first) {
                mixed.extend([call, other]);
                reach = Some(if end > last {
                    (end, other)
                } else {
                    (last, call)
                });
            } else {
                reach = Some((last, call));
            }
        }
    }
    let is_interrupted = |it: &Declaration<'_>| {
        let call = nodes.number(it.position, "inlinedAt");
        let calls = std::iter::successors(call, |call| nodes.number(call, "inlinedAt"));
        if calls.take(nodes.len()).any(|call| mixed.contains(call)) {
            return true;
        }
        let scope = nodes.number(it.variable, "scope");
        let Some(extent) = scope.and_then(|scope| scopes.get(&(call, scope))) else {
            return false;
        };
        let of_frame = frames.get(&call).map_or(&[][..], Vec::as_slice);
        let before = of_frame.partition_point(|&at| at < extent.first);
        let until = of_frame.partition_point(|&at| at <= extent.last);
        until - before > extent.count
    };
    let declarations = function.instructions().filter_map(Declaration::of);
    let interrupted = declarations.filter(is_interrupted);
    interrupted.map(|it| it.without_place()).collect()
}

/// Replaces declarations by those without a place, each in the function of its number.
fn drop_places(
    module: &mut Module<'_>,
    dropped: &HashSet<(usize, String)>,
) -> Result<(), CudaBuilderError> {
    if dropped.is_empty() {
        return Ok(());
    }
    for (at, function) in module.functions_mut().enumerate() {
        for instruction in function.instructions_mut() {
            let text = Declaration::of(instruction).map(|it| it.without_place());
            let Some(text) = text.map(|text| (at, text)) else {
                continue;
            };
            if dropped.contains(&text) {
                instruction.replace(&text.1)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::testing::rewritten;

    /// `!5` is the function, `!6` a block in it, and `!7` one in that; `!8` and `!9` are variables of
    /// the two.
    const NODES: &str = "\
!5 = distinct !DISubprogram(name: \"f\", line: 1)
!6 = distinct !DILexicalBlock(scope: !5, line: 2)
!7 = distinct !DILexicalBlock(scope: !6, line: 3)
!8 = !DILocalVariable(name: \"a\", scope: !6, line: 2)
!9 = !DILocalVariable(name: \"b\", scope: !7, line: 3)
!10 = !DILocalVariable(name: \"p\", arg: 1, scope: !5, line: 1)
!15 = !DILocation(line: 1, column: 1, scope: !5)
!16 = !DILocation(line: 2, column: 1, scope: !6)
!17 = !DILocation(line: 3, column: 1, scope: !7)
";

    const DECLARED: [&str; 2] = [
        "    #dbg_declare(ptr %a, !8, !DIExpression(), !16)\n",
        "    #dbg_declare(ptr %b, !9, !DIExpression(), !17)\n",
    ];

    fn module(body: &str) -> String {
        let [a, b] = DECLARED;
        format!(
            "define void @f(ptr %p) !dbg !5 {{\n  %a = alloca [4 x i8], align 4\n  %b = alloca [8 x i8], align 4\n{a}{b}{body}  \
             ret void, !dbg !15\n}}\n{NODES}"
        )
    }

    /// Which of `a` and `b` keep their places.
    #[track_caller]
    fn check(
        pass: fn(&mut Module<'_>) -> Result<(), CudaBuilderError>,
        body: &str,
        expected: [bool; 2],
    ) {
        let text = rewritten(&module(body), pass);
        assert_eq!(DECLARED.map(|line| text.contains(line)), expected, "{text}");
        for (kept, gone) in expected.into_iter().zip(["!8", "!9"]) {
            let gone = format!("#dbg_value(ptr poison, {gone}, !DIExpression(), ");
            assert_eq!(text.contains(&gone), !kept, "{text}");
        }
    }

    #[test]
    fn a_variable_without_a_value_at_the_start_of_its_scope_has_no_place() {
        // Written before its scope, as a whole, in parts or by a call; or only in it.
        let store = "  store i32 1, ptr %a, align 4, !dbg !15\n";
        let part = "  %q = getelementptr inbounds i8, ptr %b, i64 4, !dbg !16\n  store i32 1, ptr %q, align 4, !dbg !16\n";
        check(drop_late, &format!("{store}{part}"), [true, true]);
        let call = "  call void @g(ptr %a, ptr %b), !dbg !16\n";
        check(drop_late, &format!("{call}{store}"), [true, true]);
        check(drop_late, call, [false, true]);
        let late =
            "  store i32 1, ptr %a, align 4, !dbg !16\n  store i32 1, ptr %b, align 4, !dbg !17\n";
        check(drop_late, late, [false, false]);
        // What is read from it, or written somewhere else, is nothing.
        let read = "  %x = load i32, ptr %a, align 4, !dbg !15\n  store ptr %b, ptr %p, align 8, !dbg !15\n";
        check(drop_late, read, [false, false]);
    }

    #[test]
    fn what_is_empty_or_a_parameter_keeps_its_place() {
        let text = module("    #dbg_declare(ptr %p, !10, !DIExpression(), !15)\n")
            .replace("%a = alloca [4 x i8]", "%a = alloca [0 x i8]");
        let text = rewritten(&text, drop_late);
        assert!(
            text.contains(DECLARED[0]) && text.contains("#dbg_declare(ptr %p, !10"),
            "{text}"
        );
    }

    #[test]
    fn a_scope_that_is_interrupted_has_no_places() {
        let line = |scope: u32| format!("  call void @g(), !dbg !{scope}\n");
        let body = |scopes: &[u32]| scopes.iter().map(|&scope| line(scope)).collect::<String>();
        check(drop_interrupted, &body(&[15, 16, 17, 17, 16]), [true, true]);
        check(
            drop_interrupted,
            &body(&[15, 17, 16, 17, 15]),
            [true, false],
        );
        check(drop_interrupted, &body(&[16, 15, 17, 17]), [false, true]);
    }

    /// Two calls of one place, whose code is mixed, and one of another.
    #[test]
    fn frames_that_cannot_be_told_apart_have_no_places() {
        let calls = |order: [u32; 4]| {
            let [a, b] = ["a", "b"].map(|slot| format!("%{slot} = alloca [4 x i8], align 4"));
            let lines = order.map(|at| format!("  call void @g(), !dbg !{at}\n"));
            format!(
                "define void @k() !dbg !4 {{\n  {a}\n  {b}\n\
                 \x20   #dbg_declare(ptr %a, !8, !DIExpression(), !20)\n    #dbg_declare(ptr %b, !8, !DIExpression(), !21)\n{}  \
                 ret void\n}}\n!4 = distinct !DISubprogram(name: \"k\", line: 1)\n{NODES}\
                 !18 = distinct !DILocation(line: 7, column: 1, scope: !4)\n\
                 !19 = distinct !DILocation(line: 7, column: 1, scope: !4)\n\
                 !20 = !DILocation(line: 2, column: 1, scope: !6, inlinedAt: !18)\n\
                 !21 = !DILocation(line: 2, column: 1, scope: !6, inlinedAt: !19)\n",
                lines.concat()
            )
        };
        let kept = |order| {
            rewritten(&calls(order), drop_interrupted)
                .matches("#dbg_declare")
                .count()
        };
        assert_eq!(kept([20, 20, 21, 21]), 2);
        assert_eq!(kept([20, 21, 20, 21]), 0);
    }

    #[test]
    fn blocks_follow_what_dominates_them_and_exits_come_last() {
        let block = |label: &str, end: &str| (label.to_owned(), format!("{label}:\n  {end}\n"));
        let two = |a: &str, b: &str| format!("br i1 %x, label %{a}, label %{b}");
        let blocks = HashMap::from([
            block("entry", "br label %outer"),
            block("outer", &two("exit", "inner")),
            block("inner", &two("last", "body")),
            block("body", &two("panic", "rest")),
            block("rest", "br label %inner"),
            block("last", "br label %outer"),
            block("panic", "br label %end"),
            block("end", "unreachable"),
            block("exit", "ret void"),
        ]);
        let function = |labels: &str| {
            let blocks: String = labels
                .split(' ')
                .map(|label| blocks[label].as_str())
                .collect();
            format!("define void @f(i1 %x) {{\n{blocks}}}\n")
        };
        let given = function("entry outer exit inner last body panic rest end");
        let expected = function("entry outer inner body panic end rest last exit");
        assert_eq!(rewritten(&given, lay_out), expected);
    }

    #[test]
    fn functions_are_inlined_unless_they_forbid_it() {
        let ir = "define ptx_kernel void @k() #0 {\n  call void @f()\n  ret void\n}\ndefine void @f() #0 {\n  ret void\n}\n\
                  define void @g() #1 {\n  ret void\n}\nattributes #0 = { nounwind }\nattributes #1 = { noinline }\n";
        let expected =
            ir.replace("@f() #0", "@f() #2") + "attributes #2 = { alwaysinline nounwind }\n";
        assert_eq!(rewritten(ir, inline), expected);
    }
}
