//! Computations, marks, positions of threads, and functions that are not inlined.

use super::*;

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
    divergent("  %x = call i64 @llvm.readcyclecounter()\n  %c = icmp eq i64 %x, 0");
}

#[test]
fn a_barrier_may_be_assembly() {
    check(
        "  br i1 %some, label %then, label %end, !dbg !3
then:
  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"(), !dbg !4
  br label %end
end:
  ret void
",
        &[(4, 3)],
    );
}

/// A condition on the result of a call through a pointer.
#[track_caller]
fn called(chosen: &str, result: &str, expected: &[(u32, u32)]) {
    let body = format!(
        "  {chosen}
  %x = call i32 %f(i32 %n)
  %c = icmp eq i32 %x, 0
  br i1 %c, label %then, label %end, !dbg !3
then:
  BARRIER, !dbg !4
  br label %end
end:
  ret void
"
    );
    let functions = format!(
        "define internal i32 @one(i32 %a) {{\n  ret i32 %a\n}}\n\
         define internal i32 @two(i32 %a) {{\n  {result}\n  ret i32 %r\n}}\n\
         @table = internal constant [2 x ptr] [ptr @one, ptr @two]\n"
    );
    assert_eq!(reported(Rule::Refuse, &body, &functions), expected);
}

#[test]
fn a_call_through_a_pointer_is_one_of_its_functions() {
    let add = "%r = add i32 %a, 1";
    let lane = "%r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()";
    let table = |index: &str| {
        format!(
            "%at = getelementptr inbounds ptr, ptr @table, i32 {index}\n  %f = load ptr, ptr %at"
        )
    };
    for chosen in ["%f = select i1 %all, ptr @one, ptr @two", &table("%block")] {
        called(chosen, add, &[]);
        called(chosen, lane, &[(4, 3)]);
    }
    for chosen in ["%f = select i1 %some, ptr @one, ptr @two", &table("%tid")] {
        called(chosen, add, &[(4, 3)]);
    }
    called("%f = load ptr, ptr %in", add, &[(4, 3)]);
    divergent("  %x = call i32 null(i32 1)\n  %c = icmp eq i32 %x, 0");
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
    of_warp_by_shape("  %c = icmp ult i32 31, %tid");
    divergent("  %c = icmp ult i32 64, %tid");
    divergent("  %c = icmp eq i32 64, %tid");
    let sum = |of: &str, one: &str, other: &str| {
        format!(
            "  %m = mul i32 {of}, 32\n  %s = add i32 {one}, {other}\n  %w = lshr i32 %s, 5\n  %c = icmp eq i32 %w, 0"
        )
    };
    for (one, other) in [("%tid", "%m"), ("%m", "%tid")] {
        of_warp_by_shape(&sum("%n", one, other));
        divergent(&sum("%tid", one, other));
    }
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
    // Its pointer is the caller's.
    returned("  %r = load i32, ptr %p\n  ret i32 %r\n", "%n", &[]);
    returned(
        "  %q = getelementptr i32, ptr %p, i32 %a\n  %r = load i32, ptr %q\n  ret i32 %r\n",
        "%tid",
        &[(4, 3)],
    );
    returned(
        "  %r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  ret i32 %r\n",
        "%n",
        &[(4, 3)],
    );
    returned(
        "  %r = call i32 @f(i32 %a, ptr %p)\n  ret i32 %r\n",
        "%n",
        &[],
    );
    returned(
        "  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  %r = call i32 @f(i32 %l, ptr %p)\n  ret i32 %a\n",
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
