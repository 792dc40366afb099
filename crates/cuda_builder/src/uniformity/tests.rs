//! Kernels in the form that the analysis reads, with the expected reports.
//!
//! `!dbg !7` is line 7. A missed wait and the divergent branch are identified by their lines.

use std::fmt::Write as _;

use super::*;
use crate::ir::module::Instruction;

/// LLVM's declarations of the intrinsics.
const DECLARATIONS: &str = "
@tile = internal addrspace(3) global [256 x i32] undef
@counter = internal global i32 0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #0
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #0
declare i32 @llvm.nvvm.read.ptx.sreg.laneid() #0
declare i32 @llvm.umin.i32(i32, i32) #0
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1) #1
declare void @llvm.nvvm.bar.warp.sync(i32) #1
declare i1 @llvm.nvvm.vote.any.sync(i32, i1) #1
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32) #1
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32) #1
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @__cuda_std_block_uniform(i32)
declare i32 @__cuda_std_warp_uniform(i32)
declare i32 @elsewhere(i32)
attributes #0 = { nounwind memory(none) }
attributes #1 = { convergent nounwind }
!1 = !DIFile(filename: \"src/k.rs\", directory: \"/\")
!2 = distinct !DISubprogram(name: \"k\", file: !1, line: 1)
";

/// The start of every kernel here.
const ENTRY: &str = "
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %some = icmp ult i32 %tid, %n
  %all = icmp ult i32 %block, %n
";

const BARRIER: &str = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
const WARP: &str = "call void @llvm.nvvm.bar.warp.sync(i32 -1)";

/// A module with these functions and a kernel with this body.
fn module_text(body: &str, functions: &str) -> String {
    let body = body.replace("BARRIER", BARRIER).replace("WARP", WARP);
    let mut text = format!(
        "define ptx_kernel void @k(ptr %in, i32 %n, ptr %out) {{{ENTRY}{body}}}\n{functions}{DECLARATIONS}"
    );
    for line in 3..20 {
        let _ = writeln!(
            text,
            "!{line} = !DILocation(line: {line}, column: 5, scope: !2)"
        );
    }
    text
}

/// The pairs of lines reported for a kernel with this body, in a module with these functions.
fn reported(rule: Rule, body: &str, functions: &str) -> Vec<(u32, u32)> {
    let text = module_text(body, functions);
    let module = Module::parse(&text).unwrap();
    let kernel = module
        .functions()
        .find(|function| function.is_kernel())
        .unwrap();
    let line = |instruction: &Instruction<'_>| instruction.position().unwrap().parse().unwrap();
    let program = Program::of(&module).unwrap();
    let problems = problems(kernel, &program, rule).unwrap().into_iter();
    let mut lines: Vec<_> = problems
        .map(|problem| match problem {
            Problem::Barrier { barrier, branch } => (line(barrier), line(branch)),
            Problem::WarpOperation {
                operation, branch, ..
            } => (line(operation), line(branch)),
            Problem::NotFollowed { call, .. } => (line(call), 0),
        })
        .collect();
    lines.sort_unstable();
    lines
}

#[track_caller]
fn check(body: &str, expected: &[(u32, u32)]) {
    assert_eq!(reported(Rule::Warn, body, ""), expected);
    assert_eq!(
        reported(Rule::Refuse, body, ""),
        expected,
        "in a safe kernel"
    );
}

/// Checks whether threads of the block, and those of a warp, may diverge on a condition.
#[track_caller]
fn condition(rule: Rule, lines: &str, parts_block: bool, parts_warp: bool) {
    let body = format!(
        "{lines}
  br i1 %c, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  WARP, !dbg !5
  br label %end
end:
  ret void
"
    );
    let mut expected = Vec::new();
    expected.extend(parts_block.then_some((4, 3)));
    expected.extend(parts_warp.then_some((5, 3)));
    assert_eq!(reported(rule, &body, ""), expected, "{lines}");
}

#[track_caller]
fn uniform(lines: &str) {
    condition(Rule::Refuse, lines, false, false);
    condition(Rule::Warn, lines, false, false);
}

#[track_caller]
fn of_warp(lines: &str) {
    condition(Rule::Refuse, lines, true, false);
    condition(Rule::Warn, lines, true, false);
}

#[track_caller]
fn divergent(lines: &str) {
    condition(Rule::Refuse, lines, true, true);
    condition(Rule::Warn, lines, true, true);
}

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
        let suspects = Suspects::of(&Module::parse(&text).unwrap()).unwrap();
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
fn steady_memory_is_what_its_address_is() {
    uniform("  %x = load i32, ptr %in\n  %c = icmp eq i32 %x, 0");
    uniform(
        "  %p = getelementptr i32, ptr %in, i32 %block\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
    uniform(
        "  %x = load i32, ptr addrspacecast (ptr addrspace(3) @tile to ptr)\n  %c = icmp eq i32 %x, 0",
    );
    divergent(
        "  %p = getelementptr i32, ptr %in, i32 %tid\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0",
    );
}

#[test]
fn other_memory_is_the_threads_own() {
    divergent("  %x = load volatile i32, ptr %in\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = load atomic i32, ptr %in monotonic, align 4\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = load i32, ptr @counter\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = atomicrmw add ptr %in, i32 1 monotonic\n  %c = icmp eq i32 %x, 0");
    // The target of a pointer loaded from memory is unknown.
    divergent("  %p = load ptr, ptr %in\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0");
    divergent("  %p = inttoptr i32 %n to ptr\n  %x = load i32, ptr %p\n  %c = icmp eq i32 %x, 0");
}

#[test]
fn a_variable_holds_what_is_stored_in_it() {
    let variable = |stored: &str| {
        format!(
            "  %v = alloca [4 x i32]\n  %w = getelementptr i32, ptr %v, i32 1\n  {stored}\n  \
             %x = load i32, ptr %w\n  %c = icmp eq i32 %x, 0"
        )
    };
    uniform(&variable("store i32 %block, ptr %v"));
    uniform(&variable(
        "call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %in, i64 16, i1 false)",
    ));
    divergent(&variable("store i32 %tid, ptr %v"));
    divergent(&variable(
        "%at = getelementptr i32, ptr %v, i32 %tid\n  store i32 1, ptr %at",
    ));
    // Each thread sets or copies a different length.
    let copied = |length: &str| {
        variable(&format!(
            "%l = zext i32 {length} to i64\n  \
             call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %in, i64 %l, i1 false)"
        ))
    };
    let set = |length: &str| {
        copied(length)
            .replace("memcpy.p0.p0", "memset.p0")
            .replace("ptr %in", "i8 1")
    };
    for of_length in [&copied as &dyn Fn(&str) -> String, &set] {
        uniform(&of_length("%block"));
        divergent(&of_length("%tid"));
    }
    // From here on any code may write it.
    divergent(&variable("store ptr %v, ptr %out"));
    divergent(&variable("%r = call i32 @elsewhere(ptr %v)"));
    divergent(&variable(
        "%p = ptrtoint ptr %v to i64\n  %q = xor i64 %p, 1",
    ));
    divergent(&variable("%p = select i1 %all, ptr %v, ptr %in"));
}

#[test]
fn a_variable_that_some_threads_store_in_is_their_own() {
    check(
        "  %v = alloca i32
  store i32 0, ptr %v
  br i1 %some, label %then, label %join, !dbg !3
then:
  store i32 1, ptr %v
  br label %join
join:
  %x = load i32, ptr %v
  %c = icmp eq i32 %x, 0
  br i1 %c, label %last, label %end, !dbg !4
last:
  BARRIER, !dbg !5
  br label %end
end:
  ret void
",
        &[(5, 4)],
    );
}

#[test]
fn addresses_of_variables_compare_by_their_offsets_only() {
    let two = "  %v = alloca [4 x i32]\n  %w = getelementptr i32, ptr %v, i32 %n\n";
    uniform(&format!("{two}  %c = icmp eq ptr %v, %w"));
    uniform(&format!("{two}  %c = icmp eq ptr %w, null"));
    let numbers = "  %a = ptrtoint ptr %v to i64\n  %b = ptrtoint ptr %w to i64\n";
    uniform(&format!(
        "{two}{numbers}  %d = sub i64 %b, %a\n  %c = icmp eq i64 %d, 4"
    ));
    uniform(&format!("{two}{numbers}  %c = icmp eq i64 %b, 0"));
    divergent(&format!("{two}{numbers}  %c = icmp ult i64 %b, 4096"));
    divergent(&format!(
        "{two}{numbers}  %d = and i64 %b, 64\n  %c = icmp eq i64 %d, 0"
    ));
    divergent(&format!(
        "{two}  %u = alloca i32\n  %c = icmp ult ptr %u, %w"
    ));
}

#[test]
fn computations_are_what_their_operands_are() {
    uniform("  %x = call i32 @llvm.umin.i32(i32 %n, i32 %block)\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = call i32 @llvm.umin.i32(i32 %n, i32 %tid)\n  %c = icmp eq i32 %x, 0");
    divergent("  %x = call i32 @elsewhere(i32 %n)\n  %c = icmp eq i32 %x, 0");
    uniform(
        "  %x = call i32 asm \"add.u32 $0, $1, 1;\", \"=r,r\"(i32 %n)\n  %c = icmp eq i32 %x, 0",
    );
    divergent("  %x = call i32 asm \"mov.u32 $0, %clock;\", \"=r\"()\n  %c = icmp eq i32 %x, 0");
    divergent(
        "  %x = call i32 asm sideeffect \"ld.shared.u32 $0, [$1];\", \"=r,r\"(i32 %n)\n  %c = icmp eq i32 %x, 0",
    );
    divergent("  %x = freeze i32 poison\n  %c = icmp eq i32 %x, 0");
}

#[test]
fn what_all_threads_agree_on_is_the_same_in_all() {
    uniform(
        "  %x = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32 0, i1 %some), !dbg !7\n  %c = icmp eq i32 %x, 0",
    );
    of_warp("  %c = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %some), !dbg !7");
    let shuffle = |operation: &str, lane: &str, range: &str| {
        format!(
            "  %x = call i32 @llvm.nvvm.shfl.sync.{operation}.i32(i32 -1, i32 %tid, i32 {lane}, i32 {range}), !dbg !7\n  \
             %c = icmp eq i32 %x, 0"
        )
    };
    of_warp(&shuffle("idx", "0", "31"));
    of_warp(&shuffle("idx", "%n", "31"));
    divergent(&shuffle("idx", "%tid", "31"));
    // Two halves of the warp, each with its own source lane.
    divergent(&shuffle("idx", "0", "4127"));
    divergent(&shuffle("down", "1", "31"));
    // The mask differs between lanes.
    divergent("  %c = call i1 @llvm.nvvm.vote.any.sync(i32 %tid, i1 %some), !dbg !7");
}

#[test]
fn marks_are_believed() {
    uniform("  %x = call i32 @__cuda_std_block_uniform(i32 %tid)\n  %c = icmp eq i32 %x, 0");
    of_warp("  %x = call i32 @__cuda_std_warp_uniform(i32 %tid)\n  %c = icmp eq i32 %x, 0");
}

/// The same for lanes of a warp, if the block has one dimension and whole warps, which is assumed
/// of `unsafe` kernels only.
#[track_caller]
fn of_warp_by_shape(lines: &str) {
    condition(Rule::Warn, lines, true, false);
    condition(Rule::Refuse, lines, true, true);
}

#[test]
fn the_threads_index_without_its_lane_is_the_warps() {
    of_warp_by_shape("  %w = lshr i32 %tid, 5\n  %c = icmp eq i32 %w, 0");
    of_warp_by_shape("  %w = udiv i32 %tid, 32\n  %c = icmp eq i32 %w, %n");
    of_warp_by_shape("  %w = zext i32 %tid to i64\n  %c = icmp ult i64 %w, 64");
    of_warp_by_shape("  %c = icmp ugt i32 %tid, 31");
    of_warp_by_shape("  %c = icmp ugt i32 64, %tid");
    of_warp_by_shape("  %m = shl i32 %n, 5\n  %c = icmp uge i32 %tid, %m");
    of_warp_by_shape("  %w = and i32 %tid, -32\n  %c = icmp eq i32 %w, %n");
    divergent("  %w = lshr i32 %tid, 4\n  %c = icmp eq i32 %w, 0");
    divergent("  %m = shl i32 %n, 4\n  %c = icmp uge i32 %tid, %m");
    divergent("  %c = icmp ult i32 %tid, 16");
    divergent("  %c = icmp ugt i32 %tid, 32");
    divergent("  %c = icmp eq i32 %tid, 32");
    divergent("  %m = mul i32 %tid, 32\n  %c = icmp ult i32 %tid, %m");
}

#[test]
fn so_is_the_index_in_the_grid() {
    let index = "  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n  %first = mul i32 %block, %size\n  \
                 %index = add i32 %first, %tid\n";
    of_warp_by_shape(&format!(
        "{index}  %w = udiv i32 %index, 32\n  %c = icmp ult i32 %w, %n"
    ));
    divergent(&format!("{index}  %c = icmp ult i32 %index, %n"));
    let moved = index.replace("%block, %size", "%block, %n");
    divergent(&format!(
        "{moved}  %w = udiv i32 %index, 32\n  %c = icmp ult i32 %w, %n"
    ));
}

#[test]
fn only_masks_of_all_lanes_are_known_but_safe_code_has_no_others() {
    let branch = |mask: &str| {
        format!(
            "  br i1 %some, label %then, label %end, !dbg !3
then:
  call void @llvm.nvvm.bar.warp.sync(i32 {mask}), !dbg !4
  br label %end
end:
  ret void
"
        )
    };
    for mask in ["-1", "4294967295"] {
        check(&branch(mask), &[(4, 3)]);
    }
    for mask in ["65535", "%n"] {
        assert_eq!(reported(Rule::Warn, &branch(mask), ""), []);
        assert_eq!(reported(Rule::Refuse, &branch(mask), ""), [(4, 3)]);
    }
}

/// A condition on the result of a function `f` that is not inlined.
#[track_caller]
fn returned(function: &str, argument: &str, expected: &[(u32, u32)]) {
    let body = format!(
        "  %x = call i32 @f(i32 {argument}, ptr %in)
  %c = icmp eq i32 %x, 0
  br i1 %c, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
"
    );
    let function = format!("define internal i32 @f(i32 %a, ptr %p) {{\n{function}}}\n");
    assert_eq!(reported(Rule::Refuse, &body, &function), expected);
}

#[test]
fn functions_that_are_not_inlined_are_computations() {
    const ADD: &str = "  %r = add i32 %a, 1\n  ret i32 %r\n";
    returned(ADD, "%n", &[]);
    returned(ADD, "%tid", &[(4, 3)]);
    // The target of its pointer depends on the caller.
    returned("  %r = load i32, ptr %p\n  ret i32 %r\n", "%n", &[(4, 3)]);
    returned(
        "  %r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  ret i32 %r\n",
        "%n",
        &[(4, 3)],
    );
    returned(
        "  %r = call i32 @f(i32 %a, ptr %p)\n  ret i32 %r\n",
        "%n",
        &[(4, 3)],
    );
    let two_ends = "  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  %c = icmp eq i32 %l, 0\n  \
                    br i1 %c, label %one, label %two\none:\n  ret i32 1\ntwo:\n  ret i32 RESULT\n";
    returned(&two_ends.replace("RESULT", "2"), "%n", &[(4, 3)]);
    returned(&two_ends.replace("RESULT", "1"), "%n", &[]);
}

#[test]
fn a_function_that_waits_and_is_not_inlined_is_not_followed() {
    let recursive = format!(
        "define internal void @f(i32 %a) {{\n  {BARRIER}\n  call void @f(i32 %a)\n  ret void\n}}\n"
    );
    let body = "  call void @f(i32 1), !dbg !6\n  ret void\n";
    assert_eq!(reported(Rule::Warn, body, &recursive), [(6, 0)]);
}
