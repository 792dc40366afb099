//! Functions of the driver: `malloc` and `free` on the heap, `vprintf`.

use ptx_emulator::{Emulator, Fault, FaultKind, LaunchConfig, LaunchError, Limits, Module, Space};
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
