//! Accesses whose lanes follow a pattern, which the emulator executes by rows: the result of each
//! lane is that of its own access.

use crate::common::{launch, shape};

/// The size in bytes of the source and of the target. The buffer holds both, then the loaded
/// values.
const AREA: usize = 4096;

/// The distance from the stray lane to its place in the pattern.
const ASTRAY: usize = 1024;

/// Lane `l` accesses `size` bytes at `step * (l % 16) + half * (l / 16) + shift`. One stray lane
/// may be elsewhere.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    size: usize,
    step: usize,
    half: usize,
    shift: usize,
    /// The stray lane, or 32 for none.
    stray: usize,
}

impl Pattern {
    fn all() -> impl Iterator<Item = Self> {
        [1, 2, 4, 8].into_iter().flat_map(|size| {
            let steps = [0, size, 2 * size, 24];
            steps.into_iter().flat_map(move |step| {
                let halves = [0, 16 * step, 16 * step + 3 * size, 64];
                halves.into_iter().flat_map(move |half| {
                    [0, size, 8 * size + 8].map(move |shift| Self {
                        size,
                        step,
                        half,
                        shift,
                        stray: 32,
                    })
                })
            })
        })
    }

    /// Patterns with a stray lane.
    fn broken() -> impl Iterator<Item = Self> {
        let strays = [0, 1, 15, 16, 31].into_iter();
        strays.flat_map(|stray| {
            let simple = Self::all().filter(|it| it.half == 16 * it.step && it.shift == 0);
            simple.map(move |it| Self { stray, ..it })
        })
    }

    fn offset(self, lane: usize) -> usize {
        let away = if lane == self.stray { ASTRAY } else { 0 };
        self.step * (lane % 16) + self.half * (lane / 16) + self.shift + away
    }
}

/// What lane `lane` stores.
fn value(lane: usize) -> u64 {
    0x0123_4567_89ab_cdef_u64.wrapping_mul(lane as u64 + 1)
}

/// One thread copies an area word by word.
fn copy(label: &str, (from, source): (&str, &str), (to, target): (&str, &str)) -> String {
    format!(
        "setp.ne.u32 %p1, %tid.x, 0;
@%p1 bra {label}_done;
mov.u64 %rd6, {source}; mov.u64 %rd7, {target}; mov.u32 %r3, 0;
{label}:
ld.{from}.u64 %rd8, [%rd6]; st.{to}.u64 [%rd7], %rd8;
add.u64 %rd6, %rd6, 8; add.u64 %rd7, %rd7, 8; add.u32 %r3, %r3, 8;
setp.lt.u32 %p1, %r3, {AREA};
@%p1 bra {label};
{label}_done:
bar.warp.sync -1;"
    )
}

/// Loads from the source and stores to the target: in global memory, or in shared memory with a
/// copy before and after.
fn kernel(pattern: Pattern, shared: bool, address: &str) -> String {
    let Pattern {
        size,
        step,
        half,
        shift,
        stray,
    } = pattern;
    let bits = 8 * size;
    let (before, after, space, source, target) = if shared {
        let before = copy("in", ("global", "%at"), ("shared", "from"))
            + &copy("out", ("global", "%rd9"), ("shared", "to"));
        let after = copy("back", ("shared", "to"), ("global", "%rd9"));
        (before, after, "shared", "from", "to")
    } else {
        (String::new(), String::new(), "global", "%at", "%rd9")
    };
    format!(
        ".shared .align 16 .b8 from[{AREA}];
.shared .align 16 .b8 to[{AREA}];
.visible .entry k(.param .u64 buffer) {{
.reg .b64 %at, %mine, %rd<16>; .reg .b32 %t, %r<16>; .reg .pred %p<4>;
ld.param.u64 %at, [buffer];
add.u64 %rd9, %at, {AREA};
mov.u32 %t, %tid.x;
mad.wide.u32 %mine, %t, 8, %at;
{before}
and.b32 %r1, %t, 15; shr.b32 %r2, %t, 4;
mul.wide.u32 %rd1, %r1, {step};
mad.wide.u32 %rd1, %r2, {half}, %rd1;
setp.eq.u32 %p2, %t, {stray};
@%p2 add.u64 %rd1, %rd1, {ASTRAY};
mov.u64 %rd2, {source}; add.u64 %rd2, %rd2, %rd1; cvt.u32.u64 %r4, %rd2;
mov.u64 %rd3, {target}; add.u64 %rd3, %rd3, %rd1; cvt.u32.u64 %r5, %rd3;
ld.{space}.u{bits} %rd4, [{address}{load}+{shift}];
st.global.u64 [%mine+{loaded}], %rd4;
add.u32 %r6, %t, 1; cvt.u64.u32 %rd5, %r6; mul.lo.u64 %rd5, %rd5, {factor};
st.{space}.u{bits} [{address}{store}+{shift}], %rd5;
bar.warp.sync -1;
{after}
ret;
}}",
        load = if address == "%r" { 4 } else { 2 },
        store = if address == "%r" { 5 } else { 3 },
        loaded = 2 * AREA,
        factor = value(0),
    )
}

#[test]
fn lanes_in_a_pattern_access_what_each_alone_would() {
    let initial: Vec<u64> = (0..2 * AREA as u64 / 8)
        .map(|at| value(at as usize) ^ at)
        .collect();
    let bytes: Vec<u8> = initial.iter().flat_map(|word| word.to_le_bytes()).collect();
    for pattern in Pattern::all().chain(Pattern::broken()) {
        let mut expected = bytes.clone();
        for lane in 0..32 {
            let at = AREA + pattern.offset(lane);
            expected[at..at + pattern.size]
                .copy_from_slice(&value(lane).to_le_bytes()[..pattern.size]);
        }
        for lane in 0..32 {
            let mut loaded = [0; 8];
            let at = pattern.offset(lane);
            loaded[..pattern.size].copy_from_slice(&bytes[at..at + pattern.size]);
            expected.extend(loaded);
        }
        for (shared, address) in [(false, "%rd"), (true, "%rd"), (true, "%r")] {
            let text = kernel(pattern, shared, address);
            let (words, _) = launch(&text, shape(1, 32, 0), &initial, expected.len() / 8)
                .unwrap_or_else(|fault| panic!("{pattern:?}: {fault}"));
            let found: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(
                found == expected,
                "{pattern:?}, shared: {shared}, addresses in {address}"
            );
        }
    }
}
