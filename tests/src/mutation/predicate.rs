//! Comparisons that guard a branch, made always true or always false.

use std::collections::HashSet;

use super::source::operands;
use super::{Changes, Source};

pub(super) fn changes(source: &Source) -> Changes {
    let guards = guards(source);
    let mut changes = Changes::new();
    for (index, line) in source.instructions() {
        if !line.starts_with("setp.") {
            continue;
        }
        let [target, ..] = operands(line)[..] else {
            continue;
        };
        if guards.contains(target) {
            for comparison in ["eq", "ne"] {
                changes.push((index, format!("setp.{comparison}.u32 {target}, 0, 0;")));
            }
        }
    }
    changes
}

/// The predicates that guard an instruction, by themselves or as a part of one that does.
fn guards(source: &Source) -> HashSet<&str> {
    let mut guards: HashSet<&str> = HashSet::new();
    for (_, line) in source.instructions() {
        if let Some(guard) = line.strip_prefix('@') {
            let name = guard.trim_start_matches('!').split_whitespace().next();
            guards.extend(name);
        }
    }
    let combines = |line: &&str| {
        let opcode = line.split_whitespace().next();
        opcode.is_some_and(|opcode| opcode.ends_with(".pred"))
    };
    let combinations: Vec<_> = (source.instructions())
        .map(|(_, line)| line)
        .filter(combines)
        .map(operands)
        .collect();
    loop {
        let known = guards.len();
        for operands in &combinations {
            if let [target, parts @ ..] = &operands[..]
                && guards.contains(target)
            {
                guards.extend(parts);
            }
        }
        if guards.len() == known {
            return guards;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_counts_when_a_branch_depends_on_it_at_any_distance() {
        let text = ".visible .entry k()\n{\nsetp.lt.u64 %p1, %rd1, %rd2;\nsetp.lt.f32 %p2, %r1, %r2;\n\
                    selp.b32 %r3, %r1, %r2, %p2;\nor.pred %p3, %p1, %p4;\nnot.pred %p5, %p3;\n\
                    @!%p5 bra $L;\n$L:\nret;\n}\n";
        let after = changes(&Source::split(text)[0]);
        let line = |line: &str| (2, line.to_owned());
        assert_eq!(
            after,
            [
                line("setp.eq.u32 %p1, 0, 0;"),
                line("setp.ne.u32 %p1, 0, 0;")
            ]
        );
    }
}
