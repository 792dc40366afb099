//! Loops that make one round more: the comparison that ends a loop lets the bound itself pass, or
//! one step more.

use std::collections::{HashMap, HashSet};

use super::source::operands;
use super::{Changes, Source};

pub(super) fn changes(source: &Source) -> Changes {
    let graph = Graph::new(source);
    let comparisons: HashMap<&str, (usize, &str)> = source
        .instructions()
        .filter(|(_, line)| line.starts_with("setp."))
        .filter_map(|(index, line)| Some((*operands(line).first()?, (index, line))))
        .collect();
    let mut changes = Changes::new();
    for exit in graph.exits() {
        let Some(&(index, comparison)) = comparisons.get(exit.predicate) else {
            continue;
        };
        let widened = widen(source, comparison, exit.stays);
        changes.extend(widened.map(|line| (index, line)));
    }
    changes.sort();
    changes.dedup();
    changes
}

/// The comparison that holds once more; `stays` says what its outcome is as long as the loop goes
/// on.
fn widen(source: &Source, comparison: &str, stays: bool) -> Option<String> {
    let loosened = [
        (".lt.", true, ".le."),
        (".gt.", true, ".ge."),
        (".ge.", false, ".gt."),
        (".le.", false, ".lt."),
    ];
    let mut loosened = loosened.iter();
    let fits =
        |&&(relation, when, _): &&(&str, bool, _)| comparison.contains(relation) && when == stays;
    if let Some((relation, _, loose)) = loosened.find(fits) {
        return Some(comparison.replacen(relation, loose, 1));
    }
    // The bound moves by the counter's own step.
    let opcode = comparison.split_whitespace().next()?;
    let [target, counter, bound] = operands(comparison)[..] else {
        return None;
    };
    let (add, step) = source.instructions().find_map(|(_, line)| {
        let opcode = line.split_whitespace().next()?;
        if !opcode.starts_with("add.s") {
            return None;
        }
        match operands(line)[..] {
            [into, from, step] if into == counter && from == counter => Some((opcode, step)),
            _ => None,
        }
    })?;
    let width = add.trim_start_matches("add.s");
    Some(format!(
        "{{ .reg .b{width} %bound; mov.b{width} %bound, {bound}; {add} %bound, %bound, {step}; {opcode} {target}, {counter}, %bound; }}"
    ))
}

/// A kernel's basic blocks.
struct Graph<'a> {
    blocks: Vec<Block<'a>>,
}

#[derive(Default)]
struct Block<'a> {
    label: Option<&'a str>,
    /// The conditional branch at its end: predicate without `!`, whether it branches when true,
    /// target.
    branch: Option<(&'a str, bool, &'a str)>,
    /// Where it goes on otherwise: a label, or the next block.
    then: Then<'a>,
}

#[derive(Clone, Copy, Default)]
enum Then<'a> {
    #[default]
    Next,
    Label(&'a str),
    End,
}

/// A branch out of a loop.
struct Exit<'a> {
    predicate: &'a str,
    /// The predicate's value as long as the loop goes on.
    stays: bool,
}

impl<'a> Graph<'a> {
    fn new(source: &'a Source) -> Self {
        let mut blocks = vec![Block::default()];
        for (_, line) in source.instructions() {
            if let Some(label) = line.strip_suffix(':') {
                blocks.push(Block {
                    label: Some(label),
                    ..Block::default()
                });
                continue;
            }
            let (guard, plain) = match line
                .strip_prefix('@')
                .and_then(|rest| rest.split_once(char::is_whitespace))
            {
                Some((guard, plain)) => (Some(guard), plain.trim()),
                None => (None, line),
            };
            let opcode = plain.split([' ', '\t', ';']).next().unwrap_or_default();
            let target = || operands(plain).first().copied().unwrap_or_default();
            let Some(block) = blocks.last_mut() else {
                continue;
            };
            match (opcode, guard) {
                ("bra" | "bra.uni", Some(guard)) => {
                    let negated = guard.starts_with('!');
                    block.branch = Some((guard.trim_start_matches('!'), !negated, target()));
                    blocks.push(Block::default());
                }
                ("bra" | "bra.uni", None) => {
                    block.then = Then::Label(target());
                    blocks.push(Block::default());
                }
                ("ret" | "exit" | "trap", None) => {
                    block.then = Then::End;
                    blocks.push(Block::default());
                }
                _ => {}
            }
        }
        Self { blocks }
    }

    fn labelled(&self, label: &str) -> Option<usize> {
        self.blocks
            .iter()
            .position(|block| block.label == Some(label))
    }

    /// Where a branch of the block leads, and where it goes on without.
    fn successors(&self, block: usize) -> [Option<usize>; 2] {
        let taken = self.blocks[block]
            .branch
            .and_then(|(_, _, target)| self.labelled(target));
        let then = match self.blocks[block].then {
            Then::Next => Some(block + 1).filter(|&next| next < self.blocks.len()),
            Then::Label(label) => self.labelled(label),
            Then::End => None,
        };
        [taken, then]
    }

    /// The branches that leave a loop.
    fn exits(&self) -> Vec<Exit<'a>> {
        let mut exits = Vec::new();
        for (tail, head) in self.back_edges() {
            let body = self.body(tail, head);
            for &block in &body {
                let inside = self
                    .successors(block)
                    .map(|next| next.is_some_and(|next| body.contains(&next)));
                let (Some((predicate, when, _)), [taken, then]) =
                    (self.blocks[block].branch, inside)
                else {
                    continue;
                };
                if taken != then {
                    exits.push(Exit {
                        predicate,
                        stays: when == taken,
                    });
                }
            }
        }
        exits
    }

    /// Edges to a block that a depth-first walk is still in.
    fn back_edges(&self) -> Vec<(usize, usize)> {
        let (mut edges, mut done) = (Vec::new(), HashSet::new());
        let mut path: Vec<(usize, usize)> = vec![(0, 0)];
        while let Some((block, next)) = path.pop() {
            let Some(successor) = self.successors(block).get(next).copied() else {
                done.insert(block);
                continue;
            };
            path.push((block, next + 1));
            let Some(successor) = successor else { continue };
            if path.iter().any(|&(above, _)| above == successor) {
                edges.push((block, successor));
            } else if !done.contains(&successor) {
                path.push((successor, 0));
            }
        }
        edges
    }

    /// The blocks of the loop with this back edge: those that reach its tail without passing its
    /// head.
    fn body(&self, tail: usize, head: usize) -> HashSet<usize> {
        let mut body = HashSet::from([head, tail]);
        loop {
            let reaches = |block: &usize| {
                let mut next = self.successors(*block).into_iter().flatten();
                !body.contains(block) && next.any(|next| next != head && body.contains(&next))
            };
            let more: Vec<_> = (0..self.blocks.len()).filter(reaches).collect();
            if more.is_empty() {
                return body;
            }
            body.extend(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(body: &str) -> Vec<String> {
        let text = format!(".visible .entry k()\n{{\n{body}\nret;\n}}\n");
        let changes = changes(&Source::split(&text)[0]);
        changes.into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn the_bound_itself_passes() {
        let stays = "$L:\nadd.s64 %rd1, %rd1, 4;\nsetp.lt.u64 %p1, %rd1, %rd2;\n@%p1 bra $L;";
        assert_eq!(after(stays), ["setp.le.u64 %p1, %rd1, %rd2;"]);
        let leaves = "$L:\nsetp.ge.u64 %p1, %rd1, %rd2;\n@%p1 bra $E;\nadd.s64 %rd1, %rd1, 4;\nbra.uni $L;\n$E:";
        assert_eq!(after(leaves), ["setp.gt.u64 %p1, %rd1, %rd2;"]);
    }

    #[test]
    fn a_bound_that_must_be_met_moves_by_a_step() {
        let body =
            "$L:\nadd.s32 %r1, %r1, -2;\nsetp.ne.b32 %p1, %r1, 0;\n@%p1 bra $L;\nbra.uni $E;\n$E:";
        assert_eq!(
            after(body),
            [
                "{ .reg .b32 %bound; mov.b32 %bound, 0; add.s32 %bound, %bound, -2; setp.ne.b32 %p1, %r1, %bound; }"
            ]
        );
    }

    #[test]
    fn a_branch_that_stays_inside_or_is_no_loop_is_left_alone() {
        let inside = "setp.lt.u64 %p9, %rd1, %rd2;\n@%p9 bra $E;\n$L:\nsetp.lt.u64 %p1, %rd1, %rd2;\n@%p1 bra $M;\n\
                      add.s64 %rd1, %rd1, 4;\n$M:\nsetp.gt.u64 %p2, %rd1, 1;\n@%p2 bra $L;\n$E:";
        assert_eq!(after(inside), ["setp.ge.u64 %p2, %rd1, 1;"]);
    }
}
