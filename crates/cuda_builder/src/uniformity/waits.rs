//! Instructions that wait for other threads: barriers of the block, and warp operations.

/// An instruction that threads must reach together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Which threads it waits for.
    pub(super) scope: Scope,
    /// Its name in messages: `bar.sync`, `shfl.sync.idx.b32`.
    pub(super) name: String,
    /// The lanes that it waits for.
    pub(super) lanes: Lanes,
    /// Which threads get the same result.
    pub(super) result: Answer,
}

/// The threads that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All threads of the block.
    Block,
    /// Lanes of the warp.
    Warp,
}

/// A mask of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    All,
    Given(Operand),
}

/// The position of an operand's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// The call's argument with this number.
    Argument(usize),
    Constant(u32),
    /// In a register that the assembly itself writes.
    Computed,
}

/// Which threads get the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Each thread may get a different one.
    Own,
    /// The lanes in the mask.
    Lanes,
    /// All threads of the block.
    Block,
    /// All lanes get the value of one lane, if they name the same `lane` and `range` is the whole
    /// warp.
    Broadcast { lane: Operand, range: Operand },
}

/// The instruction of an LLVM intrinsic, if it waits. `is_convergent`: LLVM's declaration says
/// that threads must reach it together, which covers intrinsics not listed here.
pub(super) fn of_intrinsic(intrinsic: &str, is_convergent: bool) -> Option<Wait> {
    let name = intrinsic.strip_prefix("llvm.nvvm.")?;
    let parts: Vec<_> = name.split('.').collect();
    let mask = |argument| Lanes::Given(Operand::Argument(argument));
    let (scope, lanes, result) = match parts[..] {
        ["activemask" | "nanosleep"] => return None,
        ["barrier", "cta", .., "count"] => return counted(name, parts.contains(&"aligned")),
        ["barrier", "cta", "red", ..] => (Scope::Block, Lanes::All, Answer::Block),
        ["barrier", ..] | ["barrier0", ..] => (Scope::Block, Lanes::All, Answer::Own),
        ["shfl", "sync", "idx", ..] => (
            Scope::Warp,
            mask(0),
            Answer::Broadcast {
                lane: Operand::Argument(2),
                range: Operand::Argument(3),
            },
        ),
        ["redux", "sync", ..] => (Scope::Warp, mask(1), Answer::Lanes),
        ["vote", ..] | ["match", "all", ..] => (Scope::Warp, mask(0), Answer::Lanes),
        ["bar", "warp", ..] | ["shfl", ..] | ["match", ..] | ["elect", ..] => {
            (Scope::Warp, mask(0), Answer::Own)
        }
        _ if is_convergent || parts.contains(&"sync") => (Scope::Warp, Lanes::All, Answer::Own),
        _ => return None,
    };
    // PTX has shuffles of bits only.
    let name = match name.strip_suffix(".i32").or(name.strip_suffix(".f32")) {
        Some(shuffle) if shuffle.starts_with("shfl") => format!("{shuffle}.b32"),
        _ => name.to_owned(),
    };
    Some(Wait {
        scope,
        name,
        lanes,
        result,
    })
}

/// A barrier with a thread count waits for that many threads, whichever they are. Only the aligned
/// form requires whole warps.
fn counted(name: &str, is_aligned: bool) -> Option<Wait> {
    is_aligned.then(|| Wait {
        scope: Scope::Warp,
        name: name.to_owned(),
        lanes: Lanes::All,
        result: Answer::Own,
    })
}

/// The waiting instructions of inline assembly.
pub(super) fn of_assembly(template: &str, constraints: &str) -> Vec<Wait> {
    let statements = statements(template);
    let waits: Vec<_> = statements
        .iter()
        .filter_map(|statement| of_statement(statement, constraints))
        .collect();
    // The assembly's further use of the result is known only if the instruction is alone and reads
    // only its operands.
    let is_plain = waits.len() == 1 && !template.contains('%');
    waits
        .into_iter()
        .map(|wait| Wait {
            result: if is_plain { wait.result } else { Answer::Own },
            ..wait
        })
        .collect()
}

/// Whether inline assembly is a function of its operands. LLVM prints `sideeffect` unless Rust says
/// `pure`.
pub(super) fn is_pure_assembly(call: &str, template: &str, constraints: &str) -> bool {
    // Special registers; the set of active lanes; memory.
    let others = ["%", "activemask", "ld."];
    !call.contains("asm sideeffect ")
        && !constraints.contains("~{memory}")
        && !others.iter().any(|other| template.contains(other))
}

/// The statements of a template as LLVM prints it, without braces; an operand is `$2`.
fn statements(template: &str) -> Vec<String> {
    let text = template.replace("\\0A", " ").replace("\\09", " ");
    let mut pieces = text.split("${");
    let mut bare = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        bare.push('$');
        bare.push_str(&piece.replacen('}', "", 1));
    }
    bare.split([';', '{', '}'])
        .map(|statement| statement.trim().to_owned())
        .collect()
}

fn of_statement(statement: &str, constraints: &str) -> Option<Wait> {
    // Skips a label and a predicate.
    let statement = statement.rsplit(": ").next()?;
    let statement = match statement.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ')?.1.trim_start(),
        None => statement,
    };
    let (name, operands) = statement.split_once(' ').unwrap_or((statement, ""));
    let operands: Vec<_> = operands.split(',').map(str::trim).collect();
    let parts: Vec<_> = name.split('.').collect();
    let wait = |scope, lanes, result| {
        Some(Wait {
            scope,
            name: name.to_owned(),
            lanes,
            result,
        })
    };
    let operand = |at: usize| {
        let text = operands.get(at).copied().unwrap_or_default();
        operand(text, constraints)
    };
    let mask = Lanes::Given(operand(operands.len() - 1));
    match parts[..] {
        ["bar", "warp", ..] => wait(Scope::Warp, mask, Answer::Own),
        ["bar" | "barrier", "cluster", ..] => wait(Scope::Block, Lanes::All, Answer::Own),
        ["bar" | "barrier", ..] => {
            let is_reduction = parts.contains(&"red");
            // `bar.sync a, b`, `bar.red.popc d, a, b, p`.
            let has_count = operands.len() > if is_reduction { 3 } else { 1 };
            match has_count || parts.contains(&"arrive") {
                true => counted(name, parts[0] == "bar" || parts.contains(&"aligned")),
                false if is_reduction => wait(Scope::Block, Lanes::All, Answer::Block),
                false => wait(Scope::Block, Lanes::All, Answer::Own),
            }
        }
        ["shfl", "sync", "idx", ..] => wait(
            Scope::Warp,
            mask,
            // `shfl.sync.idx.b32 d|p, a, lane, range, mask`.
            Answer::Broadcast {
                lane: operand(2),
                range: operand(3),
            },
        ),
        ["vote" | "redux", "sync", ..] | ["match", "all", ..] => {
            wait(Scope::Warp, mask, Answer::Lanes)
        }
        ["shfl" | "match" | "elect", ..] => wait(Scope::Warp, mask, Answer::Own),
        _ if parts.contains(&"sync") => wait(Scope::Warp, Lanes::All, Answer::Own),
        _ => None,
    }
}

/// The meaning of an assembly operand: `$2`, `-1`, `0xffffffff`.
fn operand(text: &str, constraints: &str) -> Operand {
    if let Some(Ok(number)) = text.strip_prefix('$').map(str::parse::<usize>) {
        let constraints: Vec<_> = constraints.split(',').collect();
        let outputs = constraints
            .iter()
            .filter(|constraint| constraint.starts_with('='))
            .count();
        // A constraint with `*` consumes an argument although it is an output.
        return match number.checked_sub(outputs) {
            Some(argument) if !constraints.iter().any(|one| one.contains('*')) => {
                Operand::Argument(argument)
            }
            _ => Operand::Computed,
        };
    }
    let bits = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse::<i64>().ok().map(|bits| bits as u32),
    };
    bits.map_or(Operand::Computed, Operand::Constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHUFFLE: &str = "{\\0A.reg .pred in_range;\\0Ashfl.sync.idx.b32 ${0}|in_range, ${2}, ${3}, ${4}, ${5};\\0Aselp.u32 \
                           ${1}, 1, 0, in_range;\\0A}";

    #[track_caller]
    fn intrinsic(name: &str, expected: Option<(Scope, Lanes, Answer)>) {
        let found = of_intrinsic(name, false).map(|wait| (wait.scope, wait.lanes, wait.result));
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn assembly(template: &str, constraints: &str, expected: &[(Scope, Lanes, Answer)]) {
        let found: Vec<_> = of_assembly(template, constraints)
            .into_iter()
            .map(|wait| (wait.scope, wait.lanes, wait.result))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn barriers_are_the_blocks_and_those_that_count_the_warps() {
        let all = (Scope::Block, Lanes::All, Answer::Own);
        intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", Some(all));
        intrinsic("llvm.nvvm.barrier.cluster.wait.aligned", Some(all));
        assembly("bar.sync 0;", "", &[all]);
        assembly(
            "barrier.cta.sync.aligned 1;\\0Abar.sync 0;",
            "",
            &[all, all],
        );
        assembly("barrier.cluster.arrive.aligned;", "", &[all]);
        assembly("barrier.cluster.wait;", "", &[all]);
        let vote = (Scope::Block, Lanes::All, Answer::Block);
        intrinsic("llvm.nvvm.barrier.cta.red.popc.aligned.all", Some(vote));
        assembly("bar.red.popc.u32 $0, 0, p;", "=r", &[vote]);
        let some = (Scope::Warp, Lanes::All, Answer::Own);
        intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", Some(some));
        assembly("bar.sync 1, ${0};", "r", &[some]);
        assembly("bar.red.popc.u32 ${0}, 0, 64, p;", "=r", &[some]);
        intrinsic("llvm.nvvm.barrier.cta.sync.count", None);
        assembly("barrier.sync 1, ${0};", "r", &[]);
    }

    #[test]
    fn operations_of_the_warp_know_their_mask() {
        let given = |at, answer| (Scope::Warp, Lanes::Given(Operand::Argument(at)), answer);
        intrinsic("llvm.nvvm.bar.warp.sync", Some(given(0, Answer::Own)));
        intrinsic("llvm.nvvm.vote.any.sync", Some(given(0, Answer::Lanes)));
        intrinsic("llvm.nvvm.redux.sync.umin", Some(given(1, Answer::Lanes)));
        intrinsic("llvm.nvvm.match.any.sync.i32", Some(given(0, Answer::Own)));
        assembly(
            SHUFFLE,
            "=&r,=&r,r,r,r,r",
            &[given(
                3,
                Answer::Broadcast {
                    lane: Operand::Argument(1),
                    range: Operand::Argument(2),
                },
            )],
        );
        let computed = (Scope::Warp, Lanes::Given(Operand::Computed), Answer::Lanes);
        // An output in memory takes an argument too.
        assembly("vote.sync.any.pred p, q, $1;", "=*m,r", &[computed]);
        let constant = (
            Scope::Warp,
            Lanes::Given(Operand::Constant(u32::MAX)),
            Answer::Own,
        );
        assembly("@p bar.warp.sync 0xffffffff;", "", &[constant]);
        assembly("shfl.sync.up.b32 a, b, 1, 0, -1;", "", &[constant]);
    }

    #[test]
    fn what_is_aligned_takes_the_whole_warp() {
        let whole = (Scope::Warp, Lanes::All, Answer::Own);
        assembly(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1}, {$2}, {$3}, {$0, $1};",
            "=f,=f,r,r",
            &[whole],
        );
        assembly("wgmma.fence.sync.aligned;", "~{memory}", &[whole]);
        assert!(of_intrinsic("llvm.nvvm.new.kind", true).is_some());
        assert!(of_intrinsic("llvm.nvvm.wgmma.fence.sync.aligned", false).is_some());
    }

    #[test]
    fn all_else_waits_for_nobody() {
        intrinsic("llvm.nvvm.activemask", None);
        assert_eq!(of_intrinsic("llvm.nvvm.activemask", true), None);
        intrinsic("llvm.nvvm.membar.cta", None);
        intrinsic("llvm.fma.f32", None);
        assembly("membar.cta;", "~{memory}", &[]);
        assembly("cp.async.wait_group 0;", "~{memory}", &[]);
        assembly("fence.proxy.async;", "~{memory}", &[]);
    }

    #[test]
    fn a_result_that_more_instructions_make_is_each_threads_own() {
        let own = Wait {
            scope: Scope::Warp,
            name: "vote.sync.any.pred".to_owned(),
            lanes: Lanes::Given(Operand::Argument(0)),
            result: Answer::Own,
        };
        let template = "{ vote.sync.any.pred p, q, $1; mov.u32 $0, %laneid; }";
        assert_eq!(of_assembly(template, "=r,r"), [own]);
    }

    #[test]
    fn pure_assembly_reads_nothing_but_its_operands() {
        let address = "cvta.to.shared.u64 ${0}, ${1};";
        assert!(is_pure_assembly("i64 asm ", address, "=&l,l"));
        assert!(!is_pure_assembly("i64 asm sideeffect ", address, "=&l,l"));
        assert!(!is_pure_assembly("i64 asm ", address, "=&l,l,~{memory}"));
        for template in [
            "mov.u32 $0, %tid.z;",
            "activemask.b32 $0;",
            "ld.local.u32 $0, [$1];",
        ] {
            assert!(
                !is_pure_assembly("i32 asm ", template, "=r,r"),
                "{template}"
            );
        }
    }
}
