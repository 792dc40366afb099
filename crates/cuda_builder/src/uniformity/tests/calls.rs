//! Chains of calls, and calls through pointers.

use super::*;

const ASKS: &str = "  %c = icmp eq i32 %x, 0\n  br i1 %c, label %then, label %end, !dbg !3\nthen:\n  \
                    BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n";

#[track_caller]
fn after(lines: &str, functions: &str, expected: &[(u32, u32)]) {
    let body = format!("  {lines}\n{ASKS}");
    assert_eq!(reported(Rule::Refuse, &body, functions), expected);
}

#[test]
fn a_function_is_what_each_call_passes() {
    let add = "define internal i32 @f(i32 %a) {\n  %r = add i32 %a, 1\n  ret i32 %r\n}\n";
    let calls = "%x = call i32 @f(i32 %n)\n  %y = call i32 @f(i32 %tid)";
    after(calls, add, &[]);
    after(
        &calls.replace("%x", "%z").replace("%y", "%x"),
        add,
        &[(4, 3)],
    );
}

#[test]
fn what_a_called_function_calls_counts() {
    let two = "define internal i32 @f(i32 %a) {\n  %r = call i32 @g(i32 %a)\n  ret i32 %r\n}\n\
               define internal i32 @g(i32 %a) {\n  %r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  ret i32 %r\n}\n";
    after("%x = call i32 @f(i32 %n)", two, &[(4, 3)]);
}

#[test]
fn a_return_elsewhere_is_none_of_a_branchs() {
    let ends = "define internal i32 @f(i32 %a) {\n  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  \
                %e = icmp eq i32 %a, 0\n  br i1 %e, label %early, label %late\nearly:\n  ret i32 3\nlate:\n  \
                %c = icmp eq i32 %l, 0\n  br i1 %c, label %one, label %two\none:\n  ret i32 1\ntwo:\n  ret i32 1\n}\n";
    after("%x = call i32 @f(i32 %n)", ends, &[]);
    after(
        "%x = call i32 @f(i32 %n)",
        &ends.replacen("ret i32 1", "ret i32 2", 1),
        &[(4, 3)],
    );
}

#[test]
fn very_many_chains_of_calls_are_followed_together() {
    let mut functions = String::new();
    for at in 0..20 {
        let _ = writeln!(
            functions,
            "define internal i32 @f{at}(i32 %a) {{\n  %p = call i32 @f{next}(i32 %a)\n  \
             %q = call i32 @f{next}(i32 %a)\n  %r = add i32 %p, %q\n  ret i32 %r\n}}",
            next = at + 1
        );
    }
    let last = |result: &str| {
        format!("{functions}define internal i32 @f20(i32 %a) {{\n  {result}\n  ret i32 %r\n}}\n")
    };
    let lane = last("%r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()");
    after(
        "%x = call i32 @f0(i32 %n)",
        &last("%r = add i32 %a, 1"),
        &[],
    );
    after("%x = call i32 @f0(i32 %n)", &lane, &[(4, 3)]);
}

#[test]
fn a_call_through_a_pointer_stores_what_the_function_does() {
    let sets = "define internal void @one(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n\
                define internal void @two(ptr %p) {\n  store i32 2, ptr %p\n  ret void\n}\n";
    let calls = |by: &str| {
        format!(
            "%v = alloca i32\n  %f = select i1 {by}, ptr @one, ptr @two\n  call void %f(ptr %v)\n  \
             %x = load i32, ptr %v"
        )
    };
    after(&calls("%all"), sets, &[]);
    after(&calls("%some"), sets, &[(4, 3)]);
}

#[test]
fn a_pointer_names_functions_with_the_calls_arguments() {
    let functions = "define internal i32 @one(i32 %a) {\n  ret i32 %a\n}\n\
                     define internal i32 @pair(i32 %a, i32 %b) {\n  \
                     %r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  ret i32 %r\n}\n";
    let calls = "%f = select i1 %all, ptr @one, ptr @pair\n  %x = call i32 %f(i32 %n)";
    after(calls, functions, &[]);
    // A call through a pointer waits for no other thread.
    let calls_one = "define internal i32 @calls(ptr %f, i32 %a) {\n  %r = call i32 %f(i32 %a)\n  ret i32 %r\n}\n";
    let functions = format!("{functions}{calls_one}");
    after("%x = call i32 @calls(ptr @one, i32 %n)", &functions, &[]);
}

#[test]
fn a_phi_is_what_arrives() {
    let body = |value: &str| {
        format!(
            "  br i1 %all, label %one, label %two\none:\n  br label %join\ntwo:\n  br label %join\njoin:\n  \
             %x = phi i32 [ {value}, %one ], [ {value}, %two ]\n{ASKS}"
        )
    };
    check(&body("%n"), &[]);
    check(&body("%tid"), &[(4, 3)]);
}

#[test]
fn a_mask_that_is_not_an_argument_is_unknown() {
    let reduces = |mask: &str| {
        format!(
            "  %x = call i32 asm sideeffect \"redux.sync.add.u32 $0, $1, {mask};\", \"=r,r\"(i32 %tid), !dbg !7\n  \
             %c = icmp eq i32 %x, 0"
        )
    };
    of_warp(&reduces("-1"));
    divergent(&reduces("$7"));
    divergent(&reduces("mask"));
}

#[test]
fn operations_of_the_whole_warp_are_checked_everywhere() {
    check(
        "  br i1 %some, label %then, label %end, !dbg !3
then:
  call void asm sideeffect \"wgmma.fence.sync.aligned;\", \"\"(), !dbg !4
  br label %end
end:
  ret void
",
        &[(4, 3)],
    );
}
