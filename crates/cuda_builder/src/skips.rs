//! A load or store that a branch skips is guarded by the branch's predicate.
//!
//! ```text
//! @%p1 bra $L__BB0_2;                @!%p1 ld.global.b32 %r5, [%rd1];
//! ld.global.b32 %r5, [%rd1];
//! $L__BB0_2:
//! ```
//!
//! ptxas makes the same instructions of both. With more than one instruction it does not: it then
//! takes what follows for the same block, and copies it.

use std::collections::HashMap;

use crate::lines::{Edits, edit};

/// The same PTX without such branches and their labels.
pub(crate) fn guard(ptx: &str) -> String {
    edit(ptx, guards)
}

fn guards(code: &[(usize, &str)]) -> Edits {
    let mut mentioned: HashMap<&str, usize> = HashMap::new();
    for (_, line) in code {
        for label in labels(line) {
            *mentioned.entry(label).or_default() += 1;
        }
    }
    let mut edits = Edits::new();
    for [(branch_at, branch), (access_at, access), (label_at, label)] in code.array_windows() {
        if let Some((predicate, target)) = skip(branch)
            && is_access(access)
            && label.starts_with(target)
            && label[target.len()..].starts_with(':')
            && mentioned[target] == 2
        {
            let access = access.trim_start();
            edits.insert(*branch_at, None);
            edits.insert(*access_at, Some(format!("\t{predicate} {access}")));
            edits.insert(*label_at, None);
        }
    }
    edits
}

/// `@!%p1` and `$L__BB0_2` of `@%p1 bra $L__BB0_2;`.
fn skip(line: &str) -> Option<(String, &str)> {
    let (predicate, rest) = line.trim_start().strip_prefix('@')?.split_once(' ')?;
    let target = rest.trim_start().strip_prefix("bra")?.trim_start();
    let target = target.strip_suffix(';')?;
    let is_label = target.starts_with('$') && labels(target).eq([target]);
    let predicate = match predicate.strip_prefix('!') {
        Some(predicate) => format!("@{predicate}"),
        None => format!("@!{predicate}"),
    };
    is_label.then_some((predicate, target))
}

/// Whether a line is one access of global or shared memory, without a guard. No load writes a
/// predicate.
fn is_access(line: &str) -> bool {
    let line = line.trim_start();
    let begins = ["ld.global.", "st.global.", "ld.shared.", "st.shared."];
    begins.iter().any(|begin| line.starts_with(begin))
        && line.ends_with(';')
        && line.matches(';').count() == 1
}

/// The labels that a line names or is.
fn labels(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !(c.is_ascii_alphanumeric() || "_$".contains(c)))
        .filter(|word| word.starts_with('$'))
}

#[cfg(test)]
mod tests {
    use super::guard;

    const SKIP: &str = "\t@%p1 bra \t$L__BB0_2;\n// %bb.1:\n\t.loc\t1 2 3 // a.rs:2:3\n\tld.global.v2.b32 \t{%r5, %r6}, [%rd1+8];\n$L__BB0_2:                              // %exit\n";

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let function = |body: &str| format!(".visible .entry k()\n{{\n{body}\tret;\n}}\n");
        assert_eq!(guard(&function(body)), function(expected));
    }

    #[test]
    fn a_skipped_access_is_guarded() {
        let guarded = "// %bb.1:\n\t.loc\t1 2 3 // a.rs:2:3\n\t@!%p1 ld.global.v2.b32 \t{%r5, %r6}, [%rd1+8];\n";
        check(SKIP, guarded);
        check(
            &SKIP.replace("@%p1", "@!%p1"),
            &guarded.replace("@!%p1", "@%p1"),
        );
        let store = |text: &str| {
            text.replace(
                "ld.global.v2.b32 \t{%r5, %r6}, [%rd1+8]",
                "st.shared.b32 \t[%rd1], %r5",
            )
        };
        check(&store(SKIP), &store(guarded));
        // One after the other.
        let second = SKIP.replace("BB0_2", "BB0_4");
        check(&format!("{SKIP}{second}"), &format!("{guarded}{guarded}"));
    }

    #[test]
    fn other_branches_stay() {
        let same = |body: String| check(&body, &body);
        // Somebody else goes there, or may.
        same(format!("{SKIP}\t@%p2 bra \t$L__BB0_2;\n"));
        same(format!("\t@%p2 bra \t$L__BB0_2;\n{SKIP}"));
        same(format!(
            "$L_brx_0: .branchtargets\n\t$L__BB0_2,\n\t$L__BB0_3;\n{SKIP}"
        ));
        let longer = SKIP.replace("$L__BB0_2:", "$L__BB0_21:");
        same(format!("{longer}$L__BB0_2:\n"));
        for (from, to) in [
            // To another place, which begins like this one.
            ("$L__BB0_2;", "$L__BB0_21;"),
            ("$L__BB0_2:", "$L__BB0_21:"),
            ("@%p1 bra", "bra.uni"),
            // More than an access, and other accesses.
            ("\tld", "\tadd.s32 \t%r7, %r7, 1;\n\tld"),
            ("$L__BB0_2:", "\tadd.s32 \t%r7, %r7, 1;\n$L__BB0_2:"),
            ("\tld", "$L__BB0_3:\n\tld"),
            ("+8];", "+8]; bar.sync 0;"),
            ("\tld", "\t@%p2 ld"),
            ("\tld", "\t{\n.reg .b32 x;\nld"),
            ("ld.global.v2.b32", "ld.volatile.global.v2.b32"),
            ("ld.global.v2.b32", "ld.relaxed.gpu.v2.b32"),
            ("ld.global.v2.b32 \t{%r5, %r6}, [%rd1+8]", "bar.sync \t0"),
        ] {
            same(SKIP.replacen(from, to, 1));
        }
        // A label of the same name in another function is none of this one's.
        let text = "{\n\t@%p1 bra \t$L;\n\tld.global.b32 \t%r5, [%rd1];\n}\n{\n$L:\n}\n";
        assert_eq!(guard(text), text);
    }
}
