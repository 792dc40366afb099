//! The same program gives the same bits: on any number of workers, with and without vector
//! extensions.

use crate::common::{module, shape};
use ptx_emulator::{Emulator, Limits};

/// Mixes arithmetic of every kind, divergence and shared memory.
const TEXT: &str = ".shared .align 4 .b8 tile[512];
.visible .entry k(.param .u64 buffer) {
    .reg .b64 %at, %rd<16>; .reg .b32 %r<32>; .reg .pred %p<4>;
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r0, %r1, %r2;
    ld.param.u64 %at, [buffer]; mad.wide.u32 %at, %r3, 8, %at; ld.global.u64 %rd0, [%at];
    cvt.u32.u64 %r4, %rd0; shr.u64 %rd1, %rd0, 32; cvt.u32.u64 %r5, %rd1; mov.u32 %r6, 0;
again:
    fma.rn.f32 %r7, %r4, %r5, %r4; add.f32 %r8, %r7, %r5; div.rn.f32 %r9, %r8, %r4; sqrt.rn.f32 %r10, %r9;
    min.f32 %r11, %r10, %r4; max.f32 %r12, %r11, %r5; mul.hi.u32 %r13, %r4, %r5; xor.b32 %r14, %r12, %r13;
    fma.rn.f64 %rd2, %rd0, %rd0, %rd0; mul.f64 %rd3, %rd2, %rd0; max.f64 %rd4, %rd3, %rd2; cvt.rn.f32.f64 %r15, %rd4;
    setp.gtu.f32 %p0, %r15, %r8; @%p0 xor.b32 %r14, %r14, 0x9e3779b9; and.b32 %r16, %r14, 3; setp.eq.u32 %p1, %r16, 0;
    @%p1 bra skip; mad.lo.u32 %r14, %r14, 1664525, %r4;
skip:
    mov.u32 %r17, tile; mad.lo.u32 %r18, %r2, 4, %r17; st.shared.u32 [%r18], %r14; bar.sync 0; xor.b32 %r19, %r2, 37;
    mad.lo.u32 %r20, %r19, 4, %r17; ld.shared.u32 %r5, [%r20]; bar.sync 0; mad.lo.u32 %r4, %r4, 22695477, %r14;
    mov.b64 %rd0, {%r4, %r5}; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 20; @%p2 bra again;
    st.global.u64 [%at], %rd0; ret;
}";

#[test]
fn bits_do_not_depend_on_the_machine() {
    const THREADS: u64 = 128 * 24;
    let words: Vec<u8> = (0..THREADS)
        .flat_map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i << 13).to_le_bytes())
        .collect();
    let run = |workers: Option<usize>, portable: bool| {
        let emulator = Emulator::new(Limits {
            workers,
            ..Limits::default()
        });
        let loaded = emulator.load(&module(TEXT)).expect("it loads");
        let buffer = emulator.alloc(8 * THREADS).expect("memory is there");
        emulator.write(buffer, &words).expect("it fits");
        let launch = if portable {
            Emulator::launch_portable
        } else {
            Emulator::launch
        };
        let statistics = launch(
            &emulator,
            &loaded,
            "k",
            shape(24, 128, 0),
            &[&buffer.to_le_bytes()],
        )
        .expect("it runs");
        let mut bytes = vec![0; 8 * THREADS as usize];
        emulator.read(buffer, &mut bytes).expect("it can be read");
        (bytes, statistics)
    };
    let first = run(Some(1), false);
    assert_ne!(first.0, words);
    assert_eq!(first, run(Some(1), false));
    assert_eq!(first, run(Some(3), false));
    assert_eq!(first, run(None, true));
}
