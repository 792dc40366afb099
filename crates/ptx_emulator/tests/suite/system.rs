//! Functions of the driver: `malloc` and `free` on the heap, `vprintf`.

use ptx_emulator::{
    CheckOptions, CheckReport, Emulator, Fault, FaultKind, LaunchConfig, LaunchError, Limits,
    Module, Rule, Space,
};
use std::sync::{Arc, Mutex};

const HEADER: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b64 result) malloc (.param .b64 size);
.extern .func free (.param .b64 at);
.extern .func (.param .b32 count) vprintf (.param .b64 format, .param .b64 values);
.global .align 1 .b8 format[10] = {37, 100, 32, 37, 46, 49, 102, 10};
.visible .entry kernel(.param .u64 out) {
    .local .align 8 .b8 values[16];
    .reg .b32 %r<8>;
    .reg .b64 %rd<16>;
    .reg .f64 %fd<2>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    { .param .b64 size; .param .b64 result; st.param.b64 [size], 24; call.uni (result), malloc, (size); ld.param.b64 %rd2, [result]; }
";

fn emulator(heap_bytes: u64) -> Emulator {
    Emulator::new(Limits {
        heap_bytes,
        workers: Some(1),
        ..Limits::default()
    })
}

/// Runs the kernel with one warp; what 32 words of its output hold.
fn run(emulator: &Emulator, body: &str) -> Result<Vec<u64>, Box<Fault>> {
    let text = format!("{HEADER}{body}\n    ret;\n}}");
    let module = Module::parse(&text).expect("the kernel parses");
    let module = emulator.load(&module).expect("it loads");
    let out = emulator.alloc(8 * 32).expect("memory");
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
    };
    match emulator.launch(&module, "kernel", config, &[&out.to_le_bytes()]) {
        Ok(_) => {}
        Err(LaunchError::Fault(fault)) => return Err(fault),
        Err(error) => panic!("{error}"),
    }
    let mut bytes = [0; 8 * 32];
    emulator.read(out, &mut bytes).expect("the output");
    let words = bytes.chunks_exact(8);
    Ok(words
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
        .collect())
}

const STORE: &str = "
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd3, %rd1, %rd3;
    st.global.u64 [%rd3], %rd2;";
const FREE: &str = "{ .param .b64 at; st.param.b64 [at], %rd2; call.uni free, (at); }";

#[test]
fn every_thread_gets_a_chunk_of_its_own() {
    let emulator = emulator(1 << 20);
    let mut chunks = run(&emulator, STORE).expect("no fault");
    chunks.sort_unstable();
    assert!(chunks.iter().all(|chunk| *chunk != 0 && chunk % 16 == 0));
    assert!(chunks.windows(2).all(|pair| pair[1] - pair[0] >= 24));
}

#[test]
fn a_full_heap_gives_null_and_freed_chunks_serve_the_next_launch() {
    let emulator = emulator(48 * 40);
    let first = run(&emulator, &format!("{STORE}{FREE}")).expect("no fault");
    assert!(first.iter().all(|&chunk| chunk != 0));
    let second = run(&emulator, STORE).expect("no fault");
    assert!(second.iter().all(|&chunk| chunk != 0));
    let third = run(&emulator, STORE).expect("no fault");
    assert_eq!(third.iter().filter(|&&chunk| chunk != 0).count(), 8);
}

#[test]
fn the_bounds_of_a_chunk_are_kept() {
    let fault = run(&emulator(1 << 20), "st.global.u64 [%rd2+24], %rd2;").unwrap_err();
    let FaultKind::OutOfBounds { space, nearest, .. } = fault.kind else {
        panic!("{fault}");
    };
    let nearest = nearest.expect("the chunk");
    assert_eq!(
        (space, nearest.offset, nearest.size),
        (Space::Global, 24, 24)
    );
}

#[test]
fn use_after_free_and_a_second_free_are_faults() {
    let fault = run(&emulator(1 << 20), &format!("{FREE} ld.u64 %rd4, [%rd2];")).unwrap_err();
    assert!(
        fault.to_string().contains("a freed allocation of 24 bytes"),
        "{fault}"
    );
    let fault = run(&emulator(1 << 20), &format!("{FREE}{FREE}")).unwrap_err();
    assert!(fault.to_string().contains("it was freed before"), "{fault}");
}

#[test]
fn printed_text_goes_to_the_sink() {
    let emulator = emulator(1 << 20);
    let text = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&text);
    emulator.set_output(move |printed| sink.lock().expect("the text").push_str(printed));
    let print = "
    setp.gt.u32 %p1, %r1, 2;
    @%p1 bra DONE;
    mov.u64 %rd5, values;
    cvta.local.u64 %rd5, %rd5;
    st.u32 [%rd5], %r1;
    mov.f64 %fd1, 0d3FF8000000000000;
    st.f64 [%rd5+8], %fd1;
    mov.u64 %rd6, format;
    cvta.global.u64 %rd6, %rd6;
    { .param .b64 format; .param .b64 values; .param .b32 count; st.param.b64 [format], %rd6; st.param.b64 [values], %rd5;
      call.uni (count), vprintf, (format, values); ld.param.b32 %r2, [count]; }
    cvt.u64.u32 %rd2, %r2;
DONE:";
    let words = run(&emulator, &format!("{print}{STORE}")).expect("no fault");
    assert_eq!(*text.lock().expect("the text"), "0 1.5\n1 1.5\n2 1.5\n");
    assert_eq!(words[..3], [2, 2, 2]);
}

#[test]
fn a_text_that_its_memory_cuts_off_is_a_fault() {
    let print = "
    mov.b64 %rd2, 0x4141414141414141;
    mul.wide.u32 %rd3, %r1, 8;
    add.s64 %rd3, %rd1, %rd3;
    st.global.u64 [%rd3], %rd2;
    bar.warp.sync -1;
    { .param .b64 format; .param .b64 values; .param .b32 count; st.param.b64 [format], %rd1; st.param.b64 [values], %rd1;
      call.uni (count), vprintf, (format, values); ld.param.b32 %r2, [count]; }";
    let fault = run(&emulator(1 << 20), print).unwrap_err();
    let text = fault.to_string();
    assert!(text.contains("whose memory ends before it"), "{text}");
}

/// What the detectors say of the kernel with N threads, in M more orders of them.
fn check(emulator: &Emulator, body: &str, threads: u32, schedules: u32) -> CheckReport {
    let module = Module::parse(&format!("{HEADER}{body}\n    ret;\n}}")).expect("it parses");
    let module = emulator.load(&module).expect("it loads");
    let out = emulator.alloc(8 * 64).expect("memory");
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
    };
    let options = CheckOptions {
        schedules,
        ..CheckOptions::default()
    };
    let args = [&out.to_le_bytes()[..]];
    emulator
        .check(&module, "kernel", config, &args, &options)
        .expect("it is launched")
}

/// Only the first lane of each warp goes on.
const ONE_A_WARP: &str = "and.b32 %r2, %r1, 31; setp.ne.u32 %p0, %r2, 0; @%p0 bra DONE;";
const MALLOC: &str = "{ .param .b64 size; .param .b64 result; st.param.b64 [size], 24;
    call.uni (result), malloc, (size); ld.param.b64 %rd2, [result]; }";
/// The thread's number, once at each end of its chunk.
const FILL: &str = "cvt.u64.u32 %rd5, %r1; st.u64 [%rd2], %rd5; st.u64 [%rd2+16], %rd5;";

#[test]
fn a_chunk_begins_anew_when_another_thread_gets_it() {
    // Room for one chunk: the second warp gets the first one's.
    let body = format!("{FREE}{ONE_A_WARP}{MALLOC}{FILL}{FREE}DONE:");
    let report = check(&emulator(48), &body, 64, 0);
    assert!(report.is_clean(), "{:#?}", report.findings);
}

#[test]
fn races_inside_a_chunk_are_found() {
    let share = "setp.eq.u32 %p0, %r1, 0; @%p0 st.global.u64 [%rd1], %rd2; bar.sync 0; ld.global.u64 %rd2, [%rd1];";
    let report = check(&emulator(1 << 20), &format!("{share}{FILL}"), 64, 0);
    let rules: Vec<_> = report.findings.iter().map(|found| found.rule).collect();
    assert!(rules.contains(&Rule::WriteAfterWrite), "{rules:?}");
}

#[test]
fn what_an_earlier_owner_left_is_no_value() {
    let emulator = emulator(48);
    let body = format!(
        "{FREE}{MALLOC}{FILL}{FREE}{MALLOC} mov.u64 %rd6, %rd2; ld.u64 %rd2, [%rd6+16];{STORE} mov.u64 %rd2, %rd6; {FREE}"
    );
    // An unwatched launch, after which all memory counts as written, changes nothing.
    for _ in 0..2 {
        let report = check(&emulator, &body, 1, 0);
        let rules: Vec<_> = report.findings.iter().map(|found| found.rule).collect();
        assert_eq!(rules, [Rule::UninitialisedMemory]);
        run(&emulator, FREE).expect("no fault");
    }
}

#[test]
fn spare_room_is_copied_as_it_is() {
    // What was written comes out of the copy; what was not may lie there.
    let body = format!(
        "{FILL} mov.u64 %rd6, %rd2; {MALLOC}
         ld.u64 %rd7, [%rd6]; st.u64 [%rd2], %rd7; ld.u64 %rd7, [%rd6+8]; st.u64 [%rd2+8], %rd7; ld.u64 %rd2, [%rd2];{STORE}"
    );
    let report = check(&emulator(1 << 20), &body, 64, 0);
    assert!(report.is_clean(), "{:#?}", report.findings);
    let report = check(
        &emulator(1 << 20),
        &body.replace("ld.u64 %rd2, [%rd2];", "ld.u64 %rd2, [%rd2+8];"),
        1,
        0,
    );
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
}

#[test]
fn who_gets_which_chunk_is_no_result() {
    let report = check(&emulator(1 << 20), FILL, 64, 8);
    assert!(report.is_clean(), "{:#?}", report.findings);
}
