//! What the failure of an allocation leads to.

use super::memory::{allocated, asked_in_a_loop};
use super::*;

const ASKS: &str = "%c = icmp ne ptr %p, null";
const DECLARED: &str =
    "declare ptr @malloc(i64)\ndeclare i64 @other(i64)\ndeclare i1 @llvm.expect.i1(i1, i1) #0\n";

/// What is reported if the tag and what is asked of it are others.
fn with(tag: &str, expected: &[(u32, u32)]) {
    let body = allocated("unreachable", ASKS);
    let plain = "%tag = phi i64 [ 1, %failed ], [ 0, %fine ]\n  %error = trunc i64 %tag to i1\n";
    assert!(body.contains(plain));
    let body = body.replace(plain, tag);
    assert_eq!(reported(Rule::Refuse, &body, DECLARED), expected, "{body}");
}

#[test]
fn an_endless_loop_is_no_panic() {
    let body = allocated("br label %end_of_it", ASKS);
    assert_eq!(reported(Rule::Refuse, &body, DECLARED), [(4, 5)]);
}

#[test]
fn what_is_known_of_a_failure_is_computed_as_written() {
    let tag = |failed: i64| format!("%tag = phi i64 [ {failed}, %failed ], [ 0, %fine ]\n  ");
    // The failure has the tag 2, which is no error.
    with(
        &(tag(2) + "%t = trunc i64 %tag to i8\n  %error = icmp eq i8 %t, 0\n"),
        &[(4, 3)],
    );
    with(
        "%tag = phi i8 [ -1, %failed ], [ 0, %fine ]\n  %w = zext i8 %tag to i32\n  \
         %error = icmp eq i32 %w, -1\n",
        &[(4, 3)],
    );
    with(
        "%bit = phi i1 [ true, %failed ], [ false, %fine ]\n  %tag = zext i1 %bit to i64\n  \
         %error = icmp eq i64 %tag, 1\n",
        &[],
    );
    with(
        &(tag(1) + "%t = call i64 @other(i64 %tag)\n  %error = trunc i64 %t to i1\n"),
        &[(4, 3)],
    );
    with(
        &(tag(1)
            + "%e = trunc i64 %tag to i1\n  %error = call i1 @llvm.expect.i1(i1 %e, i1 false)\n"),
        &[],
    );
}

#[test]
fn a_switch_on_it_may_go_on() {
    let body = allocated("unreachable", ASKS);
    let branch = "br i1 %error, label %end_of_it, label %go_on, !dbg !5";
    assert!(body.contains(branch));
    let switch = "switch i64 %tag, label %end_of_it [\n    i64 0, label %go_on\n    i64 1, label %go_on\n  ], !dbg !5";
    let body = body.replace(branch, switch);
    assert_eq!(reported(Rule::Refuse, &body, DECLARED), [(4, 3)]);
}

#[test]
fn a_value_found_late_counts_in_the_blocks_before_it() {
    let body = "  %p = call ptr @malloc(i64 8)
  %null = icmp eq ptr %p, null
  br i1 %null, label %first, label %go_on, !dbg !6
check:
  br i1 %flag, label %bad, label %go_on, !dbg !5
merge:
  %flag = phi i1 [ true, %first ], [ false, %third ]
  br label %check
third:
  br label %merge
second:
  br label %third
early:
  br label %second
first:
  br i1 %all, label %merge, label %early
bad:
  unreachable
go_on:
  %c = icmp ne ptr %p, null
  br i1 %c, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
";
    assert_eq!(reported(Rule::Refuse, body, DECLARED), [(4, 3)]);
}

#[test]
fn a_variable_of_a_loop_is_one_place() {
    let moved = "%p = alloca i64\n  %r = getelementptr inbounds i8, ptr %p, i64 4\n  %s = alloca ptr\n  \
                 store ptr %r, ptr %s\n  %t = load ptr, ptr %s";
    assert_eq!(asked_in_a_loop(moved, "ult ptr %p, %t", ""), []);
}

#[test]
fn recursion_repeats_what_it_passes_and_nothing_else() {
    let asks = "  br i1 %c, label %then, label %end, !dbg !3\nthen:\n  BARRIER, !dbg !4\n  \
                br label %end\nend:\n  ret void\n";
    // The kernel allocates once.
    let sums = "define internal i32 @sums(i32 %n) {\nentry:\n  %z = icmp eq i32 %n, 0\n  \
                br i1 %z, label %end, label %more\nmore:\n  %m = sub i32 %n, 1\n  \
                %d = call i32 @sums(i32 %m)\n  ret i32 %d\nend:\n  ret i32 0\n}\n";
    let body = format!(
        "  %p = call ptr @malloc(i64 8)\n  %d = call i32 @sums(i32 %n)\n  \
         %r = getelementptr inbounds i8, ptr %p, i64 4\n  %s = alloca ptr\n  store ptr %r, ptr %s\n  \
         %t = load ptr, ptr %s\n  %c = icmp ult ptr %p, %t\n{asks}"
    );
    let functions = format!("{sums}{DECLARED}");
    assert_eq!(reported(Rule::Refuse, &body, &functions), []);
    // Of two functions that call each other, each allocates again.
    let compares = "define internal i1 @compares(i32 %n, ptr %last) {\nentry:\n  %p = call ptr @malloc(i64 8)\n  \
                    %c = icmp eq ptr %p, %last\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %end, label %more\n\
                    more:\n  %d = call i1 @passes(i32 %n, ptr %p)\n  ret i1 %d\nend:\n  ret i1 %c\n}\n\
                    define internal i1 @passes(i32 %n, ptr %p) {\n  %m = sub i32 %n, 1\n  \
                    %d = call i1 @compares(i32 %m, ptr %p)\n  ret i1 %d\n}\n";
    let body = format!("  %c = call i1 @compares(i32 %n, ptr null)\n{asks}");
    let functions = format!("{compares}{DECLARED}");
    assert_eq!(reported(Rule::Refuse, &body, &functions), [(4, 3)]);
}
