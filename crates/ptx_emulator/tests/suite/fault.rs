//! Faults of launches: each error names its cause exactly.

use crate::common::{launch, launch_with, limits, module, shape};
use ptx_emulator::{
    Access, Emulator, FaultKind, InvalidLaunch, LaunchConfig, LaunchError, Limits, MemoryError,
    Space,
};

fn kernel(module_scope: &str, body: &str) -> String {
    format!(
        "{module_scope}
.visible .entry k(.param .u64 buffer) {{
    .reg .b64 %at, %mine, %rd<16>; .reg .b32 %t, %r<16>; .reg .pred %p<8>;
    ld.param.u64 %at, [buffer]; mov.u32 %t, %tid.x; mad.wide.u32 %mine, %t, 8, %at;
{body}
}}"
    )
}

/// The report of a launch of 64 threads with a buffer of 8 words; its base is written as BASE.
#[track_caller]
fn check(module_scope: &str, body: &str, expected: &str) {
    let fault =
        launch(&kernel(module_scope, body), shape(1, 64, 16), &[], 8).expect_err("it must fail");
    // Not the start of a longer number, such as an address in constant memory.
    let report = [" ", "\n", ":"]
        .iter()
        .fold(fault.to_string(), |report, end| {
            report.replace(&format!("0x10000000000{end}"), &format!("BASE{end}"))
        });
    assert_eq!(report, expected, "{body}");
}

#[test]
fn accesses_outside_an_allocation() {
    check("", "st.global.u64 [%mine], %at; ret;",
        "out of bounds: write of 8 bytes at 0x10000000040 in global memory, 0 bytes after the end of the nearest allocation of 64 bytes at BASE
  in kernel `k`, block (0, 0, 0), thread (8, 0, 0) and 23 more of its warp
  at PTX line 8");
    check("", "ld.global.u32 %r0, [%at+-4]; ret;",
        "out of bounds: read of 4 bytes at 0xfffffffffc in global memory, 4 bytes before the nearest allocation of 64 bytes at BASE
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0) and 31 more of its warp
  at PTX line 8");
    check("", "ld.global.v2.u64 {%rd0, %rd1}, [%at+64]; ret;",
        "out of bounds: read of 16 bytes at 0x10000000040 in global memory, 0 bytes after the end of the nearest allocation of 64 bytes at BASE
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0) and 31 more of its warp
  at PTX line 8");
    // `fixed` is used by no instruction and takes no room, as in ptxas.
    check(".extern .shared .align 4 .b8 dyn[]; .shared .align 4 .b8 fixed[16];",
        "mov.u32 %r0, dyn; mad.lo.u32 %r0, %t, 4, %r0; atom.shared.add.u32 %r1, [%r0], 1; ret;",
        "out of bounds: atomic access of 4 bytes at 0x10 in shared memory, 0 bytes after the end of the nearest allocation of 16 bytes at 0x0
  in kernel `k`, block (0, 0, 0), thread (4, 0, 0) and 27 more of its warp
  at PTX line 8");
    check("", "ld.u32 %r0, [4096]; ret;",
        "out of bounds: read of 4 bytes at 0x1000 in global memory, 1099511623680 bytes before the nearest allocation of 64 bytes at BASE
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0) and 31 more of its warp
  at PTX line 8");
}

#[test]
fn misaligned_and_read_only() {
    check("", "add.u64 %mine, %mine, 2; ld.global.u32 %r0, [%mine]; ret;",
        "misaligned: read of 4 bytes at 0x10000000002 in global memory; the address must be a multiple of 4
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0) and 7 more of its warp
  at PTX line 8");
    check("", "add.u64 %mine, %mine, 66; ld.global.u32 %r0, [%mine]; ret;",
        "out of bounds: read of 4 bytes at 0x10000000042 in global memory, 2 bytes after the end of the nearest allocation of 64 bytes at 0x10000000000; misaligned too
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0) and 31 more of its warp
  at PTX line 8");
    check(
        ".const .align 4 .b32 c = 1;",
        "mov.u64 %rd0, c; st.u32 [%rd0], 1; ret;",
        "write to read-only constant memory at 0x1000000000000
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 8",
    );
}

#[test]
fn threads_that_left_before_a_barrier() {
    check("", "setp.ge.u32 %p0, %t, 60;\n@%p0 ret;\nbar.sync 0;\nret;",
        "divergent barrier: threads wait at the barrier at PTX line 10, but 4 threads exited before at PTX line 9
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 10");
    // A whole warp that left is no better.
    check("", "setp.ge.u32 %p0, %t, 32;\n@%p0 exit;\nbarrier.sync 0;\nret;",
        "divergent barrier: threads wait at the barrier at PTX line 10, but 32 threads exited before at PTX line 9
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 10");
}

#[test]
fn threads_at_different_barriers() {
    check("", "setp.ge.u32 %p0, %t, 32;\n@%p0 bra other;\nbar.sync 0;\nret;\nother:\nbar.sync 0;\nret;",
        "divergent barrier: threads wait at the barrier at PTX line 10, but 32 threads wait at another one at PTX line 13
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 10");
    check("", "setp.ge.u32 %p0, %t, 40;\n@%p0 bra other;\nbar.sync 0;\nret;\nother:\nbar.sync 0;\nret;",
        "divergent barrier: threads wait at the barrier at PTX line 10, but 24 threads of the same warp wait at PTX line 13
  in kernel `k`, block (0, 0, 0), thread (32, 0, 0)
  at PTX line 10");
    check("", "setp.ge.u32 %p0, %t, 32;\n@%p0 bra other;\nbar.sync 0;\nret;\nother:\nbar.sync 1;\nret;",
        "divergent barrier: threads wait at the barrier at PTX line 10, but 32 threads wait at PTX line 13
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 10");
}

#[test]
fn lanes_that_part_and_meet_at_a_barrier_are_fine() {
    let body = "setp.ge.u32 %p0, %t, 40; @%p0 bra other; add.u32 %r0, %t, 1; bra join; other: add.u32 %r0, %t, 2;
                join: bar.sync 0; @%p0 bra out; bar.warp.sync 0; out: bar.sync 0; ret;";
    let body = body.replace("bar.warp.sync 0;", "add.u32 %r0, %r0, 1;");
    launch(&kernel("", &body), shape(2, 64, 0), &[], 8).unwrap_or_else(|fault| panic!("{fault}"));
}

#[test]
fn a_barrier_that_too_few_reach_is_a_deadlock() {
    check("", "setp.ge.u32 %p0, %t, 32;\n@%p0 bra other;\nbar.sync 1, 96;\nret;\nother:\nbar.sync 2, 96;\nret;",
        "deadlock: no thread of the block can go on; 32 threads wait at PTX line 10; 32 threads wait at PTX line 13
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 10");
}

#[test]
fn ends_of_the_program() {
    check(
        "",
        "setp.eq.u32 %p0, %t, 7; @%p0 trap; ret;",
        "trap instruction\n  in kernel `k`, block (0, 0, 0), thread (7, 0, 0)\n  at PTX line 8",
    );
    check(
        "",
        "bar.sync 16; ret;",
        "invalid operand: barrier 16; a block has barriers 0 to 15\n  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)\n  at PTX line 8",
    );
    check(".extern .func (.param .b32 r) cudaGetDevice(.param .b64 a, .param .b64 b);",
        "{ .param .b64 a; .param .b64 b; .param .b32 r; call (r), cudaGetDevice, (a, b); } ret;",
        "unsupported by the emulator (not an error of the program): call of `cudaGetDevice`, which the module only declares
  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)
  at PTX line 8");
    check(
        ".func f() { call f, (); ret; }",
        "call f, (); ret;",
        "stack overflow: 8193 nested calls pass the limit of 131072 bytes of stack\n  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)\n  at PTX line 4",
    );
    check(
        "",
        "p: .callprototype _ ();\ncall %at, (), p; ret;",
        "call of BASE: no function of the module is there\n  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)\n  at PTX line 9",
    );
    check(
        "",
        "t: .branchtargets a; a: brx.idx %t, t; ret;",
        "branch index 1 is past the end of a table of 1 targets\n  in kernel `k`, block (0, 0, 0), thread (1, 0, 0)\n  at PTX line 8",
    );
}

#[test]
fn endless_loops_stop() {
    let small = Limits {
        warp_instructions: 100_000,
        ..limits()
    };
    for (body, lines) in [
        ("head:\nadd.u32 %r0, %r0, 1;\nbra head;", (9, 10)),
        (
            "head:\nadd.u32 %r0, %r0, %t;\nsetp.ne.u32 %p0, %r0, -1;\n@%p0 bra head; bra head;",
            (9, 11),
        ),
    ] {
        let fault = launch_with(small.clone(), &kernel("", body), shape(3, 64, 0), &[], 8)
            .expect_err("it never ends");
        let FaultKind::StepLimit {
            limit: 100_000,
            inside: Some(inside),
        } = &fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!(inside.head.ptx_line, 9, "{fault}");
        assert_eq!(inside.ptx_lines, lines, "{fault}");
    }
}

#[test]
fn too_many_short_blocks_stop_too() {
    let small = Limits {
        warp_instructions: 1_000,
        ..limits()
    };
    let text = kernel("", "ret;");
    let launch = |blocks| launch_with(small.clone(), &text, shape(blocks, 1, 0), &[], 8);
    // Each block executes four instructions.
    assert!(launch(200).is_ok());
    let fault = launch(2_000_000_000).expect_err("they are too many");
    let FaultKind::StepLimit {
        limit: 1_000,
        inside: None,
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(fault.ptx_line, 7, "{fault}");
}

#[test]
fn the_innermost_user_line_is_named() {
    let body = ".loc 1 7 3 // /rustc/1/library/core/src/ptr.rs:7:3 @[ cuda_std/src/x.rs:2:2 @[ src/lib.rs:40:9 @[ src/main.rs:9:1 ] ] ]
    .loc 1 0 0 // src/lib.rs:0:0
    ld.global.u32 %r0, [%at+64]; ret;";
    let text = format!(
        "{}\n.file 1 \"/rustc/1/library/core/src/ptr.rs\"",
        kernel("", body)
    );
    let fault = launch(&text, shape(1, 1, 0), &[], 8).expect_err("out of bounds");
    assert!(
        fault.to_string().ends_with(
            "at src/lib.rs:40:9 (PTX line 10)
    inlined into src/main.rs:9:1"
        ),
        "{fault}"
    );
    assert_eq!(fault.inlined.len(), 4);
}

#[test]
fn the_first_faulty_block_is_reported() {
    let text = kernel(
        "",
        "mov.u32 %r0, %ctaid.x; setp.ge.u32 %p0, %r0, 5; @%p0 trap; ret;",
    );
    let many = Limits {
        workers: Some(4),
        ..Limits::default()
    };
    for _ in 0..20 {
        let fault =
            launch_with(many.clone(), &text, shape(100, 32, 0), &[], 8).expect_err("it traps");
        assert_eq!(fault.block, [5, 0, 0]);
    }
}

#[test]
fn refused_launches() {
    let emulator = Emulator::new(limits());
    let text = ".visible .entry k(.param .u64 a, .param .b32 b) .maxntid 64, 1, 1 { .shared .align 4 .b8 s[100]; .reg .b32 %r;
                ld.shared.u32 %r, [s]; ret; }";
    let loaded = emulator.load(&module(text)).expect("it loads");
    let args: [&[u8]; 2] = [&[0; 8], &[0; 4]];
    let refused = |kernel: &str, config: LaunchConfig, args: &[&[u8]]| match emulator
        .launch(&loaded, kernel, config, args)
    {
        Err(LaunchError::Invalid(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused("j", shape(1, 1, 0), &args),
        "no kernel `j` in the module; it has: k"
    );
    assert_eq!(
        refused("k", shape(0, 1, 0), &args),
        "grid [0, 1, 1]: each extent must be between 1 and [2147483647, 65535, 65535]"
    );
    assert_eq!(
        refused("k", shape(1, 65, 0), &args),
        "block [65, 1, 1]: each extent must be between 1 and [1024, 1024, 64], and their product at most 64"
    );
    let exact = text.replace(".maxntid 64, 1, 1", ".reqntid 16, 4");
    let of_one_block = emulator.load(&module(&exact)).expect("it loads");
    let refused_of_one = emulator.launch(&of_one_block, "k", shape(1, 64, 0), &args);
    let refused_of_one = refused_of_one.expect_err("it is another").to_string();
    let says = "block [64, 1, 1]: the kernel is for blocks of [16, 4, 1] only";
    assert!(refused_of_one.ends_with(says), "{refused_of_one}");
    assert_eq!(
        refused("k", shape(1, 1, 232_400), &args),
        "232500 bytes of shared memory (100 static and 232400 dynamic) are over the limit of 232448"
    );
    assert_eq!(
        refused("k", shape(1, 1, 0), &args[..1]),
        "kernel `k` takes 2 arguments, 1 given"
    );
    assert_eq!(
        refused("k", shape(1, 1, 0), &[&[0; 8], &[0; 8]]),
        "argument 2 of kernel `k` must have 4 bytes, 8 given"
    );
    let other = Emulator::new(limits());
    let error = other.launch(&loaded, "k", shape(1, 1, 0), &args);
    assert!(matches!(
        error,
        Err(LaunchError::Invalid(InvalidLaunch::ForeignModule))
    ));
    emulator
        .launch(&loaded, "k", shape(1, 64, 0), &args)
        .expect("after all that, a good launch works");
}

#[test]
fn host_accesses_are_checked() {
    let emulator = Emulator::new(Limits {
        memory_bytes: 1000,
        ..limits()
    });
    let first = emulator.alloc(10).expect("there is room");
    let nothing = emulator.alloc(0).expect("nothing has an address");
    assert_ne!(first, nothing);
    assert!(matches!(
        emulator.alloc(991),
        Err(MemoryError::OutOfMemory {
            requested: 991,
            available: 990,
            limit: 1000
        })
    ));
    assert!(matches!(
        emulator.alloc(u64::MAX),
        Err(MemoryError::OutOfMemory { .. })
    ));
    emulator.write(first + 9, &[1]).expect("the last byte");
    assert!(emulator.write(first + 9, &[1, 2]).is_err());
    assert!(emulator.read(u64::MAX, &mut [0; 8]).is_err());
    assert!(emulator.read(0, &mut [0]).is_err());
    assert_eq!(
        emulator.free(first + 1).map_err(|error| error.to_string()),
        Err("cannot free 0x10000000001: it is inside an allocation, not its start".to_owned())
    );
    emulator.free(first).expect("it is an allocation");
    assert_eq!(
        emulator.free(first).map_err(|error| error.to_string()),
        Err("cannot free 0x10000000000: it was freed before".to_owned())
    );
    emulator.free(nothing).expect("nothing can be freed too");
    emulator.alloc(1000).expect("all memory is free again");
}

#[test]
fn freed_memory_is_told_apart() {
    let emulator = Emulator::new(limits());
    let loaded = emulator
        .load(&module(&kernel("", "st.global.u32 [%at+4], 1; ret;")))
        .expect("it loads");
    let address = emulator.alloc(64).expect("memory is there");
    emulator.free(address).expect("it is an allocation");
    let error = emulator.launch(&loaded, "k", shape(1, 1, 0), &[&address.to_le_bytes()]);
    let Err(LaunchError::Fault(fault)) = error else {
        panic!("expected a fault")
    };
    let FaultKind::OutOfBounds {
        space,
        access,
        nearest: Some(nearest),
        ..
    } = &fault.kind
    else {
        panic!("{fault}")
    };
    assert_eq!(
        (*space, *access, nearest.freed, nearest.offset),
        (Space::Global, Access::Write, true, 4)
    );
    // A faulty launch leaves the emulator usable.
    let address = emulator.alloc(64).expect("memory is there");
    emulator
        .launch(&loaded, "k", shape(1, 1, 0), &[&address.to_le_bytes()])
        .expect("it runs now");
}
