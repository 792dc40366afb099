//! Registers without a value, and operands that must have one.

use super::{BODY, TILE, check, clean, memory, only};
use crate::common::shape;
use ptx_emulator::{Rule, Space};

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
    // Whatever 32 bits the register holds, product and sum fit in 64.
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
    // An exchange whose old value is not used is a store.
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
    // The undefined value goes through the parameter's memory.
    let finding = only(run("%a", "%r1"));
    assert_eq!(finding.rule, Rule::UninitialisedMemory);
    let finding = only(run("%unset", "%t"));
    assert_eq!(finding.site.place.ptx_line, BODY + 6);
}

// What compilers do with undefined values.

/// Compilers divide in all lanes and then mask the result: in masked lanes the divisor was never
/// loaded.
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
