//! Kernels in the form that the analysis reads, with the expected reports.
//!
//! `!dbg !7` puts an instruction on line 7; there are lines 3 to 19. A report is a pair of lines:
//! the barrier's or warp operation's, then the divergent branch's.

mod addresses;
mod allocations;
mod branches;
mod calls;
mod kernels;
mod memory;
mod unknown;
mod values;

use std::fmt::Write as _;

use super::*;
use crate::ir::module::Instruction;

/// The end of every module, before its lines: globals, declarations, attributes and debug nodes.
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
declare i64 @llvm.readcyclecounter()
declare void @llvm.lifetime.start.p0(ptr)
attributes #0 = { nounwind memory(none) }
attributes #1 = { convergent nounwind }
!1 = !DIFile(filename: \"src/k.rs\", directory: \"/\")
!2 = distinct !DISubprogram(name: \"k\", file: !1, line: 1)
";

/// The suspects of a module whose kernels are all in one group.
fn all_suspects(text: &str) -> Suspects {
    let module = Module::parse(text).unwrap();
    let kernels = crate::ir::calls::kernels(&module).map(str::to_owned);
    let group: Vec<_> = kernels.collect();
    Suspects::of(&module, &[&group]).unwrap().remove(0)
}

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

/// The lines of each report on a kernel with this body, in a module with these functions: the
/// wait's and the branch's, or the call's and 0 if the call is not followed. Sorted.
fn reported(rule: Rule, body: &str, functions: &str) -> Vec<(u32, u32)> {
    reported_in(rule, &module_text(body, functions))
}

/// The same for the first kernel of a module.
fn reported_in(rule: Rule, text: &str) -> Vec<(u32, u32)> {
    let module = Module::parse(text).unwrap();
    let kernel = module
        .functions()
        .find(|function| function.is_kernel())
        .unwrap();
    let line = |instruction: &Instruction<'_>| instruction.position().unwrap().parse().unwrap();
    let program = Program::of(&module).unwrap();
    let problems = problems(kernel, &program, rule).unwrap().into_iter();
    let mut lines: Vec<_> = problems
        .map(|problem| match problem {
            Problem::Barrier { barrier, parting } => (line(barrier), line(parting.branch)),
            Problem::WarpOperation {
                operation, parting, ..
            } => (line(operation), line(parting.branch)),
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

/// Asserts whether threads of the block, and lanes of a warp, may diverge at a branch on `%c`,
/// which `lines` defines.
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
