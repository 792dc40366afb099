//! Advice that the compiler's messages lack.

use std::collections::BTreeMap;

/// The versions of each crate in the dependency graph, ascending.
pub(crate) type Versions = BTreeMap<String, Vec<String>>;

/// The crates whose vectors cuda_std re-exports, the versions that it accepts, and what leaves one
/// version for all: `NEWEST` and `OLDEST` stand for those that meet.
const PASSED_ON: [(&str, &str, &str); 2] = [
    (
        "vek",
        "cuda_std and cust have 0.15",
        "a dependency `vek = \"0.15\"`",
    ),
    (
        "glam",
        "cuda_std accepts any from 0.33 on, and from 0.22 on with its feature `glam_0_22`",
        "`cargo update -p glam@NEWEST --precise OLDEST`",
    ),
];

/// `0.9.1` comes before `0.10.0`.
pub(crate) fn order(version: &str) -> Vec<u64> {
    let numbers = version.split(['.', '-', '+']);
    numbers.map_while(|number| number.parse().ok()).collect()
}

/// Where a dependency asks for `std`, which the device has not.
const WITHOUT_STD: &str = "\
help: what kernels depend on must compile without `std`: in [dependencies] with
      `default-features = false`; what only the host needs goes into
      [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]. Where the workspace has
      `resolver = \"1\"`, as one without a package of its own has unless it says otherwise, the
      features of build- and dev-dependencies count too: `resolver = \"2\"` in its root manifest
";

/// A help line that the compiler's messages lack.
pub(crate) fn on(messages: &str, versions: &Versions) -> Option<String> {
    if messages.contains("can't find crate for `std`") {
        return Some(WITHOUT_STD.to_owned());
    }
    on_versions(messages, versions)
}

/// The same if two versions of one crate conflict: their types meet, or one lacks a feature that
/// cuda_std enables in the other. The compiler names neither, and cargo chooses the newest glam for
/// a new project although cuda_std also accepts the other.
fn on_versions(messages: &str, versions: &Versions) -> Option<String> {
    PASSED_ON.iter().find_map(|(name, accepted, remedy)| {
        let signs = [
            format!("multiple different versions of crate `{name}`"),
            format!("could not compile `{name}` (lib)"),
        ];
        let [oldest, .., newest] = &versions.get(*name)?[..] else {
            return None;
        };
        signs.iter().any(|sign| messages.contains(sign)).then(|| {
            let remedy = remedy.replace("NEWEST", newest).replace("OLDEST", oldest);
            format!(
                "help: {name} {oldest} and {name} {newest} are different crates to the compiler; {accepted}\n      \
                 one version for all: {remedy}\n"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(name: &str, all: &[&str]) -> Versions {
        let all = all.iter().map(|version| (*version).to_owned()).collect();
        Versions::from([(name.to_owned(), all)])
    }

    #[test]
    fn two_versions_of_one_crate_are_named_with_the_command_that_leaves_one() {
        let note = "= note: there are multiple different versions of crate `vek` in the graph";
        let two = versions("vek", &["0.15.10", "0.17.2"]);
        let help = on(note, &two).unwrap();
        for part in [
            "vek 0.15.10 and vek 0.17.2 are",
            "cust have 0.15",
            "`vek = \"0.15\"`",
        ] {
            assert!(help.contains(part), "{help}");
        }
        let silent = [
            (note, versions("vek", &["0.17.2"])),
            (note, versions("glam", &["0.20.5", "0.34.3"])),
            ("error[E0308]: mismatched types", two),
        ];
        for (messages, versions) in silent {
            assert_eq!(on(messages, &versions), None, "{messages}");
        }
        let glam = on(
            &note.replace("vek", "glam"),
            &versions("glam", &["0.30.1", "0.34.3"]),
        );
        assert!(glam.is_some_and(|help| help.contains("`glam_0_22`")));
        let no_backend =
            "error: You must specify a math backend\n\nerror: could not compile `glam` (lib)";
        let help = on(no_backend, &versions("glam", &["0.33.12", "0.34.3"])).unwrap();
        assert!(help.contains("-p glam@0.34.3 --precise 0.33.12"), "{help}");
    }

    #[test]
    fn a_dependency_with_std_is_told_where_it_goes() {
        let message = "error[E0463]: can't find crate for `std`\n --> num-traits-0.2.19/src/lib.rs";
        let help = on(message, &Versions::new()).unwrap();
        for part in ["`default-features = false`", "`resolver = \"2\"`"] {
            assert!(help.contains(part), "{help}");
        }
        assert_eq!(
            on(
                "error[E0463]: can't find crate for `core`",
                &Versions::new()
            ),
            None
        );
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(order("0.9.1") < order("0.10.0"));
        assert!(order("1.2.3-rc.1") < order("1.2.4"));
    }
}
