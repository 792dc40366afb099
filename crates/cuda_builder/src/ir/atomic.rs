//! Keeps the memory ordering of read-modify-write atomics.
//!
//! LLVM 22's NVPTX backend prints every `atomicrmw` as relaxed, whatever it asks for (fences, loads, stores and `cmpxchg` keep
//! their ordering). So an ordered one becomes a relaxed one between fences, which is how the PTX memory model builds the others
//! anyway.
//!
//! A fence of one thread (`compiler_fence`) is none of the GPU's, and the backend stops at it: it becomes empty assembly, over which
//! LLVM moves no access to memory either.

/// What a `compiler_fence` becomes.
const ONE_THREAD: &str = "  call void asm sideeffect \"\", \"~{memory}\"()";

/// Rewrites every ordered `atomicrmw`, and every fence of one thread.
pub(crate) fn order(ir: &str) -> String {
    let mut ordered = String::with_capacity(ir.len() + 256);
    for line in ir.lines() {
        if let Some((_, rest)) = line.split_once("  fence syncscope(\"singlethread\") ") {
            ordered.push_str(ONE_THREAD);
            ordered.push_str(rest.find(", !dbg").map_or("", |at| &rest[at..]));
            ordered.push('\n');
            continue;
        }
        match split(line) {
            None => ordered.push_str(line),
            Some((before, ordering, after)) => {
                let scope = before.find("syncscope(").map_or("", |at| &before[at..]);
                let mut fence = |kind: &str| ordered.push_str(&format!("  fence {scope}{kind}\n"));
                match ordering {
                    "release" | "acq_rel" => fence("release"),
                    "seq_cst" => fence("seq_cst"),
                    _ => {}
                }
                ordered.push_str(&format!("{before}monotonic{after}"));
                if ordering != "release" {
                    ordered.push_str(&format!("\n  fence {scope}acquire"));
                }
            }
        }
        ordered.push('\n');
    }
    ordered
}

/// `… atomicrmw … acq_rel, align 4` as (`… atomicrmw … `, `acq_rel`, `, align 4`); a relaxed one is left alone.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    if !line.starts_with("  ") || !line.contains("atomicrmw ") {
        return None;
    }
    ["acquire", "release", "acq_rel", "seq_cst"]
        .into_iter()
        .find_map(|ordering| {
            let at = line.find(&format!(" {ordering}, align "))? + 1;
            Some((
                &line[..at],
                &line[at..at + ordering.len()],
                &line[at + ordering.len()..],
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::{ONE_THREAD, order};

    #[track_caller]
    fn check(ir: &str, expected: &str) {
        assert_eq!(order(ir), expected);
    }

    #[test]
    fn each_ordering_gets_its_fences() {
        let line = |ordering: &str| {
            format!("  %1 = atomicrmw add ptr %p, i32 1 {ordering}, align 4, !dbg !3\n")
        };
        let relaxed = line("monotonic");
        check(&relaxed, &relaxed);
        check(&line("acquire"), &format!("{relaxed}  fence acquire\n"));
        check(&line("release"), &format!("  fence release\n{relaxed}"));
        check(
            &line("acq_rel"),
            &format!("  fence release\n{relaxed}  fence acquire\n"),
        );
        check(
            &line("seq_cst"),
            &format!("  fence seq_cst\n{relaxed}  fence acquire\n"),
        );
    }

    #[test]
    fn the_scope_is_kept() {
        check(
            "  %1 = atomicrmw fadd ptr %p, float 1.0 syncscope(\"block\") acq_rel, align 4\n",
            "  fence syncscope(\"block\") release\n  %1 = atomicrmw fadd ptr %p, float 1.0 syncscope(\"block\") monotonic, align 4\n  fence syncscope(\"block\") acquire\n",
        );
    }

    #[test]
    fn a_fence_of_one_thread_is_for_the_compiler() {
        check(
            "  fence syncscope(\"singlethread\") seq_cst, !dbg !5\n  fence seq_cst\n",
            &format!("{ONE_THREAD}, !dbg !5\n  fence seq_cst\n"),
        );
    }
}
