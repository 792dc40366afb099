//! Uses of values that nobody wrote: each kind is reported with the right places, and what
//! compilers do with undefined values without using them is not.

use crate::common::{limits, module, shape, thread};
use ptx_emulator::{
    CheckOptions, CheckReport, Emulator, Finding, LaunchConfig, LoadedModule, Rule, Space,
};

const BYTES: u64 = 4096;

/// A device with two buffers: the host has written the first one and not the second.
struct Device {
    emulator: Emulator,
    loaded: LoadedModule,
    input: u64,
    output: u64,
}

impl Device {
    fn new(text: &str) -> Self {
        let emulator = Emulator::new(limits());
        let loaded = emulator.load(&module(text)).expect("it loads");
        let input = emulator.alloc(BYTES).expect("memory is there");
        let output = emulator.alloc(BYTES).expect("memory is there");
        let values: Vec<u8> = (0..BYTES / 4)
            .flat_map(|word| (word as u32).to_le_bytes())
            .collect();
        emulator.write(input, &values).expect("it fits");
        Self {
            emulator,
            loaded,
            input,
            output,
        }
    }

    fn check(&self, kernel: &str, config: LaunchConfig) -> CheckReport {
        let args = [self.input.to_le_bytes(), self.output.to_le_bytes()];
        let args = args.each_ref().map(|arg| arg.as_slice());
        let options = CheckOptions {
            race: false,
            ..CheckOptions::default()
        };
        self.emulator
            .check(&self.loaded, kernel, config, &args, &options)
            .expect("it is launched")
    }
}

const HEAD: &str = "
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 %in, %out, %rd<9>; .reg .b32 %t, %r<9>, %f<20>; .reg .b16 %h<4>; .reg .pred %p<4>;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;
mad.wide.u32 %in, %t, 4, %in; mad.wide.u32 %out, %t, 4, %out;";
/// The line of the first instruction of a body that follows the head.
const BODY: u32 = 9;

/// A kernel with buffers `in` and `out`, and the lane's place in them in %in and %out; one
/// instruction a line.
fn kernel(before: &str, body: &str) -> String {
    assert!(!before.contains('\n'), "the body's lines are counted");
    format!("{before}{HEAD}\n{body}\nret;\n}}")
}

fn check(before: &str, body: &str, config: LaunchConfig) -> CheckReport {
    Device::new(&kernel(before, body)).check("k", config)
}

#[track_caller]
fn clean(before: &str, body: &str) {
    for config in [shape(1, 32, 0), shape(2, 64, 0), shape(1, 40, 0)] {
        let report = check(before, body, config);
        assert!(report.is_clean(), "{:#?}", report.findings);
    }
}

/// The only finding.
#[track_caller]
fn only(report: CheckReport) -> Finding {
    let [finding] = report
        .findings
        .try_into()
        .unwrap_or_else(|all| panic!("{all:#?}"));
    finding
}

/// A finding about memory: where the value was read and where it is used, as lines of the body from
/// 0.
#[track_caller]
fn memory(report: CheckReport, space: Space, read: u32, used: u32, words: &[&str]) -> Finding {
    let finding = only(report);
    assert_eq!(finding.rule, Rule::UninitialisedMemory);
    assert_eq!(finding.site.place.ptx_line, BODY + used, "{finding:#?}");
    let [origin] = finding.others.as_slice() else {
        panic!("{finding:#?}")
    };
    assert_eq!(origin.place.ptx_line, BODY + read, "{finding:#?}");
    assert_eq!(origin.target.expect("an access").space, space);
    assert_eq!(origin.thread, finding.site.thread);
    let hint = finding.hint.clone().unwrap_or_default();
    for word in words {
        let said = finding.message.contains(word) || hint.contains(word);
        assert!(said, "`{word}` is missing: {finding:#?}");
    }
    finding
}

const TILE: &str = ".shared .align 16 .b8 tile[1024];";

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
fn a_value_that_was_stored_is_told_by_where_it_came_from() {
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
fn what_lay_there_before_is_forgotten() {
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

#[test]
fn a_register_that_was_not_written_on_every_path() {
    let body = "setp.lt.u32 %p0, %t, 8;
@%p0 bra $skip;
mov.u32 %r0, 5;
$skip:
mul.lo.u32 %r1, %r0, 3;
st.global.u32 [%out], %r1;";
    let finding = only(check("", body, shape(1, 32, 0)));
    assert_eq!(finding.rule, Rule::UninitialisedRegister);
    assert_eq!((finding.site.place.ptx_line, finding.count), (BODY + 5, 8));
    assert!(
        finding.message.contains("register %r0"),
        "{}",
        finding.message
    );
    assert_eq!(
        finding.others[0].what,
        "register %r0 has no value when `k` begins"
    );
}

#[test]
fn a_register_that_nobody_wrote_has_no_more_bits_than_fit() {
    // The upper half of its zero extension is 0.
    let body = "cvt.u64.u32 %rd1, %r1;
shr.u64 %rd1, %rd1, 32;
setp.ne.u64 %p1, %rd1, 0;
@%p1 bra $end;
st.global.u32 [%out], %t;
$end:";
    clean("", body);
    // Any two values of 32 bits can be multiplied and added.
    let body = "mad.hi.cc.u32 %r2, %r1, %r1, %r1;
madc.hi.cc.u32 %r3, %r1, %r2, %r1;
addc.u32 %r4, %r3, %r3;
setp.ne.u32 %p1, %r4, 0;
@%p1 bra $end;
st.global.u32 [%out], %t;
$end:";
    let finding = only(check("", body, shape(1, 32, 0)));
    assert_eq!(finding.count, 32, "{finding:#?}");
}

#[test]
fn predicates_are_registers_too() {
    let finding = only(check(
        "",
        "@!%p3 bra $end;\nst.global.u32 [%out], %t;\n$end:",
        shape(1, 4, 0),
    ));
    assert_eq!(finding.rule, Rule::UninitialisedRegister);
    assert!(
        finding.message.contains("register %p3"),
        "{}",
        finding.message
    );
    assert_eq!(finding.site.place.ptx_line, BODY);
}

#[test]
fn addresses_indices_barriers_selectors_and_callees_must_be_defined() {
    let read = "mov.u32 %r0, tile;\nld.shared.u32 %r1, [%r0];\nld.shared.u64 %rd1, [%r0+8];\n";
    let uses = [
        ("ld.shared.u32 %r2, [%r1];", "address of a read"),
        ("st.shared.u32 [%r1], %t;", "address of a write"),
        ("atom.shared.add.u32 %r2, [%r1], 1;", "address of an atomic"),
        ("red.shared.add.u32 [%r0+64], %r1;", "operand of an atomic"),
        ("bar.sync %r1;", "makes threads meet"),
        (
            "shfl.sync.idx.b32 %r2, %t, %r1, 31, -1;",
            "makes threads meet",
        ),
        ("brx.idx %r1, table;", "target of a branch"),
        (
            "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %t; call (r), %rd1, (a), proto; }",
            "function that is called",
        ),
        (
            "cp.async.ca.shared.global [%r0+64], [%in], 4, %r1;",
            "size of an asynchronous copy",
        ),
        (
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r0+64], %t;",
            "takes effect",
        ),
        ("setp.eq.u32 %p1, %r1, 0;\n@%p1 exit;", "decides a branch"),
    ];
    for (instruction, said) in uses {
        let tables = "table: .branchtargets $end, $end;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
        let tables = if instruction.contains("brx") || instruction.contains("call") {
            tables
        } else {
            ""
        };
        let body = format!("{tables}{read}{instruction}\n$end:");
        let report = check(TILE, &body, shape(1, 1, 0));
        // A call of address 0 ends the launch as well.
        let mut found = report.findings.iter();
        let finding = found.find(|finding| finding.rule == Rule::UninitialisedMemory);
        let finding = finding.unwrap_or_else(|| panic!("{instruction}: {report:#?}"));
        assert!(
            finding.message.contains(said),
            "{instruction}: {}",
            finding.message
        );
        let line = BODY + (tables.lines().count() + 3 + instruction.lines().count() - 1) as u32;
        assert_eq!(finding.site.place.ptx_line, line, "{instruction}");
    }
}

#[test]
fn an_atomic_on_memory_that_nobody_wrote() {
    let finding = only(check("", "red.global.add.u32 [%out], 1;", shape(1, 32, 0)));
    assert_eq!(
        (finding.rule, finding.count),
        (Rule::UninitialisedMemory, 32)
    );
    assert!(
        finding.message.contains("changed by an atomic"),
        "{}",
        finding.message
    );
    assert_eq!(finding.site.target.expect("an access").size, 4);
    // An exchange whose old value nobody looks at is a store.
    clean(
        "",
        "atom.global.exch.b32 %r0, [%out], %t;\nred.global.add.u32 [%out], 1;",
    );
    let body = "atom.global.exch.b32 %r0, [%out], %t;\nst.global.u32 [%in], %r0;";
    memory(check("", body, shape(1, 32, 0)), Space::Global, 0, 1, &[]);
}

#[test]
fn asynchronous_copies_bring_undefined_bytes_along() {
    let body = "mov.u32 %r0, tile;
shl.b32 %r1, %t, 2;
add.u32 %r0, %r0, %r1;
cp.async.ca.shared.global [%r0], [SOURCE], 4SIZE;
cp.async.wait_all;
ld.shared.u32 %r2, [%r0];
st.global.u32 [%in], %r2;";
    let body = |source: &str, size: &str| body.replace("SOURCE", source).replace("SIZE", size);
    let report = check(TILE, &body("%out", ""), shape(1, 32, 0));
    memory(report, Space::Global, 3, 6, &["stored to shared memory"]);
    clean(TILE, &body("%in", ""));
    // Nothing is read, all is filled with zeros.
    clean(TILE, &body("%out", ", 0"));
}

#[test]
fn a_shuffle_takes_the_taint_of_its_source_lane() {
    // Only lane 3 has an undefined value; lanes 3 and 7 take each other's.
    let body = "mov.u32 %r0, tile;
mov.u32 %r1, %t;
setp.eq.u32 %p0, %t, 3;
@%p0 ld.shared.u32 %r1, [%r0];
shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;
st.global.u32 [%out], %r2;";
    let finding = only(check(TILE, body, shape(1, 32, 0)));
    assert_eq!((finding.site.thread, finding.count), (Some([7, 0, 0]), 1));
    assert_eq!(finding.others[0].thread, Some([3, 0, 0]));
}

#[test]
fn votes_and_reductions_depend_on_every_lane() {
    let body = "mov.u32 %r0, tile;
mov.u32 %r1, %t;
setp.eq.u32 %p0, %t, 3;
@%p0 ld.shared.u32 %r1, [%r0];
setp.gt.u32 %p1, %r1, 5;
INSTRUCTION
st.global.u32 [%out], %r2;";
    for instruction in [
        "redux.sync.add.u32 %r2, %r1, -1;",
        "match.any.sync.b32 %r2, %r1, -1;",
        "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r2, 1, 2, %p2;",
    ] {
        let report = check(
            TILE,
            &body.replace("INSTRUCTION", instruction),
            shape(1, 32, 0),
        );
        assert_eq!(only(report).count, 32, "{instruction}");
    }
    // A ballot's other bits are known.
    let ballot = "vote.sync.ballot.b32 %r2, %p1, -1; and.b32 %r2, %r2, MASK;";
    let ballot = body.replace("INSTRUCTION", ballot);
    clean(
        TILE,
        &ballot
            .replace("MASK", "0xfffffff7")
            .replace("eq.u32 %p0, %t, 3", "eq.u32 %p0, %t, 35"),
    );
    assert!(check(TILE, &ballot.replace("MASK", "0xfffffff7"), shape(1, 32, 0)).is_clean());
    assert!(!check(TILE, &ballot.replace("MASK", "0x0000000c"), shape(1, 32, 0)).is_clean());
}

#[test]
fn a_finding_in_a_called_function_and_through_its_parameter() {
    let before = ".func (.param .b32 result) twice(.param .b32 value) { .reg .b32 %a, %unset; ld.param.b32 %a, [value]; add.u32 %a, %a, EXTRA; st.param.b32 [result], %a; ret; }";
    let body = "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
{ .param .b32 param0; .param .b32 retval0;
st.param.b32 [param0], VALUE;
call.uni (retval0), twice, (param0);
ld.param.b32 %r2, [retval0]; }
st.global.u32 [%out], %r2;";
    let run = |extra: &str, value: &str| {
        let before = format!("{TILE}{}", before.replace("EXTRA", extra));
        check(&before, &body.replace("VALUE", value), shape(1, 32, 0))
    };
    assert!(run("%a", "%t").is_clean());
    // The parameter's memory holds the undefined value: it is read there last.
    let finding = only(run("%a", "%r1"));
    assert_eq!(finding.rule, Rule::UninitialisedMemory);
    let finding = only(run("%unset", "%t"));
    assert_eq!(finding.site.place.ptx_line, BODY + 6);
}

// What compilers do with undefined values.

#[test]
fn a_load_ahead_of_its_test_is_no_use() {
    clean(
        TILE,
        "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.lt.u32 %p0, %t, 99;
selp.u32 %r2, %t, %r1, %p0;
st.global.u32 [%out], %r2;",
    );
    // It is one when the select takes the other operand.
    let body = "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.lt.u32 %p0, %t, 20;
selp.u32 %r2, %t, %r1, %p0;
st.global.u32 [%out], %r2;";
    let report = check(TILE, body, shape(1, 32, 0));
    assert_eq!(memory(report, Space::Shared, 1, 4, &[]).count, 12);
}

#[test]
fn a_condition_that_another_one_hides_is_no_use() {
    clean(
        TILE,
        "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
setp.gt.u32 %p0, %t, 99;
setp.eq.u32 %p1, %r1, 3;
and.pred %p2, %p0, %p1;
@%p2 bra $end;
st.global.u32 [%out], %t;
$end:",
    );
}

#[test]
fn a_result_that_no_operand_changes_is_defined() {
    let uses = |compute: &str| {
        format!(
            "mov.u32 %r0, tile;
ld.shared.u32 %r1, [%r0];
mov.u32 %r3, 0;
mov.u32 %r4, 6;
{compute}
setp.eq.u32 %p1, %r2, 3;
@%p1 bra $end;
st.global.u32 [%out], %t;
$end:"
        )
    };
    for compute in [
        "xor.b32 %r2, %r1, %r1;",
        "sub.s32 %r2, %r1, %r1;",
        "mul.lo.u32 %r2, %r1, %r3;",
        "cvt.u64.u32 %rd1, %r1; xor.b64 %rd2, %rd1, %rd1; cvt.u32.u64 %r2, %rd2;",
    ] {
        clean(TILE, &uses(compute));
    }
    for compute in [
        "xor.b32 %r2, %r1, %r4;",
        "add.s32 %r2, %r1, %r1;",
        "mul.lo.u32 %r2, %r1, %r4;",
    ] {
        let report = check(TILE, &uses(compute), shape(1, 32, 0));
        assert_eq!(
            memory(report, Space::Shared, 1, 6, &[]).count,
            32,
            "{compute}"
        );
    }
}

#[test]
fn copies_of_structs_with_padding() {
    // { u8, pad, u16, u32 }: stored by fields, copied as a whole to shared, local and global memory, and taken apart.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 8, %r0;
st.shared.u8 [%r0], %t;
st.shared.u16 [%r0+2], %t;
st.shared.u32 [%r0+4], %t;
ld.shared.b64 %rd0, [%r0];
st.local.b64 [copy], %rd0;
ld.local.v2.b32 {%r1, %r2}, [copy];
shr.u32 %r3, %r1, 16;
and.b32 %r4, %r1, 255;
prmt.b32 %r5, %r1, %r2, 0x7632;
bfe.u32 %r6, %r1, 16, 8;
cvt.u16.u32 %h0, %r1;
and.b16 %h0, %h0, 255;
cvt.u32.u16 %r7, %h0;
add.u32 %r3, %r3, %r4;
add.u32 %r3, %r3, %r5;
add.u32 %r3, %r3, %r6;
add.u32 %r3, %r3, %r7;
shr.u64 %rd1, %rd0, 32;
cvt.u32.u64 %r8, %rd1;
add.u32 %r3, %r3, %r8;
setp.eq.u32 %p0, %r3, 77;
@%p0 bra $end;
st.global.u32 [%out], %r3;
and.b64 %rd2, %in, -8;
st.global.b64 [%rd2], %rd0;
$end:";
    let text = kernel(TILE, body).replace("%p<4>;", "%p<4>; .local .align 8 .b8 copy[8];");
    let report = Device::new(&text).check("k", shape(1, 32, 0));
    assert!(report.is_clean(), "{:#?}", report.findings);
    // The padding itself is undefined.
    let text = text.replace("and.b32 %r4, %r1, 255;", "and.b32 %r4, %r1, 256;");
    let report = Device::new(&text).check("k", shape(1, 32, 0));
    assert!(!report.is_clean());
}

#[test]
fn partly_filled_tiles_behind_one_predicate() {
    clean(
        TILE,
        "setp.lt.u32 %p0, %t, 20;
mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 4, %r0;
@%p0 ld.global.u32 %r1, [%in];
@%p0 st.shared.u32 [%r0], %r1;
bar.sync 0;
@%p0 ld.shared.u32 %r2, [%r0];
@%p0 add.u32 %r2, %r2, 1;
@%p0 st.global.u32 [%out], %r2;",
    );
}

#[test]
fn loops_reused_registers_and_divergent_paths() {
    // %r1 is undefined at the entry of the loop in name only: the first round writes it.
    clean(
        TILE,
        "mov.u32 %r0, 0;
$loop:
setp.eq.u32 %p0, %r0, 0;
@%p0 mov.u32 %r1, %t;
@!%p0 add.u32 %r1, %r1, 2;
and.b32 %r2, %t, 1;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra $even;
mul.lo.u32 %r3, %r1, 3;
bra.uni $join;
$even:
mul.lo.u32 %r3, %r1, 5;
$join:
add.u32 %r0, %r0, 1;
setp.lt.u32 %p2, %r0, 5;
@%p2 bra $loop;
st.global.u32 [%out], %r3;",
    );
}

#[test]
fn one_block_does_not_see_what_the_one_before_stored() {
    // The first block stores; the second only reads.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 4, %r0;
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p0, %r1, 0;
@%p0 st.shared.u32 [%r0], %t;
ld.shared.u32 %r2, [%r0];
st.global.u32 [%out], %r2;";
    let finding = memory(check(TILE, body, shape(2, 32, 0)), Space::Shared, 5, 6, &[]);
    assert_eq!((finding.site.block, finding.count), ([1, 0, 0], 32));
}

#[test]
fn matrices_are_undefined_by_rows_and_columns() {
    let before = ".shared .align 16 .b8 tile[1024];";
    // Rows 0 to 7 of the left operand are defined, 8 to 15 not; the accumulator is zero.
    let body = "mov.u32 %r0, tile;
mov.f32 %f0, 0f3F800000;
ld.shared.f32 %f1, [%r0];
mov.f32 %f2, %f0;
mov.f32 %f3, %f1;
mov.f32 %f4, %f0;
mov.f32 %f5, %f0;
mov.f32 %f6, 0f00000000;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f10, %f11, %f12, %f13}, {%f0, %f1, %f2, %f3}, {%f4, %f5}, {%f6, %f6, %f6, %f6};
st.global.f32 [%out], %f10;
st.global.f32 [%out], %f11;
st.global.f32 [%out], %f12;";
    let report = check(before, body, shape(1, 32, 0));
    memory(report, Space::Shared, 2, 11, &[]);
}

#[test]
fn matrices_loaded_from_shared_memory() {
    // Rows of 16 bytes: lane l stores the second half of row l, the loads bring both.
    let body = "mov.u32 %r0, tile;
mad.lo.u32 %r0, %t, 16, %r0;
st.shared.v2.u32 [%r0+8], {%t, %t};
bar.warp.sync -1;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r0];
and.b32 %r5, %t, 2;
setp.ne.u32 %p0, %r5, 0;
@%p0 st.global.u32 [%out], %r3;
st.global.u32 [%out], %r4;";
    let finding = only(check(TILE, body, shape(1, 32, 0)));
    assert_eq!(finding.site.place.ptx_line, BODY + 8);
    // Lanes 4r and 4r + 1 hold the first half of each row.
    assert_eq!((finding.site.thread, finding.count), (Some([0, 0, 0]), 16));
    assert_eq!(
        finding.others[0].target.expect("an access").address,
        24 * 16
    );
}

#[test]
fn what_all_lanes_do_alike_is_told_of_the_lane_that_uses_it() {
    // All lanes read one word and compute with it and with a register in a loop; only lane 5 uses
    // the result.
    let body = "mov.u32 %r0, 0;
again: ld.shared.u32 %r1, [s];
add.u32 %r2, %r2, %r1;
add.u32 %r0, %r0, 1;
setp.lt.u32 %p0, %r0, 9;
@%p0 bra again;
setp.eq.u32 %p1, %t, 5;
@%p1 st.global.u32 [%out], USED;";
    for used in ["%r1", "%r2"] {
        let report = check(
            ".shared .b32 s;",
            &body.replace("USED", used),
            shape(1, 64, 0),
        );
        let finding = only(report);
        assert_eq!(finding.count, 1);
        assert_eq!(thread(&finding.site), 5);
        assert_eq!(thread(&finding.others[0]), 5, "{finding:#?}");
    }
}

#[test]
fn lanes_that_part_keep_their_own_undefined_bits() {
    // Lanes 0 to 3 write their half of what all lanes had read, lane 2 all of it.
    let body = |lane: u32| {
        format!(
            "ld.shared.u32 %r1, [s];
setp.lt.u32 %p0, %t, 4;
@%p0 and.b32 %r1, %r1, 0xffff;
setp.eq.u32 %p1, %t, 2;
@%p1 mov.u32 %r1, 7;
setp.eq.u32 %p2, %t, {lane};
shr.u32 %r2, %r1, SHIFT;
@%p2 st.global.u32 [%out], %r2;"
        )
    };
    for (lane, shift, is_undefined) in [
        (0, 4, true),
        (0, 16, false),
        (2, 0, false),
        (3, 16, false),
        (4, 20, true),
        (31, 31, true),
    ] {
        let body = body(lane).replace("SHIFT", &shift.to_string());
        let report = check(".shared .b32 s;", &body, shape(1, 32, 0));
        assert_eq!(!report.is_clean(), is_undefined, "{lane} {shift}");
    }
}

#[test]
fn lanes_read_one_place_of_their_own_local_memory() {
    // Lane 9 has written its word.
    let body = |lane: u32| {
        format!(
            ".local .b32 own; setp.eq.u32 %p0, %t, 9;
@%p0 st.local.u32 [own], %t;
ld.local.u32 %r1, [own];
setp.eq.u32 %p1, %t, {lane};
@%p1 st.global.u32 [%out], %r1;"
        )
    };
    for lane in [0, 9, 10] {
        let report = check("", &body(lane), shape(1, 32, 0));
        assert_eq!(report.is_clean(), lane == 9, "{lane}");
    }
}

/// Compilers divide in lanes that a mask switches off, where the divisor was not loaded.
#[test]
fn a_quotient_of_zero_that_nobody_uses_is_fine() {
    clean(
        "",
        "rem.u32 %r1, 7, %t;
setp.ne.u32 %p0, %t, 0;
selp.b32 %r2, %r1, 0, %p0;
@%p0 st.global.u32 [%out], %r1;",
    );
}

#[test]
fn a_quotient_of_zero_is_reported_where_it_is_used() {
    let body = "sub.u32 %r0, %t, 3;
div.s32 %r1, 7, %r0;
add.u32 %r2, %r1, 1;
st.global.u32 [%out], %r2;";
    let finding = only(check("", body, shape(1, 32, 0)));
    assert_eq!(finding.rule, Rule::Undefined);
    assert_eq!(
        finding.message,
        "the result of an integer division by zero is stored to global memory"
    );
    assert_eq!(finding.site.place.ptx_line, BODY + 3);
    assert_eq!(finding.others[0].place.ptx_line, BODY + 1);
    assert_eq!((finding.site.thread, finding.count), (Some([3, 0, 0]), 1));
    // As a branch's condition, in all lanes.
    let body = "rem.u64 %rd1, %in, 0;
setp.eq.u64 %p0, %rd1, 0;
@%p0 bra $skip;
st.global.u32 [%out], %t;
$skip:";
    let finding = only(check("", body, shape(1, 32, 0)));
    assert_eq!((finding.rule, finding.count), (Rule::Undefined, 32));
    assert!(finding.message.ends_with("decides a branch"));
}
