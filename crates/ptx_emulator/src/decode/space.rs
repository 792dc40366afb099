use super::form::Form;
use crate::fault::Space;

/// Parses the state space; generic if none is named.
pub(super) fn space(form: &mut Form<'_, '_>) -> Space {
    let names = [
        "global",
        "shared",
        "shared::cta",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
    ];
    match form.take_one_of(&names) {
        Some("global") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("local") => Space::Local,
        Some("const") => Space::Const,
        Some(_) => Space::Param,
        None => Space::Generic,
    }
}
