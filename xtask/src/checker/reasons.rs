//! Mutations that no test can notice, and why.

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
];

/// The reason of a mutation, and its place in the list.
pub(super) fn of(mutation: &Mutation) -> Option<(usize, &'static str)> {
    let fits = |(file, line, what, _): &&(&str, &str, &str, &str)| {
        mutation.file == *file && mutation.text.contains(line) && mutation.what.contains(what)
    };
    let at = REASONS.iter().position(|reason| fits(&reason))?;
    Some((at, REASONS[at].3))
}
