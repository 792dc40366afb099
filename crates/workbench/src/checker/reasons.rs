//! Mutations that no test can detect, and why.

use super::rewrite::Mutation;

/// File, a part of the line, a part of the mutation, and the reason.
pub(super) const REASONS: &[(&str, &str, &str, &str)] = &[
    (
        "body.rs",
        "contains('@')",
        "never",
        "a shortcut: such a text has no symbols",
    ),
    (
        "body.rs",
        "None => Action::Known(Level::Divergent, Reason::Pointer)",
        "no action",
        "every value has a number",
    ),
    (
        "context.rs",
        "!body.graph.branches(block)",
        "never",
        "a shortcut: such a branch asks nothing",
    ),
    (
        "context.rs",
        "readers.any(",
        "always",
        "what is read inside only decides what happens inside",
    ),
    (
        "failure.rs",
        "any(allocates)",
        "never",
        "a shortcut: nothing is left out there",
    ),
    (
        "flow.rs",
        "changed: false",
        "not `false`",
        "every round sets it before it is read",
    ),
    (
        "flow.rs",
        "chain.push(call)",
        "left out",
        "it only tells which line a report names",
    ),
    (
        "flow.rs",
        "context.name == name",
        "never",
        "recursion is followed by further calls, at most up to the greatest number of contexts, \
         and leads back from there",
    ),
    (
        "flow.rs",
        "self.steps >= MOST_STEPS",
        "never",
        "it bounds time and memory",
    ),
    ("flow.rs", "self.bodies.insert", "left out", "a cache"),
    (
        "graph.rs",
        "nearest[next].is_some()",
        "always",
        "the others have a smaller rank, so `meet` takes the one that is known",
    ),
    (
        "mod.rs",
        "!pointed_to.is_empty()",
        "always",
        "a shortcut: of no functions none are reached",
    ),
    (
        "transfer.rs",
        "self.asks_for_success(context, step)",
        "never",
        "an allocation's address is the thread's own already: the rule gives a report its reason",
    ),
    (
        "memory.rs",
        "content.merge()",
        "left out",
        "each store is carried out again, and then finds the object escaped or whole",
    ),
    (
        "memory.rs",
        "waiting.extend(reached",
        "left out",
        "each store is carried out again, and then finds the object escaped or whole",
    ),
    (
        "memory.rs",
        "self.rest.add(cell)",
        "left out",
        "each store is carried out again, and then finds the object escaped or whole",
    ),
];

/// The reason of a mutation, and its place in the list.
pub(super) fn of(mutation: &Mutation) -> Option<(usize, &'static str)> {
    let fits = |(file, line, what, _): &&(&str, &str, &str, &str)| {
        mutation.file == *file && mutation.text.contains(line) && mutation.what.contains(what)
    };
    let at = REASONS.iter().position(|reason| fits(&reason))?;
    Some((at, REASONS[at].3))
}
