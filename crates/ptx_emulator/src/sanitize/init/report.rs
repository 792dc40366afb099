//! Messages about uses of undefined values.

use super::registers::{Origin, Source};
use crate::decode::op::Op;
use crate::fault::{Access, Space};
use crate::sanitize::finding::{Finding, Rule, Severity, Site, Target};
use crate::sanitize::language::words;
use crate::sanitize::{Actor, Context, Ledger};

/// How an undefined value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Branch,
    /// The index of a `brx.idx`.
    BranchIndex,
    Callee,
    /// The guard of an instruction with side effects.
    Guard,
    Address(Access),
    /// An operand of a barrier, shuffle or similar that selects the participants.
    Control,
    /// Stored to global memory.
    Stored(Target),
    /// An operand of an atomic.
    AtomicOperand,
    /// The memory operand of an atomic.
    Modified(Target),
    /// The size of an asynchronous copy.
    CopySize,
}

impl Use {
    fn text(self) -> &'static str {
        match self {
            Use::Branch => "decides a branch",
            Use::BranchIndex => "chooses the target of a branch",
            Use::Callee => "is the address of a function that is called",
            Use::Guard => "decides whether an instruction takes effect",
            Use::Address(Access::Read) => "is the address of a read",
            Use::Address(Access::Write) => "is the address of a write",
            Use::Address(Access::Atomic) => "is the address of an atomic access",
            Use::Control => "is an operand of an instruction that makes threads meet",
            Use::Stored(_) => "is stored to global memory",
            Use::AtomicOperand => "is an operand of an atomic access",
            Use::Modified(_) => "is changed by an atomic access",
            Use::CopySize => "is the size of an asynchronous copy",
        }
    }
}

/// Counts the use of an undefined value by `times` lanes, the first of which is the actor.
pub(super) fn report(
    context: &Context<'_>,
    ledger: &mut Ledger,
    (user, times): (Actor, u64),
    usage: Use,
    origin: Origin,
) {
    let rule = match origin.source {
        Source::Memory { .. } => Rule::UninitialisedMemory,
        Source::Register { .. } => Rule::UninitialisedRegister,
        Source::Division => Rule::Undefined,
    };
    ledger.report_times((rule, origin.actor.pc, user.pc), times, || {
        let mut what = described(context, origin.source);
        if let Some(space) = origin.through {
            what += &format!(", which was stored to {space} memory and read from there");
        }
        let target = match usage {
            Use::Stored(target) | Use::Modified(target) => Some(target),
            _ => None,
        };
        let site = context.site(user, format!("it {}", usage.text()), target);
        let others = match usage {
            // The use is at the same site as the read.
            Use::Modified(_) if origin.actor == user => Vec::new(),
            _ => vec![source_site(context, origin)],
        };
        Finding {
            rule,
            severity: Severity::Error,
            message: match origin.source {
                Source::Division => format!("{what} {}", usage.text()),
                _ => format!("a value that nobody wrote {}: {what}", usage.text()),
            },
            site,
            others,
            hint: Some(hint(context, origin)),
            count: 1,
            seed: None,
            step: 0,
        }
    });
}

fn described(context: &Context<'_>, source: Source) -> String {
    let program = context.program;
    match source {
        Source::Division => "the result of an integer division by zero".to_owned(),
        Source::Memory {
            space,
            address,
            size,
            ..
        } => {
            let element = match space {
                Space::Global => context.element(address, size),
                _ => None,
            };
            let element = element.map_or(String::new(), |element| format!(", {element}"));
            format!("{space} memory at {address:#x}{element}")
        }
        Source::Register { function, cell } => {
            let function = &program.functions[function as usize];
            let named = function.names.iter().find(|(of, _)| *of == cell);
            match named {
                Some((_, name)) => format!("register {name}"),
                None => "a register".to_owned(),
            }
        }
    }
}

fn source_site(context: &Context<'_>, Origin { actor, source, .. }: Origin) -> Site {
    match source {
        Source::Division => context.site(actor, "division by zero".to_owned(), None),
        Source::Memory {
            space,
            address,
            size,
            ..
        } => {
            let target = Target {
                access: Access::Read,
                space,
                address,
                size,
                value: None,
            };
            context.site(actor, format!("read of {size} bytes"), Some(target))
        }
        Source::Register { function, .. } => {
            let name = &context.program.functions[function as usize].name;
            let what = described(context, source);
            context.site(
                actor,
                format!("{what} has no value when `{name}` begins"),
                None,
            )
        }
    }
}

/// What a reader of shared memory waits for, where the kernel has more than stores by its block.
fn wait(context: &Context<'_>, origin: Origin) -> String {
    let words = words(&context.program.place(origin.actor.pc));
    let (mut copies, mut objects, mut others) = (false, false, false);
    for (_, inst) in context.program.reachable_code(context.kernel.function) {
        match &inst.op {
            Op::CopyAsync(_) => copies = true,
            Op::Mbarrier(_) => objects = true,
            Op::ClusterBarrier { .. } => others = true,
            _ => {}
        }
    }
    let mut ways = Vec::new();
    if objects {
        ways.push("a wait for the phase of the mbarrier that the copy or the writer arrives at (`mbarrier.try_wait`)".to_owned());
    }
    if copies {
        ways.push(format!(
            "{} and {} after it",
            words.copy_wait, words.block_barrier
        ));
    }
    if others {
        ways.push(format!(
            "{}, if another block writes",
            words.cluster_barrier
        ));
    }
    if !copies && !objects {
        ways.push(words.block_barrier.to_owned());
    }
    format!("{} between the store and the read", ways.join(", or "))
}

fn hint(context: &Context<'_>, origin: Origin) -> String {
    match origin.source {
        Source::Division => "test the divisor before the division".to_owned(),
        Source::Memory {
            space,
            address,
            size,
            untouched,
        } => {
            let name = context.variables.name(space, address);
            let element = || match space {
                Space::Global => context.element(address, size),
                _ => None,
            };
            let name = name.or_else(element);
            let name = name.unwrap_or_else(|| format!("byte {address:#x}"));
            match space {
                _ if !untouched => format!(
                    "nobody had stored a value to {name}, when it was read: a store is missing, or what was stored there had no value itself"
                ),
                Space::Shared => format!(
                    "no thread of the block had stored to {name}, when it was read: a store is missing, or {}",
                    wait(context, origin)
                ),
                Space::Local => "give the local array a value before it is read".to_owned(),
                _ => format!(
                    "neither the host nor a kernel had written {name}, when it was read: copy or clear the buffer before the launch (the emulator's memory is zero at first, a GPU's is not)"
                ),
            }
        }
        Source::Register { function, .. } => {
            let name = &context.program.functions[function as usize].name;
            format!(
                "give the variable a value on every path through `{name}` that leads to its use"
            )
        }
    }
}
