//! Memory that was never written: shared, global, local and what passes from one to another.

use super::{Device, TILE, check, clean, kernel, memory, only};
use crate::common::shape;
use ptx_emulator::{CheckOptions, Rule, Space};

#[test]
fn shared_memory_that_nobody_wrote_is_reported_where_it_decides_a_branch() {
    let body = "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0+16];
add.u32 %r2, %r1, 1;
setp.eq.u32 %p0, %r2, 7;
@%p0 bra $skip;
st.global.u32 [%out], %t;
$skip:";
    // The branch is not taken: memory happens to be zero.
    let report = check(TILE, body, shape(1, 32, 0));
    let finding = memory(
        report,
        Space::Shared,
        1,
        4,
        &["decides a branch", "`tile`, byte 16"],
    );
    assert_eq!(finding.count, 32);
    assert_eq!(finding.others[0].target.expect("an access").address, 16);
}

/// The hint for shared memory that is read before it is filled.
#[track_caller]
fn asks(fill: &str, words: &[&str], not: &[&str]) {
    let objects = ".shared .align 8 .b64 object;";
    let body = format!(
        "mov.u32 %r0, tile; mov.u32 %r8, object; {fill}
ld.shared.u32 %r1, [%r0+16]; st.global.u32 [%out], %r1;"
    );
    let report = check(&format!("{TILE}{objects}"), &body, shape(1, 1, 0));
    let finding = (report.findings.into_iter())
        .find(|finding| finding.rule == Rule::UninitialisedMemory)
        .expect("it is found");
    let hint = finding.hint.unwrap_or_default();
    assert!(hint.contains("a store is missing"), "{hint}");
    for word in words {
        assert!(hint.contains(word), "no `{word}`: {hint}");
    }
    for word in not {
        assert!(!hint.contains(word), "`{word}`: {hint}");
    }
}

#[test]
fn what_fills_shared_memory_is_what_is_waited_for() {
    asks("", &["bar.sync 0"], &["mbarrier", "cluster", "wait_group"]);
    asks(
        "cp.async.ca.shared.global [%r0], [%in], 4;",
        &["cp.async.wait_group", "bar.sync 0"],
        &["mbarrier", "cluster"],
    );
    asks(
        "mbarrier.init.shared.b64 [%r8], 1;",
        &["mbarrier.try_wait"],
        &["bar.sync", "cluster"],
    );
    asks(
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
        &["cluster.sync()", "bar.sync 0"],
        &["mbarrier"],
    );
}

/// A finding whose value came from global memory by line 0 of the body and went through another
/// memory.
#[track_caller]
fn passed_on(before: &str, body: &str, used: u32, through: &str) {
    let report = check(before, body, shape(1, 32, 0));
    let words = ["global memory at", through, "neither the host nor a kernel"];
    let finding = memory(report, Space::Global, 0, used, &words);
    let hint = finding.hint.unwrap_or_default();
    assert!(!hint.contains("had stored"), "{hint}");
}

#[test]
fn a_stored_value_is_reported_with_its_origin() {
    passed_on(
        TILE,
        "ld.global.u32 %r0, [%out];
shl.b32 %r1, %t, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1;
st.shared.u32 [%r2], %r0;
bar.sync 0;
ld.shared.u32 %r3, [%r2];
st.global.u32 [%in], %r3;",
        5,
        "stored to shared memory",
    );
    // A part of what was stored.
    passed_on(
        TILE,
        "ld.global.u32 %r0, [%out];
shl.b32 %r1, %t, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1;
st.shared.u32 [%r2], %r0;
ld.shared.u16 %h0, [%r2+2];
st.global.u16 [%in], %h0;",
        4,
        "stored to shared memory",
    );
    passed_on(
        "",
        "ld.global.u32 %r0, [%out];
{ .local .align 8 .b8 array[16]; st.local.u32 [array+4], %r0; ld.local.v2.u32 {%r1, %r2}, [array]; }
st.global.u32 [%in], %r2;",
        2,
        "stored to local memory",
    );
    // A parameter of a call is copied from frame to frame.
    passed_on(
        ".func (.param .b32 o) same(.param .b32 i) { .reg .b32 %x; ld.param.u32 %x, [i]; st.param.b32 [o], %x; ret; }",
        "ld.global.u32 %r0, [%out];
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r0; call.uni (b), same, (a); ld.param.b32 %r1, [b]; }
st.global.u32 [%in], %r1;",
        2,
        "stored to local memory",
    );
}

#[test]
fn a_register_without_a_value_is_named_through_shared_memory_too() {
    let body = "setp.gt.u32 %p0, %t, 7;
@%p0 mov.u32 %r0, 1;
st.shared.u32 [tile], %r0;
ld.shared.u32 %r1, [tile];
st.global.u32 [%in], %r1;";
    let finding = only(check(TILE, body, shape(1, 4, 0)));
    assert_eq!(finding.rule, Rule::UninitialisedRegister);
    assert!(finding.message.contains("register %r0"), "{finding:#?}");
}

#[test]
fn old_contents_are_forgotten() {
    // Each block has shared memory of its own: the second one has stored nothing.
    let body = "mov.u32 %r4, %ctaid.x; setp.eq.u32 %p0, %r4, 0;
@%p0 ld.global.u32 %r0, [%out];
@%p0 st.shared.u32 [tile], %r0;
ld.shared.u32 %r1, [tile];
@!%p0 st.global.u32 [%in], %r1;";
    let report = check(TILE, body, shape(2, 32, 0));
    memory(report, Space::Shared, 3, 4, &["no thread of the block"]);
}

#[test]
fn a_missing_barrier_leaves_the_other_warps_part_undefined() {
    let body = "mov.u32 %r0, tile;
shl.b32 %r1, %t, 2;
add.u32 %r2, %r0, %r1;
st.shared.u32 [%r2], %t;
BARRIER
xor.b32 %r3, %r1, 128;
add.u32 %r4, %r0, %r3;
ld.shared.u32 %r5, [%r4];
st.global.u32 [%out], %r5;";
    let config = shape(1, 64, 0);
    let report = check(TILE, &body.replace("BARRIER", ""), config);
    let words = ["stored to global memory", "bar.sync"];
    let finding = memory(report, Space::Shared, 7, 8, &words);
    assert_eq!((finding.count, finding.site.thread), (32, Some([0, 0, 0])));
    assert!(check(TILE, &body.replace("BARRIER", "bar.sync 0;"), config).is_clean());
}

#[test]
fn global_memory_that_neither_the_host_nor_a_kernel_wrote() {
    let body = "ld.global.f32 %f0, [%out];
ld.global.f32 %f1, [%in];
fma.rn.f32 %f2, %f0, %f1, %f1;
st.global.f32 [%in], %f2;";
    let report = check("", body, shape(1, 32, 0));
    memory(
        report,
        Space::Global,
        0,
        3,
        &["copy or clear the buffer", "stored to global"],
    );
}

#[test]
fn what_a_checked_launch_stored_counts_as_written_and_the_rest_does_not() {
    let text = format!(
        "{}{}",
        kernel(
            "",
            "setp.lt.u32 %p0, %t, 8;\n@%p0 st.global.u32 [%out], %t;"
        ),
        kernel("", "ld.global.u32 %r0, [%out];\nst.global.u32 [%in], %r0;").replace(" k(", " l(")
    );
    let device = Device::new(&text);
    assert!(device.check("k", shape(1, 32, 0)).is_clean());
    assert!(device.check("l", shape(1, 8, 0)).is_clean());
    let finding = only(device.check("l", shape(1, 12, 0)));
    assert_eq!((finding.site.thread, finding.count), (Some([8, 0, 0]), 4));
}

#[test]
fn after_a_launch_that_nobody_watched_everything_may_have_been_written() {
    let device = Device::new(&kernel(
        "",
        "ld.global.u32 %r0, [%out];\nst.global.u32 [%in], %r0;",
    ));
    let args = [device.input.to_le_bytes(), device.output.to_le_bytes()];
    let args = args.each_ref().map(|arg| arg.as_slice());
    let config = shape(1, 32, 0);
    assert_eq!(device.check("k", config).findings.len(), 1);
    let launched = device.emulator.launch(&device.loaded, "k", config, &args);
    launched.expect("it runs");
    assert!(device.check("k", config).is_clean());
}

#[test]
fn schedules_start_from_the_same_undefined_memory() {
    let text = kernel(
        "",
        "ld.global.u32 %r0, [%out];\nst.global.u32 [%out], %t;\nst.global.u32 [%in], %r0;",
    );
    let device = Device::new(&text);
    let args = [device.input.to_le_bytes(), device.output.to_le_bytes()];
    let args = args.each_ref().map(|arg| arg.as_slice());
    let options = CheckOptions {
        race: false,
        schedules: 3,
        ..CheckOptions::default()
    };
    let config = shape(1, 32, 0);
    let check = || {
        device
            .emulator
            .check(&device.loaded, "k", config, &args, &options)
    };
    let finding = only(check().expect("it is launched"));
    assert_eq!((finding.count, finding.seed), (4 * 32, None));
    assert!(check().expect("it is launched").is_clean());
}

#[test]
fn variables_of_the_module_are_always_written() {
    clean(
        ".global .align 4 .b8 table[4096]; .const .align 4 .u32 scale = 3;",
        "mov.u64 %rd0, table;
mad.wide.u32 %rd0, %t, 4, %rd0;
ld.global.u32 %r0, [%rd0];
ld.const.u32 %r1, [scale];
mul.lo.u32 %r2, %r0, %r1;
st.global.u32 [%out], %r2;",
    );
}

#[test]
fn local_memory_that_nobody_wrote() {
    let body = "st.local.u32 [array+4], %t;
ld.local.u32 %r0, [array];
ld.local.u32 %r1, [array+4];
st.global.u32 [%out], %r1;
st.global.u32 [%out], %r0;";
    let text = kernel("", body).replace("%p<4>;", "%p<4>; .local .align 4 .b8 array[8];");
    let report = Device::new(&text).check("k", shape(1, 32, 0));
    memory(report, Space::Local, 1, 4, &["local array"]);
}
