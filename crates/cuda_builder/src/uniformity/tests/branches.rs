//! Branches, loops and panics: which waits they control.

use super::*;

#[test]
fn a_barrier_in_a_branch_is_reported_with_both_lines() {
    divergent("  %c = icmp ult i32 %tid, %n");
    uniform("  %c = icmp ult i32 %block, %n");
}

#[test]
fn positions_are_read_only_for_a_finding() {
    let check = |condition: &str| {
        let body = format!(
            "  br i1 {condition}, label %then, label %end, !dbg !3\nthen:\n  BARRIER, !dbg !4\n  br label %end\nend:\n  ret void\n"
        );
        let text = module_text(&body, "");
        let mut with_positions = Vec::new();
        let suspects = all_suspects(&text);
        let reports = suspects.check(|copy, _, settings| {
            let strips = settings.contains(&"--strip-debug");
            with_positions.push(!strips);
            // As `opt` does.
            let without = |line: &str| line.split(", !dbg").next().unwrap_or("").to_owned() + "\n";
            Ok(if strips {
                copy.lines().map(without).collect()
            } else {
                copy.to_owned()
            })
        });
        (with_positions, reports.unwrap().warnings)
    };
    assert_eq!(check("%all"), (vec![false], Vec::new()));
    let (with_positions, warnings) = check("%some");
    assert_eq!(with_positions, [false, true]);
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}")
    };
    assert!(
        warning.contains("src/k.rs:4:5") && warning.contains("src/k.rs:3:5"),
        "{warning}"
    );
}

#[test]
fn so_is_one_after_an_early_return() {
    check(
        "  br i1 %some, label %work, label %leave, !dbg !3
leave:
  br label %end
work:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
",
        &[(4, 3)],
    );
}

#[test]
fn but_not_one_after_the_branches_meet() {
    check(
        "  br i1 %some, label %then, label %else, !dbg !3
then:
  store i32 1, ptr %out
  br label %join
else:
  br label %join
join:
  BARRIER, !dbg !4
  WARP, !dbg !5
  ret void
",
        &[],
    );
}

/// A loop of `%i` from 0 to `end`, with a barrier in it and one after it that depends on `%after`.
fn rounds(end: &str, after: &str) -> String {
    format!(
        "  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i32 %i, {end}
  br i1 %more, label %body, label %done, !dbg !3
body:
  BARRIER, !dbg !4
  %next = add i32 %i, 1
  br label %head
done:
{after}
  br i1 %c, label %then, label %end, !dbg !5
then:
  BARRIER, !dbg !6
  br label %end
end:
  ret void
"
    )
}

#[test]
fn the_number_of_rounds_counts() {
    check(&rounds("%n", "  %c = icmp eq i32 %i, 3"), &[]);
    check(&rounds("%tid", "  %c = icmp eq i32 %n, 3"), &[(4, 3)]);
}

#[test]
fn what_a_loop_computes_differs_as_its_rounds_do() {
    check(
        &rounds("%tid", "  %c = icmp eq i32 %i, 3"),
        &[(4, 3), (6, 5)],
    );
}

#[test]
fn what_is_chosen_by_a_branch_differs_as_its_condition_does() {
    let chosen = |condition: &str, one: &str, other: &str| {
        format!(
            "  br i1 {condition}, label %then, label %join, !dbg !3
then:
  br label %join
join:
  %x = phi i32 [ {one}, %then ], [ {other}, %entry ]
  %c = icmp eq i32 %x, 1
  br i1 %c, label %last, label %end, !dbg !4
last:
  BARRIER, !dbg !5
  br label %end
end:
  ret void
"
        )
    };
    check(&chosen("%some", "1", "2"), &[(5, 4)]);
    check(&chosen("%some", "1", "1"), &[]);
    check(&chosen("%all", "1", "2"), &[]);
}

#[test]
fn a_second_round_of_an_outer_loop_lies_in_a_branch_of_the_inner_one() {
    // Some threads restart the inner loop, the others the outer one: `%x` is uniform in neither.
    check(
        "  br label %outer
outer:
  %x = phi i32 [ 0, %entry ], [ %y, %inner ]
  br label %head
head:
  %y = add i32 %x, 1
  %c = icmp ult i32 %x, %n
  br i1 %c, label %inner, label %end, !dbg !3
inner:
  BARRIER, !dbg !4
  br i1 %some, label %outer, label %head, !dbg !5
end:
  ret void
",
        &[(4, 3)],
    );
}

#[test]
fn a_switch_may_ask_for_an_address() {
    check(
        "  %v = alloca i32
  %p = ptrtoint ptr %v to i64
  switch i64 %p, label %end [
    i64 16, label %one
    i64 32, label %end
  ], !dbg !3
one:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
",
        &[(4, 3)],
    );
}

#[test]
fn switches_are_branches() {
    check(
        "  switch i32 %tid, label %end [
    i32 0, label %one
    i32 1, label %two
  ], !dbg !3
one:
  BARRIER, !dbg !4
  br label %end
two:
  br label %end
end:
  ret void
",
        &[(4, 3)],
    );
}

#[test]
fn whoever_panics_is_not_waited_for() {
    let panics = |waits: &str| {
        format!(
            "  br i1 %some, label %fine, label %fail, !dbg !3
fail:
  {waits}
  br label %failed
failed:
  unreachable
fine:
  BARRIER, !dbg !5
  ret void
"
        )
    };
    check(&panics(""), &[]);
    // Nor is a thread that waits for a place to report it.
    check(
        "  br i1 %some, label %fine, label %fail, !dbg !3
fail:
  br i1 %all, label %failed, label %fail
failed:
  unreachable
fine:
  BARRIER, !dbg !5
  ret void
",
        &[],
    );
    check(&panics("BARRIER, !dbg !4"), &[(4, 3), (5, 3)]);
}

#[test]
fn whoever_never_ends_is() {
    check(
        "  br i1 %some, label %fine, label %for_ever, !dbg !3
for_ever:
  br label %for_ever
fine:
  BARRIER, !dbg !4
  ret void
",
        &[(4, 3)],
    );
}

#[test]
fn a_value_from_elsewhere_is_none_of_a_branchs() {
    check(
        "  br i1 %all, label %b, label %join
b:
  br i1 %some, label %c, label %join, !dbg !3
c:
  br label %join
join:
  %x = phi i32 [ 1, %entry ], [ 0, %b ], [ 0, %c ]
  %d = icmp eq i32 %x, 0
  br i1 %d, label %then, label %end, !dbg !4
then:
  BARRIER, !dbg !5
  br label %end
end:
  ret void
",
        &[],
    );
}
