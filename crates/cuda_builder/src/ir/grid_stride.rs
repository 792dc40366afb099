//! Loops that stride by the grid.
//!
//! Most launches have a thread for each piece of work, so such a loop makes one round. LLVM's loop strength reduction, which `llc`
//! runs, takes every loop for a hot one: it makes an induction variable of each address in the body, sets all of them up
//! before the first round and steps them after it. A kernel that moves four elements a thread then issues half as many instructions again, in
//! half as many registers again (a transpose through a padded tile on an H200: 0.80 of the speed of the same C++, 1.06 without).

use std::collections::{HashMap, HashSet};

/// Hides from that pass how such a loop goes on. It costs no instruction, and loops inside keep their induction variables.
pub(crate) fn hide(ir: &str) -> String {
    let mut hidden = String::with_capacity(ir.len() + 4096);
    let mut count = 0;
    let mut body = None;
    for line in ir.lines() {
        match &mut body {
            None if line.starts_with("define ") => body = Some(vec![line]),
            None => push(&mut hidden, line),
            Some(lines) => {
                lines.push(line);
                if line == "}" {
                    hide_in(lines, &mut count, &mut hidden);
                    body = None;
                }
            }
        }
    }
    for line in body.into_iter().flatten() {
        push(&mut hidden, line);
    }
    hidden
}

/// One function.
fn hide_in(lines: &[&str], count: &mut usize, hidden: &mut String) {
    let values: Vec<_> = lines.iter().filter_map(|line| value(line)).collect();
    let sums = sums(&values, &strides(&values));
    // What a loop's variable is after a round, by its name then: the type, and the name without a past.
    let mut nexts = HashMap::new();
    for (variable, operation) in &values {
        for next in incoming(operation) {
            if steps(next, variable, &sums) {
                nexts.entry(next).or_insert_with(|| {
                    *count += 1;
                    (sums[next].0, format!("%grid.stride.{}", *count - 1))
                });
            }
        }
    }
    for line in lines {
        let Some((name, operation)) = value(line) else {
            push(hidden, line);
            continue;
        };
        let mut line = (*line).to_owned();
        for next in incoming(operation).filter(|next| steps(next, name, &sums)) {
            line = line.replace(&format!("[ {next},"), &format!("[ {},", nexts[next].1));
        }
        push(hidden, &line);
        if let Some((ty, fresh)) = nexts.get(name) {
            push(hidden, &format!("  {fresh} = freeze {ty} {name}"));
        }
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// `  %3 = add i64 %1, %2` as (`%3`, `add i64 %1, %2`).
fn value(line: &str) -> Option<(&str, &str)> {
    let line = line
        .strip_prefix("  ")
        .filter(|line| line.starts_with('%'))?;
    line.split_once(" = ")
}

/// The grid's extents, and what is made of them by widening and multiplication.
fn strides<'a>(values: &[(&'a str, &'a str)]) -> HashSet<&'a str> {
    let mut strides = HashSet::new();
    loop {
        let before = strides.len();
        for (name, operation) in values {
            let made = match operation.split(' ').next() {
                Some("zext" | "sext" | "trunc" | "mul" | "shl") => {
                    operands(operation).any(|operand| strides.contains(operand))
                }
                _ => operation.contains("@llvm.nvvm.read.ptx.sreg.nctaid."),
            };
            if made {
                strides.insert(*name);
            }
        }
        // Blocks may be printed before those that they depend on.
        if strides.len() == before {
            return strides;
        }
    }
}

/// Sums of something and a stride, by name: the type, and the something.
fn sums<'a>(
    values: &[(&'a str, &'a str)],
    strides: &HashSet<&str>,
) -> HashMap<&'a str, (&'a str, &'a str)> {
    let sum = |&(name, operation): &(&'a str, &'a str)| {
        let (words, last) = operation.strip_prefix("add ")?.split_once(", ")?;
        let mut words = words.rsplit(' ');
        let (first, ty) = (words.next()?, words.next()?);
        let last = last.split(',').next()?;
        // Of one number: `<2 x i64>` ends in something else.
        ty.strip_prefix('i')?.parse::<u32>().ok()?;
        match (strides.contains(first), strides.contains(last)) {
            (_, true) => Some((name, (ty, first))),
            (true, false) => Some((name, (ty, last))),
            (false, false) => None,
        }
    };
    values.iter().filter_map(sum).collect()
}

/// Whether `next` is `variable` and one or more strides: more in a loop that LLVM has unrolled.
fn steps(next: &str, variable: &str, sums: &HashMap<&str, (&str, &str)>) -> bool {
    let mut at = next;
    // A sum in code that nothing reaches may be made of itself.
    for _ in 0..=sums.len() {
        match sums.get(at) {
            Some((_, before)) => at = before,
            None => break,
        }
        if at == variable {
            return true;
        }
    }
    false
}

/// The values that a phi takes: `%1` and `0` of `phi i64 [ %1, %bb ], [ 0, %start ]`.
fn incoming(operation: &str) -> impl Iterator<Item = &str> {
    let values = operation.strip_prefix("phi ").unwrap_or_default();
    values
        .split("[ ")
        .skip(1)
        .filter_map(|pair| Some(pair.split_once(',')?.0))
}

/// The operands of a conversion, multiplication or shift.
fn operands(operation: &str) -> impl Iterator<Item = &str> {
    operation
        .split([' ', ','])
        .filter(|word| word.starts_with('%'))
}

#[cfg(test)]
mod tests {
    use super::hide;

    const LOOP: &str = "\
define ptx_kernel void @k(i64 %0) {
  %1 = tail call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x(), !dbg !3
  %2 = zext nneg i32 %1 to i64
  %stride = shl nuw nsw i64 %2, 5
  br label %3

3:
  %at = phi i64 [ 0, %entry ], [ %next, %3 ]
  %row = phi i64 [ 7, %entry ], [ %down, %3 ]
  %next = add nuw i64 %at, %stride, !dbg !4
  %down = add i64 %row, 1
  %6 = icmp ult i64 %next, %0
  br i1 %6, label %3, label %7
}
";

    #[test]
    fn what_steps_by_the_grid_is_hidden_and_what_steps_otherwise_is_not() {
        let hidden = LOOP
            .replace("[ %next, %3 ]", "[ %grid.stride.0, %3 ]")
            .replace(
                "!dbg !4\n",
                "!dbg !4\n  %grid.stride.0 = freeze i64 %next\n",
            );
        assert_eq!(hide(LOOP), hidden);
        // Another function with the same names, and the stride as the first operand.
        let twice = format!("{LOOP}{}", LOOP.replace("%at, %stride", "%stride, %at"));
        let second = hidden
            .replace("%at, %stride", "%stride, %at")
            .replace("stride.0", "stride.1");
        assert_eq!(hide(&twice), format!("{hidden}{second}"));
    }

    #[test]
    fn several_strides_a_round_are_hidden_too() {
        let unrolled = LOOP.replace(
            "  %next = add nuw i64 %at, %stride",
            "  %half = add i64 %at, %stride\n  %next = add nuw i64 %half, %stride",
        );
        let hidden = hide(&unrolled);
        assert!(hidden.contains("[ %grid.stride.0, %3 ]"), "{hidden}");
        assert!(!hidden.contains("freeze i64 %half"), "{hidden}");
    }

    #[test]
    fn a_loop_by_the_blocks_own_threads_stays() {
        let own = LOOP.replace("nctaid", "ntid");
        assert_eq!(hide(&own), own);
        let elsewhere = LOOP.replace("add nuw i64 %at,", "add nuw i64 %0,");
        assert_eq!(hide(&elsewhere), elsewhere);
    }
}
