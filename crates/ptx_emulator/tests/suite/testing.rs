//! The helper for tests of other crates.

use crate::common::with_header;
use ptx_emulator::testing::{Launch, Refused};
use ptx_emulator::{InvalidLaunch, Limits, Rule};

/// `fn add(a: &[u32], total: *mut u32, factor: u16)`: total[i] = total[i] + factor * a[i], through
/// dynamic shared memory.
fn kernel(barrier: &str) -> String {
    with_header(&format!(
        ".extern .shared .align 4 .b8 dynamic[];
.visible .entry add(.param .u64 a, .param .u64 len, .param .u64 total, .param .u16 factor) {{
    .reg .b64 %a, %len, %total, %at, %i; .reg .b32 %t, %s, %x, %y, %n, %z; .reg .b16 %f; .reg .pred %p;
    ld.param.u64 %a, [a]; ld.param.u64 %len, [len]; ld.param.u64 %total, [total]; ld.param.u16 %f, [factor];
    mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; cvt.u64.u32 %i, %t;
    setp.ge.u64 %p, %i, %len;
    shl.b64 %i, %i, 2; add.u64 %at, %a, %i; add.u64 %total, %total, %i;
    mov.u32 %s, dynamic; mad.lo.u32 %s, %t, 4, %s;
    mov.u32 %x, 0;
    @!%p ld.global.u32 %x, [%at];
    st.shared.u32 [%s], %x;
    {barrier}
    xor.b32 %z, %s, 128;
    ld.shared.u32 %x, [%z];
    @%p ret;
    cvt.u32.u16 %y, %f;
    mul.lo.u32 %x, %x, %y;
    ld.global.u32 %y, [%total];
    add.u32 %x, %x, %y;
    st.global.u32 [%total], %x;
    ret;
}}"
    ))
}

#[test]
fn arguments_arrive_and_outputs_come_back() -> Result<(), Refused> {
    let a: Vec<u32> = (0..64).collect();
    let mut total = vec![1_u32; 64];
    Launch::of(&kernel("bar.sync 0;"))?
        .block((64, 1))
        .shared_bytes(256)
        .slice(&a)
        .inout(&mut total)
        .value(3_u16)
        .schedules(2)
        .check()?
        .assert_clean();
    // Each thread takes its partner's element, in the other warp.
    let expected: Vec<u32> = (0..64).map(|i| 1 + 3 * (i ^ 32)).collect();
    assert_eq!(total, expected);
    Ok(())
}

#[test]
fn a_missing_barrier_fails_with_the_report() {
    let a: Vec<u32> = (0..64).collect();
    let mut total = vec![1_u32; 64];
    let launch = Launch::of(&kernel(""))
        .expect("PTX")
        .block(64)
        .shared_bytes(256);
    let checked = launch.slice(&a).inout(&mut total).value(3_u16).check();
    let checked = checked.expect("it runs");
    let rules: Vec<_> = checked
        .report
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect();
    assert!(rules.contains(&Rule::ReadAfterWrite), "{checked}");

    let failure = std::panic::catch_unwind(|| checked.assert_clean()).expect_err("not clean");
    let message = failure.downcast_ref::<String>().expect("text");
    for part in [
        "race-",
        "PTX:",
        "st.shared.u32 [%s], %x",
        "RACECHECK SUMMARY",
        "ERROR SUMMARY",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn memory_that_only_the_kernel_writes_is_not_initialised() {
    let a = [1_u32; 64];
    let mut total = vec![7_u32; 64];
    let launch = Launch::of(&kernel("bar.sync 0;"))
        .expect("PTX")
        .block(64)
        .shared_bytes(256);
    let checked = launch.slice(&a).output(&mut total).value(3_u16).check();
    let checked = checked.expect("it runs");
    assert_eq!(
        checked.report.findings[0].rule,
        Rule::UninitialisedMemory,
        "{checked}"
    );
}

#[test]
fn what_was_written_before_a_fault_comes_back() {
    // The buffer is shorter than the length that is passed.
    let a: Vec<u32> = (0..64).collect();
    let mut total = vec![1_u32; 32];
    let launch = Launch::of(&kernel("bar.sync 0;"))
        .expect("PTX")
        .block(64)
        .shared_bytes(256);
    let checked = launch.slice(&a).inout(&mut total).value(1_u16).check();
    let checked = checked.expect("it runs");
    assert_eq!(
        checked.report.findings[0].rule,
        Rule::OutOfBounds,
        "{checked}"
    );
    assert_eq!(total[0], 33);
}

#[test]
fn an_endless_loop_is_a_finding_not_a_hang() {
    let ptx = with_header(".visible .entry k() { LOOP: bra LOOP; }");
    let limits = Limits {
        warp_instructions: 1000,
        ..Limits::default()
    };
    let checked = Launch::of(&ptx).expect("PTX").limits(limits).check();
    let findings = checked.expect("it runs").report.findings;
    assert_eq!(findings[0].rule, Rule::StepLimit);
}

#[test]
fn what_cannot_be_launched_is_an_error() {
    let two = with_header(".visible .entry a() { ret; } .visible .entry b(.param .u32 x) { ret; }");
    let launch = || Launch::of(&two).expect("PTX");
    let refused = |launch: Launch<'_>| launch.check().expect_err("refused").to_string();
    assert_eq!(
        refused(launch()),
        "name the kernel to launch; the PTX has: a, b"
    );
    let missing = refused(launch().kernel("c"));
    assert_eq!(missing, "no kernel `c` in the module; it has: a, b");
    let error = launch().kernel("b").check().expect_err("refused");
    let expected = matches!(error, Refused::Launch(InvalidLaunch::ArgumentCount { .. }));
    assert!(expected, "{error}");
    let wrong_size = refused(launch().kernel("b").value(1_u64));
    assert_eq!(
        wrong_size,
        "argument 1 of kernel `b` must have 4 bytes, 8 given"
    );
    assert!(refused(launch().kernel("a").block(0)).starts_with("block [0, 1, 1]"));
    assert!(matches!(Launch::of("no PTX"), Err(Refused::Ptx(_))));
}
