//! Loads and stores in every space, directly and through generic addresses.

use crate::common::{launch, module, one, parse, shape};
use ptx_emulator::{Emulator, Limits};

/// A kernel `k` with the buffer's address in `%at` and the thread's index in `%t`; eight bytes for
/// each thread.
fn kernel(module_scope: &str, body: &str) -> String {
    format!(
        "{module_scope}
.visible .entry k(.param .u64 buffer) {{
    .reg .b64 %at, %mine, %rd<16>; .reg .b32 %t, %r<16>; .reg .b16 %rs<8>; .reg .pred %p<8>;
    ld.param.u64 %at, [buffer];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %mine, %t, 8, %at;
    {body}
    ret;
}}"
    )
}

#[track_caller]
fn words(text: &str, threads: u32, dynamic: u32, initial: &[u64]) -> Vec<u64> {
    let words = initial.len().max(threads as usize);
    launch(text, shape(1, threads, dynamic), initial, words)
        .unwrap_or_else(|fault| panic!("{fault}"))
        .0
}

#[test]
fn narrow_loads_extend_by_their_sign() {
    for (body, expected) in [
        (
            "ld.global.s8 %r0, [%mine]; cvt.u64.u32 %rd0, %r0;",
            0xffff_ff80_u64,
        ),
        ("ld.global.u8 %r0, [%mine]; cvt.u64.u32 %rd0, %r0;", 0x80),
        (
            "ld.global.s8 %rs0, [%mine]; cvt.u64.u16 %rd0, %rs0;",
            0xff80,
        ),
        ("ld.global.s16 %rd0, [%mine];", 0xffff_ffff_ffff_9180),
        (
            "ld.global.b16 %rs0, [%mine+2]; cvt.u64.u16 %rd0, %rs0;",
            0xb3a2,
        ),
        ("ld.global.s32 %rd0, [%mine];", 0xffff_ffff_b3a2_9180),
        ("ld.global.u32 %rd0, [%mine+4];", 0xf7e6_d5c4),
        (
            "ld.global.b8 %rs0, [%mine+7]; cvt.u64.u16 %rd0, %rs0;",
            0xf7,
        ),
    ] {
        let text = kernel("", &format!("{body} st.global.u64 [%mine], %rd0;"));
        assert_eq!(
            words(&text, 1, 0, &[0xf7e6_d5c4_b3a2_9180]),
            [expected],
            "{body}"
        );
    }
}

#[test]
fn narrow_stores_leave_their_neighbours() {
    let body =
        "mov.u32 %r0, 0x12345678; st.global.u8 [%mine+1], %r0; st.global.b16 [%mine+4], %r0;";
    assert_eq!(
        words(&kernel("", body), 1, 0, &[u64::MAX]),
        [0xffff_5678_ffff_78ff]
    );
}

#[test]
fn vectors_move_several_registers() {
    let body = "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%at]; st.global.v4.b32 [%at+16], {%r3, %r2, %r1, %r0};
                ld.global.v2.b64 {%rd0, _}, [%at]; st.global.v2.u64 [%at+32], {%rd0, 5};";
    let result = words(
        &kernel("", body),
        1,
        0,
        &[0x2_0000_0001, 0x4_0000_0003, 0, 0, 0, 0],
    );
    assert_eq!(
        result[2..],
        [0x3_0000_0004, 0x1_0000_0002, 0x2_0000_0001, 5]
    );
}

#[test]
fn shared_memory_belongs_to_the_block() {
    let text = kernel(
        ".shared .align 8 .b8 tile[512];",
        "mov.u64 %rd0, tile; mad.wide.u32 %rd1, %t, 8, %rd0; cvt.u64.u32 %rd2, %t; st.shared.u64 [%rd1], %rd2;
         bar.sync 0; sub.u32 %r0, 63, %t; mad.wide.u32 %rd3, %r0, 8, %rd0; ld.shared.u64 %rd4, [%rd3];
         st.global.u64 [%mine], %rd4;",
    );
    assert_eq!(
        words(&text, 64, 0, &[]),
        (0..64).rev().collect::<Vec<u64>>()
    );
}

#[test]
fn dynamic_shared_memory_lies_behind_the_static() {
    let text = kernel(
        ".extern .shared .align 16 .b8 dyn[]; .shared .align 4 .b8 small[4];",
        "mov.u32 %r0, dyn; mov.u32 %r1, small; mov.b64 %rd0, {%r0, %r1}; st.shared.u32 [%r0+60], %t;
         ld.shared.u32 %r2, [dyn+60]; mov.u32 %r3, %dynamic_smem_size; mov.u32 %r4, %total_smem_size;
         st.global.u64 [%mine], %rd0; mov.b64 %rd1, {%r2, %r3}; st.global.u64 [%mine+8], %rd1;
         st.shared.u32 [small], %r4; ld.shared.u32 %r5, [small]; st.global.u32 [%mine+16], %r5;",
    );
    assert_eq!(words(&text, 1, 64, &[0; 3]), [16, 64 << 32, 80]);
    let entry = module(&text);
    assert_eq!(
        entry.entry("k").map(|entry| entry.static_shared_bytes()),
        Some(16)
    );
}

#[test]
fn static_shared_bytes_are_what_the_kernel_reaches() {
    let text = ".shared .align 4 .b8 a[100]; .shared .align 16 .b8 b[8]; .shared .align 4 .b8 c[4000];
.func helper() { .reg .b32 %r0; ld.shared.u32 %r0, [b]; ret; }
.visible .entry first() { .reg .b32 %r0; ld.shared.u32 %r0, [a]; call helper, (); ret; }
.visible .entry second() { .shared .align 4 .b8 own[12]; .reg .b32 %r0; ld.shared.u32 %r0, [own]; ret; }";
    let module = module(text);
    let bytes = |name: &str| module.entry(name).map(|entry| entry.static_shared_bytes());
    assert_eq!((bytes("first"), bytes("second")), (Some(120), Some(12)));
}

#[test]
fn generic_addresses_reach_every_space() {
    let text = kernel(
        ".shared .align 8 .b8 tile[256]; .const .align 8 .b64 table[2] = {11, 22};",
        ".local .align 8 .b8 stack[16];
         mov.u64 %rd0, tile; cvta.shared.u64 %rd1, %rd0; mad.wide.u32 %rd1, %t, 8, %rd1;
         mov.u64 %rd2, stack; cvta.local.u64 %rd3, %rd2; mov.u64 %rd4, table; cvta.const.u64 %rd5, %rd4;
         cvt.u64.u32 %rd6, %t; st.u64 [%rd1], %rd6; st.u64 [%rd3+8], 100; ld.u64 %rd7, [%rd5+8];
         ld.shared.u64 %rd8, [tile+8]; ld.local.u64 %rd9, [%rd2+8]; ld.u64 %rd10, [%rd1];
         add.u64 %rd7, %rd7, %rd9; add.u64 %rd7, %rd7, %rd10; cvta.to.global.u64 %rd11, %mine;
         st.global.u64 [%rd11], %rd7;",
    );
    assert_eq!(words(&text, 32, 0, &[]), (122..154).collect::<Vec<u64>>());
}

#[test]
fn one_generic_access_may_go_to_several_spaces() {
    let text = kernel(
        ".shared .align 8 .b8 tile[8];",
        ".local .align 8 .b8 stack[8];
         st.shared.u64 [tile], 1; st.local.u64 [stack], 2;
         mov.u64 %rd0, tile; cvta.shared.u64 %rd0, %rd0; mov.u64 %rd1, stack; cvta.local.u64 %rd1, %rd1;
         rem.u32 %r0, %t, 3; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 1;
         selp.b64 %rd2, %rd0, %rd1, %p0; setp.eq.u32 %p2, %r0, 2; selp.b64 %rd2, %mine, %rd2, %p2;
         ld.u64 %rd3, [%rd2]; st.global.u64 [%mine], %rd3;",
    );
    let initial = [7; 32];
    let expected: Vec<u64> = (0..32).map(|lane| [1, 2, 7][lane % 3]).collect();
    assert_eq!(words(&text, 32, 0, &initial), expected);
}

#[test]
fn local_memory_is_each_threads_own() {
    let text = kernel(
        "",
        ".local .align 4 .b8 stack[64]; .reg .b64 %SPL; mov.b64 %SPL, stack;
         and.b32 %r0, %t, 15; mul.wide.u32 %rd0, %r0, 4; add.s64 %rd1, %SPL, %rd0;
         st.local.u32 [%rd1], %t; st.local.u8 [%rd1+1], 9; ld.local.u32 %r1, [%rd1];
         cvt.u64.u32 %rd2, %r1; st.global.u64 [%mine], %rd2;",
    );
    assert_eq!(
        words(&text, 64, 0, &[]),
        (0..64).map(|t| t + 0x900).collect::<Vec<u64>>()
    );
}

#[test]
fn isspacep_tells_the_spaces_apart() {
    let text = kernel(
        ".shared .align 8 .b8 tile[8]; .const .b32 c = 1;",
        "mov.u64 %rd0, tile; cvta.shared.u64 %rd0, %rd0; mov.u64 %rd1, c;
         isspacep.shared %p0, %rd0; isspacep.global %p1, %rd0; isspacep.global %p2, %mine; isspacep.const %p3, %rd1;
         isspacep.local %p4, %rd0;
         selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1; selp.u32 %r2, 4, 0, %p2; selp.u32 %r3, 8, 0, %p3;
         selp.u32 %r4, 16, 0, %p4; or.b32 %r0, %r0, %r1; or.b32 %r0, %r0, %r2; or.b32 %r0, %r0, %r3;
         or.b32 %r0, %r0, %r4; cvt.u64.u32 %rd2, %r0; st.global.u64 [%mine], %rd2;",
    );
    assert_eq!(words(&text, 1, 0, &[]), [1 | 4 | 8]);
}

#[test]
fn initial_values() {
    let text = kernel(
        ".global .align 8 .b8 bytes[12] = {1, 2, 3};
         .global .align 4 .f32 floats[2] = {0f3F800000, 2.0};
         .global .align 8 .u64 pointers[3] = {generic(bytes), bytes+2, generic(bytes)+1};
         .global .align 1 .b8 spread[2] = {0xFF(bytes), 0xFF0000000000(bytes)};",
        "ld.global.u64 %rd0, [pointers]; ld.u8 %rd1, [%rd0+2]; ld.global.u64 %rd2, [pointers+8]; sub.u64 %rd2, %rd2, %rd0;
         ld.global.u64 %rd3, [pointers+16]; sub.u64 %rd3, %rd3, %rd0; ld.global.u32 %rd4, [bytes+8];
         ld.global.u32 %rd5, [floats+4]; ld.global.u8 %rd6, [spread+1]; shr.u64 %rd7, %rd0, 40; and.b64 %rd7, %rd7, 255;
         sub.u64 %rd6, %rd6, %rd7;
         st.global.v2.u64 [%at], {%rd1, %rd2}; st.global.v2.u64 [%at+16], {%rd3, %rd4};
         st.global.v2.u64 [%at+32], {%rd5, %rd6};",
    );
    assert_eq!(words(&text, 1, 0, &[0; 6]), [3, 2, 1, 0, 0x4000_0000, 0]);
}

/// Plain decimals are read in a loop of their own.
#[test]
fn lists_of_bytes_may_mix_all_forms() {
    let text = kernel(
        ".global .align 8 .b8 mixed[16] = {0, 7,017, 9, 0x10,255 , 5U, -1, 2 + 3, 8, /* eleven */ 11,
         12,};",
        "ld.global.u64 %rd0, [mixed]; ld.global.u64 %rd1, [mixed+8]; st.global.v2.u64 [%at], {%rd0, %rd1};",
    );
    let expected = [[0, 7, 15, 9, 16, 255, 5, 255], [5, 8, 11, 12, 0, 0, 0, 0]];
    let expected = expected.map(u64::from_le_bytes);
    assert_eq!(words(&text, 1, 0, &[0; 2]), expected);
    let error = |list: &str| {
        let text = format!("\n\n \n\n.global .b8 a[2] = {{{list}}};");
        crate::common::parse(&text).err().expect("a mistake")
    };
    for (list, message) in [
        ("1, 2, 3", "`a` has more initial values than elements"),
        ("1, 08, 3", "`08` is not an integer of 64 bits"),
        ("1 2", "expected `}`, found `2`"),
        ("1,, 2", "expected a constant, found `,`"),
        (
            "18446744073709551616, 2",
            "`18446744073709551616` is not an integer of 64 bits",
        ),
    ] {
        let error = error(list);
        assert_eq!(error.message, message, "{list}");
    }
    // Empty lines are counted at once.
    let line = error("1 2").line;
    assert_eq!(error("\n\n\n1 2").line, line + 3);
}

#[test]
fn symbols_are_found_by_the_host() {
    let emulator = Emulator::new(Limits::default());
    let text = ".const .align 4 .b8 table[8] = {1, 2}; .visible .global .align 4 .b32 count;
                .visible .entry k() { .reg .b32 %r0; ld.const.u32 %r0, [table]; st.global.u32 [count], %r0; ret; }";
    let loaded = emulator.load(&module(text)).expect("it loads");
    let (table, size) = loaded.symbol("table").expect("it is there");
    assert_eq!((size, loaded.symbol("nothing")), (8, None));
    // Like cudaMemcpyToSymbol.
    emulator
        .write(table, &[5, 6, 7, 8])
        .expect("the host may write constants");
    emulator
        .launch(&loaded, "k", shape(1, 1, 0), &[])
        .expect("it runs");
    let mut bytes = [0; 4];
    emulator
        .read(loaded.symbol("count").expect("it is there").0, &mut bytes)
        .expect("it can be read");
    assert_eq!(bytes, [5, 6, 7, 8]);
    drop(loaded);
    assert!(
        emulator.read(table, &mut bytes).is_err(),
        "the module's memory is freed with it"
    );
}

/// As ptxas limits them.
#[test]
fn parameters_have_a_limit_of_their_version() {
    let parse = |version: &str, target: &str, bytes: u32| {
        let text = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u8 a, .param .align 4 .b8 b[{bytes}]) {{ ret; }}"
        );
        ptx_emulator::Module::parse(&text).map_err(|error| error.to_string())
    };
    assert!(parse("7.0", "sm_80", 4348).is_ok());
    let error = parse("7.0", "sm_80", 4349).err().expect("one more");
    let expected = "kernel `k` has 4353 bytes of parameters, and at most 4352 are allowed; PTX 8.1 allows 32764 from sm_70 on";
    assert!(error.contains(expected), "{error}");
    assert!(parse("8.1", "sm_61", 4349).is_err());
    assert!(parse("8.1", "sm_90a", 32_760).is_ok());
    let error = parse("8.1", "sm_90a", 32_761).err().expect("one more");
    assert!(error.contains("at most 32764 are allowed"), "{error}");
}

#[test]
fn kernel_parameters_have_layouts() {
    let text = ".visible .entry k(.param .u64 buffer, .param .u8 byte, .param .align 8 .b8 pair[16], .param .f32 x) {
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %rs<2>;
    ld.param.u64 %rd0, [buffer]; ld.param.s8 %r0, [byte]; ld.param.v2.u32 {%r1, %r2}, [pair+8]; ld.param.f32 %r3, [x];
    st.global.v4.u32 [%rd0], {%r0, %r1, %r2, %r3};
    mov.b64 %rd1, pair; ld.param.u32 %r4, [%rd1+4]; cvta.param.u64 %rd2, %rd1; ld.u8 %r5, [%rd2+1];
    st.global.v2.u32 [%rd0+16], {%r4, %r5};
    ld.param.s8 %rs0, [byte]; cvt.u32.u16 %r6, %rs0; st.global.u32 [%rd0+24], %r6;
    ret; }";
    let emulator = Emulator::new(Limits::default());
    let loaded = emulator.load(&module(text)).expect("it loads");
    let out = emulator.alloc(28).expect("memory is there");
    let pair: Vec<u8> = (0..16).collect();
    let args: [&[u8]; 4] = [&out.to_le_bytes(), &[0xfe], &pair, &1.0_f32.to_le_bytes()];
    emulator
        .launch(&loaded, "k", shape(1, 32, 0), &args)
        .expect("it runs");
    let mut bytes = [0; 28];
    emulator.read(out, &mut bytes).expect("it can be read");
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("4")))
        .collect();
    assert_eq!(
        words,
        [
            0xffff_fffe,
            0x0b0a_0908,
            0x0f0e_0d0c,
            0x3f80_0000,
            0x0706_0504,
            1,
            0x0000_fffe
        ]
    );
}

#[test]
fn asynchronous_copies_fill_with_zeros() {
    let text = kernel(
        ".shared .align 16 .b8 tile[16];",
        "mov.u64 %rd0, tile; st.shared.u64 [tile], -1; st.shared.u64 [tile+8], -1;
         cp.async.ca.shared.global [%rd0], [%at], 16, 5; cp.async.commit_group; cp.async.wait_group 0;
         ld.shared.v2.u64 {%rd1, %rd2}, [tile]; st.global.v2.u64 [%at+16], {%rd1, %rd2};",
    );
    let source = 0x0807_0605_0403_0201;
    assert_eq!(
        words(&text, 1, 0, &[source, source, 0, 0])[2..],
        [0x05_0403_0201, 0]
    );
}

#[test]
fn a_kernel_that_writes_past_a_parameter_is_refused() {
    let error =
        parse(".visible .entry k(.param .u32 n) { .reg .b64 %rd0; ld.param.u64 %rd0, [n]; ret; }")
            .err();
    assert_eq!(
        error.map(|error| error.to_string()).as_deref(),
        Some("PTX line 4: `ld.param.u64` reads past the end of the parameter `n`")
    );
}

#[test]
fn sixteen_bits_stay_sixteen() {
    assert_eq!(one("mov.u16 %h, -1; add.u16 %h, %h, 1;", "%h", [0; 3]), 0);
}
