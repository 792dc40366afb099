//! PTX text: it parses or is refused, and what parses loads and runs within its limits.

use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Limits, Module, rust_parameters};

use super::Target;

pub(super) const TARGET: Target = Target {
    name: "ptx",
    run,
    seeds,
    words: WORDS,
    in_test: 1500,
};

const WORDS: &[&str] = &[
    ".version 8.0\n.target sm_90\n.address_size 64\n",
    ".visible .entry k(.param .u64 p)\n{\n",
    ".func (.param .b32 r) f(.param .b32 a);",
    ".shared .align 16 .b8 tile[512];",
    ".extern .shared .align 16 .b8 dynamic[];",
    ".global .align 8 .u64 table[2] = {k, tile+8};",
    ".const .f32 c[4] = {0f3F800000, 1.5};",
    ".reg .b32 %r<9>; .reg .b64 %q<9>; .reg .pred %p<9>;",
    ".reqntid 32, 1, 1",
    ".maxntid 1024",
    ".loc 1 1 1, function_name $L, inlined_at 1 1 1",
    ".file 1 \"a.rs\"",
    ".section .debug_str { .b8 1,2,3 }",
    "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%q0+16];",
    "st.shared.u32 [tile+4], %r0;",
    "atom.global.cas.b64 %q0, [%q1], %q2, %q3;",
    "@!%p0 bra L0;",
    "brx.idx %r0, table;",
    "call.uni (r), f, (a);",
    "bar.sync 0;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%q0], 16, [%q1];",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r0,%r1,%r2,%r3};",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    "tex.2d.v4.f32.s32 {%r0,%r1,%r2,%r3}, [%q0, {%r0,%r1}];",
    "alloca.u64 %q0, 64, 8;",
    "setp.lt.and.f32 %p0|%p1, %r0, %r1, !%p2;",
    "{ .reg .b32 t; }",
    "/*",
    "//",
    "pragma \"nounroll\";",
    "(((((((((((((((((",
    "{{{{{{{{{{{{{{{{{",
    "-~!",
    "<99999999>",
    "[2147483647]",
    "::",
    "|",
    "0d7FF0000000000000",
];

/// A kernel with most of what a compiler writes.
const SMALL: &str = r#".version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .u32 counter = 7;
.const .align 4 .f32 weights[2] = {0f3F800000, 0f40000000};
.func (.param .b32 r) twice(.param .b32 a)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [a];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry k(
    .param .u64 .ptr .global .align 4 p,
    .param .u32 n
)
.maxntid 64, 1, 1
{
    .shared .align 4 .b8 tile[256];
    .local .align 8 .b8 stack[16];
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    .file 1 "src/lib.rs"
    .loc 1 3 5
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r3, [%rd4];
    { .param .b32 a0; .param .b32 r0;
    st.param.b32 [a0], %r3;
    call.uni (r0), twice, (a0);
    ld.param.b32 %r4, [r0]; }
    shl.b32 %r5, %r2, 2;
    mov.u32 %r6, tile;
    add.s32 %r6, %r6, %r5;
    st.shared.u32 [%r6], %r4;
    bar.sync 0;
    ld.shared.u32 %r7, [%r6];
    atom.global.add.u32 %r8, [counter], 1;
    st.global.u32 [%rd4], %r7;
DONE:
    ret;
}
"#;

fn seeds() -> Vec<Vec<u8>> {
    let others = [
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { .reg .b32 %r<2>; .reg .pred %p; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra L; trap; }",
        ".version 7.8\n.target sm_90a\n.address_size 64\n.tex .u64 t;\n.visible .entry k(.param .align 8 .b8 s[24]) { .reg .f32 %f<5>; .reg .b64 %q<3>; ld.param.v2.u64 {%q1, %q2}, [s]; tex.1d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f0}]; shfl.sync.bfly.b32 %f0, %f1, 1, 31, -1; ret; }",
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k() .explicitcluster .reqnctapercluster 2 { .reg .b32 %r<9>; table: .branchtargets A, B; mov.u32 %r1, %laneid; rem.u32 %r2, %r1, 2; brx.idx %r2, table; A: barrier.cluster.arrive; barrier.cluster.wait; B: exit; }",
    ];
    let all = [SMALL].into_iter().chain(others);
    all.map(|text| text.as_bytes().to_vec()).collect()
}

/// Bytes of the buffer that every parameter of 64 bits points to.
const BUFFER: u64 = 4096;

fn run(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // A kernel's record in the PTX is any text.
    let _ = rust_parameters(&text);
    let module = match Module::parse(&text) {
        Ok(module) => module,
        Err(error) => return error.to_string(),
    };
    let mut outcome = String::from("parses");
    for entry in module.entries().take(2) {
        let emulator = Emulator::new(Limits {
            memory_bytes: 1 << 22,
            warp_instructions: 2000,
            local_bytes_per_thread: 1 << 12,
            stack_bytes: 1 << 12,
            workers: Some(1),
            ..Limits::default()
        });
        let loaded = match emulator.load(&module) {
            Ok(loaded) => loaded,
            Err(error) => return error.to_string(),
        };
        let Ok(buffer) = emulator.alloc(BUFFER) else {
            return "no buffer".to_owned();
        };
        let size = |bytes: u32| bytes as usize;
        let parameters: usize = entry.params().iter().map(|param| size(param.size)).sum();
        if parameters > 1 << 16 {
            return "large parameters".to_owned();
        }
        let args: Vec<Vec<u8>> = (entry.params().iter())
            .map(|param| {
                let value = if param.size == 8 { buffer } else { 37 };
                let mut bytes = value.to_le_bytes().to_vec();
                bytes.resize(size(param.size), 0);
                bytes
            })
            .collect();
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let config = LaunchConfig {
            grid: [2, 1, 1],
            block: [40, 1, 1],
            dynamic_shared_bytes: 64,
        };
        let launched = emulator.launch(&loaded, entry.name(), config, &args);
        let options = CheckOptions {
            schedules: 0,
            race_bytes: 1 << 20,
            ..CheckOptions::default()
        };
        let checked = emulator.check(&loaded, entry.name(), config, &args, &options);
        outcome += &match (launched, checked) {
            (Err(error), _) => error.to_string(),
            (Ok(_), Err(error)) => format!("checked: {error}"),
            (Ok(_), Ok(report)) => {
                let rules = report.findings.iter().map(|finding| finding.rule.name());
                format!("runs, {}", rules.collect::<Vec<_>>().join(" "))
            }
        };
    }
    outcome
}
