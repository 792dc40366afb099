//! Accesses outside of memory: every space, through every kind of instruction, with the nearest
//! allocation and a hint.

mod arrays;
mod instructions;
mod spaces;

use crate::common::{limits, module, shape, thread};
use ptx_emulator::{Access, CheckOptions, CheckReport, Emulator, Finding, Rule, Space};

/// A kernel with a buffer of 64 bytes, its number of u32 and whatever is said before it. Its body
/// is line 9.
fn kernel(before: &str, body: &str) -> String {
    assert!(!before.contains('\n'), "the body's line is counted");
    format!(
        "{before}
.visible .entry k(.param .u64 buffer, .param .u64 length) {{
.reg .b64 %at, %mine, %rd<9>; .reg .b32 %t, %r<9>; .reg .pred %p<4>;
ld.param.u64 %at, [buffer]; mov.u32 %t, %tid.x;
mad.wide.u32 %mine, %t, 4, %at;
{body} ret;
}}"
    )
}

/// Bad accesses are looked for whatever the options say.
fn options() -> CheckOptions {
    CheckOptions {
        race: false,
        init: false,
        ..CheckOptions::default()
    }
}

/// A launch of 32 threads with 16 bytes of dynamic shared memory.
fn check(before: &str, body: &str, length: u64) -> CheckReport {
    check_with(before, body, length, 16)
}

fn check_with(before: &str, body: &str, length: u64, dynamic_shared: u32) -> CheckReport {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel(before, body)))
        .expect("it loads");
    let buffer = emulator.alloc(64).expect("memory is there");
    emulator.write(buffer, &[1; 64]).expect("it fits");
    let args = [buffer.to_le_bytes(), length.to_le_bytes()];
    let args = args.each_ref().map(|arg| arg.as_slice());
    emulator
        .check(
            &loaded,
            "k",
            shape(1, 32, dynamic_shared),
            &args,
            &options(),
        )
        .expect("it is launched")
}

/// The only finding, which must be an error at the body's line.
#[track_caller]
fn only(report: CheckReport) -> Finding {
    let [finding] = report
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{all:#?}"));
    assert_eq!(finding.site.place.ptx_line, 9, "{finding:#?}");
    finding
}

/// Where an access went wrong.
struct Wrong {
    access: Access,
    space: Space,
    address: u64,
    size: u32,
    thread: u32,
    /// Threads of the warp that did so.
    count: u64,
}

#[track_caller]
fn wrong(before: &str, body: &str, rule: Rule, wrong: Wrong, words: &[&str]) {
    let finding = only(check(before, body, 16));
    assert_eq!(finding.rule, rule, "{body}");
    let target = finding.site.target.expect("an access");
    // The buffer is the first allocation; addresses in global memory are relative to it.
    let base = if target.space == Space::Global {
        1 << 40
    } else {
        0
    };
    let at = (
        target.access,
        target.space,
        target.address.wrapping_sub(base),
        target.size,
    );
    assert_eq!(
        at,
        (wrong.access, wrong.space, wrong.address, wrong.size),
        "{body}"
    );
    let threads = (thread(&finding.site), finding.count);
    assert_eq!(threads, (wrong.thread, wrong.count), "{body}");
    let hint = finding.hint.unwrap_or_default();
    for word in words {
        let said = finding.message.contains(word) || hint.contains(word);
        assert!(said, "`{word}` is missing: {} / {hint}", finding.message);
    }
}

fn at(
    access: Access,
    space: Space,
    (address, size): (u64, u32),
    (thread, count): (u32, u64),
) -> Wrong {
    Wrong {
        access,
        space,
        address,
        size,
        thread,
        count,
    }
}

const OUT: Rule = Rule::OutOfBounds;
