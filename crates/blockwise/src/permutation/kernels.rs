//! The PTX of the kernel that computes fingerprints.
//!
//! Each thread multiplies the factors r + x of its numbers, each block the products of its threads,
//! and the last block to finish the products of all blocks.
//!
//! In repeated lines, `#` is a coordinate, `#+` the next one, and `$` its place in bytes.

use super::field::{CHOICE, DEGREE, WINDOW};

/// Threads of a block, at most.
pub(super) const THREADS: usize = 512;
/// The kernels, by the largest number that each can take, and the steps that it makes before it
/// reduces sums.
pub(super) const KERNELS: [(&str, u32, u32); 2] = [
    ("fingerprint", 1 << 26, 8),
    ("fingerprint_of_large", WINDOW, 3),
];
const _: () = {
    let mut i = 0;
    while i < KERNELS.len() {
        let (_, most, steps) = KERNELS[i];
        assert!((CHOICE - 1 + most) * steps < 1 << 30, "`step` relies on it");
        i += 1;
    }
};

/// Words of memory before the products of blocks: a counter of finished blocks for each column of
/// the grid. All are zero before a launch, and after it.
pub(super) fn counters(columns: usize) -> usize {
    columns.next_multiple_of(4)
}

pub(super) fn ptx() -> String {
    let kernels = KERNELS.map(|(name, _, steps)| kernel(name, steps as usize));
    format!(
        "
.version 6.0
.target sm_50
.address_size 64
{}",
        kernels.concat()
    )
}

fn kernel(name: &str, steps: usize) -> String {
    // The numbers of two loads in turn.
    let mut since = 0;
    let mut four = |letter: &str| {
        String::from_iter((0..4).map(|i| {
            let begin = if since == steps {
                begin()
            } else {
                String::new()
            };
            let number = clamp(&format!("%{letter}{i}")) + &step(since % steps);
            since = since % steps + 1;
            begin + &number
        }))
    };
    let (even, odd) = (four("n"), four("m") + &begin());
    let first = clamp("%n0") + &step(0);
    let next = |since: usize| {
        let next = "\n    add.u32 %quad, %quad, %step;\n    shl.b32 %x, %quad, 1;";
        format!("{}{next}", step(since))
    };
    let threes = next(0) + &next(1) + &next(2) + &begin();
    let (next, begin, product) = (next(0), begin(), product());
    let registers = registers();
    let point = rows(
        "
    ld.param.u32 %a#, [p_twice+$];",
    );
    let half = rows("\n    shr.u32 %a#, %a#, 1;");
    let one = rows("\n    mov.u32 %b#, 0;") + &format!("\n    mov.u32 %b{}, 1;", DEGREE - 1);
    let reduce = rows(
        "
    sub.u32 %low, %b#, 0x7fffffff;
    min.u32 %b#, %b#, %low;",
    );
    let all = |letter: &str| {
        let coordinates = Vec::from_iter((0..DEGREE).map(|i| format!("%{letter}{i}")));
        format!("{{{}}}", coordinates.join(", "))
    };
    let (b, c) = (all("b"), all("c"));
    format!(
        "
// In column x of the grid: `len` numbers, less `base`, of which those that are then `most` or more
// count as `most`; and `span` numbers from `first` + x * `span` on. A thread takes four given
// numbers at a time, and loads the next four before it multiplies. At most one of those after the
// last four is its own: it begins with that one.
.visible .entry {name}(
    .param .u64 p_numbers,
    .param .u64 p_len,
    .param .u32 p_base,
    .param .u32 p_most,
    .param .u32 p_first,
    .param .u32 p_span,
    .param .align 4 .b8 p_twice[{bytes}],
    .param .u64 p_memory,
    .param .u64 p_results,
    .param .u64 p_stride
)
{{
{registers}
    .reg .b32 %base, %most, %thread, %threads, %block, %blocks, %column, %half, %quad, %quads, %step;
    .reg .b32 %n<4>, %m<4>;
    .reg .b64 %len, %memory, %results, %products, %wide, %at;
    .reg .pred %folds;
    .shared .align 16 .b32 shared[{shared}];
    .shared .align 4 .b32 last;
{point}
{one}
{begin}
    mov.u32 %thread, %tid.x;
    mov.u32 %column, %ctaid.x;
    mov.u32 %block, %ctaid.y;
    mov.u32 %threads, %ntid.x;
    mov.u32 %blocks, %nctaid.y;
    mad.lo.u32 %quad, %block, %threads, %thread;
    mul.lo.u32 %step, %blocks, %threads;
    ld.param.u64 %memory, [p_memory];
    ld.param.u64 %results, [p_results];
    mov.u32 %x, %nctaid.x;
    add.u32 %half, %x, 3;
    shr.u32 %half, %half, 2;
    mul.wide.u32 %wide, %half, 16;
    add.u64 %products, %memory, %wide;
    setp.ne.u32 %folds, %thread, %thread;

    ld.param.u32 %x, [p_first];
    ld.param.u32 %half, [p_span];
    mad.lo.u32 %x, %column, %half, %x;
    add.u32 %most, %x, %half;
    add.u32 %quad, %quad, %x;
    shl.b32 %x, %quad, 1;
    mul.lo.u32 %half, %step, 2;
    sub.u32 %half, %most, %half;
    max.s32 %half, %half, 0;
THREES:
    setp.ge.u32 %p, %quad, %half;
    @%p bra ONES;
{threes}
    bra THREES;
ONES:
    setp.ge.u32 %p, %quad, %most;
    @%p bra NUMBERS;
{next}
{begin}
    bra ONES;

NUMBERS:
    mad.lo.u32 %quad, %block, %threads, %thread;
    ld.param.u64 %at, [p_numbers];
    ld.param.u64 %len, [p_len];
    ld.param.u32 %base, [p_base];
    ld.param.u32 %most, [p_most];
    shr.u64 %wide, %len, 2;
    cvt.u32.u64 %quads, %wide;
    cvt.u32.u64 %x, %len;
    and.b32 %x, %x, 3;
    setp.ge.u32 %p, %quad, %x;
    @%p bra GIVEN;
    shl.b64 %len, %wide, 4;
    add.u64 %len, %len, %at;
    mul.wide.u32 %wide, %quad, 4;
    add.u64 %len, %len, %wide;
    ld.global.u32 %n0, [%len];
{first}
{begin}
GIVEN:
    setp.ge.u32 %p, %quad, %quads;
    @%p bra PRODUCT;
    mul.wide.u32 %wide, %quad, 16;
    add.u64 %at, %at, %wide;
    ld.param.u64 %wide, [p_stride];
    ld.global.v4.u32 {{%n0, %n1, %n2, %n3}}, [%at];
GIVENS:
    add.u64 %at, %at, %wide;
    add.u32 %quad, %quad, %step;
    setp.lt.u32 %p, %quad, %quads;
    @%p ld.global.v4.u32 {{%m0, %m1, %m2, %m3}}, [%at];
{even}
    @!%p bra PRODUCT;
    add.u64 %at, %at, %wide;
    add.u32 %quad, %quad, %step;
    setp.lt.u32 %p, %quad, %quads;
    @%p ld.global.v4.u32 {{%n0, %n1, %n2, %n3}}, [%at];
{odd}
    @%p bra GIVENS;
PRODUCT:
{half}

// The product of all threads' %b. The number of threads is a power of two.
TREE:
    mov.u32 %x, shared;
    mad.lo.u32 %x, %thread, {bytes}, %x;
    mov.u32 %half, %threads;
{reduce}
    st.shared.v4.u32 [%x], {b};
HALVES:
    // What was written above and below, before it is read by another thread.
    bar.sync 0;
    shr.u32 %half, %half, 1;
    setp.eq.u32 %p, %half, 0;
    @%p bra WHOLE;
    setp.ge.u32 %p, %thread, %half;
    @%p bra HALVES;
    mad.lo.u32 %low, %half, {bytes}, %x;
    ld.shared.v4.u32 {c}, [%low];
{product}
    st.shared.v4.u32 [%x], {b};
    bra HALVES;
WHOLE:
    setp.ne.u32 %p, %thread, 0;
    @%p bra FINISHED;
    mul.wide.u32 %at, %column, {bytes};
    add.u64 %at, %at, %results;
    @%folds bra STORE;
    mad.lo.u32 %x, %column, %blocks, %block;
    mul.wide.u32 %at, %x, {bytes};
    add.u64 %at, %at, %products;
STORE:
    st.global.v4.u32 [%at], {b};
    @%folds bra END;
    // A block's product comes before its count, and the counts of all blocks before the loads of
    // their products below.
    membar.gl;
    mul.wide.u32 %at, %column, 4;
    add.u64 %at, %at, %memory;
    // The last one makes it zero again, for the next launch.
    sub.u32 %low, %blocks, 1;
    atom.global.inc.u32 %x, [%at], %low;
    membar.gl;
    add.u32 %x, %x, 1;
    st.shared.u32 [last], %x;
FINISHED:
    @%folds bra END;
    // The count, before all threads load it; and thread 0's fence, before they load products.
    bar.sync 0;
    ld.shared.u32 %x, [last];
    setp.ne.u32 %p, %x, %blocks;
    @%p bra END;
    setp.eq.u32 %folds, %thread, %thread;
{one}
    mul.lo.u32 %half, %column, %blocks;
    mov.u32 %quad, %thread;
MORE:
    setp.ge.u32 %p, %quad, %blocks;
    @%p bra TREE;
    add.u32 %x, %half, %quad;
    mul.wide.u32 %wide, %x, {bytes};
    add.u64 %wide, %wide, %products;
    ld.global.v4.u32 {c}, [%wide];
{product}
    add.u32 %quad, %quad, %threads;
    bra MORE;
END:
    ret;
}}
",
        shared = DEGREE * THREADS,
        bytes = 4 * DEGREE,
    )
}

/// The lines for each coordinate.
fn rows(lines: &str) -> String {
    String::from_iter((0..DEGREE).map(|i| row(i, lines)))
}

/// The lines for coordinate i.
fn row(i: usize, lines: &str) -> String {
    let next = ((i + 1) % DEGREE).to_string();
    let lines = lines.replace('$', &(4 * i).to_string());
    lines.replace("#+", &next).replace('#', &i.to_string())
}

/// Declares the registers of [`step`] and [`product`].
pub(super) fn registers() -> String {
    "
    .reg .pred %p;
    .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %f<4>, %h<4>, %l<4>;
    .reg .b32 %low, %high, %x;
    .reg .b64 %v<4>, %w<4>;"
        .to_owned()
}

/// %x becomes twice what a number counts as.
pub(super) fn clamp(number: &str) -> String {
    format!(
        "
    sub.u32 %x, {number}, %base;
    min.u32 %x, %x, %most;
    shl.b32 %x, %x, 1;"
    )
}

/// Before the first [`step`], and after as many as the kernel may make: %h# and %l# become twice
/// %b#.
pub(super) fn begin() -> String {
    rows(
        "
    shl.b32 %l#, %b#, 1;
    shr.u32 %h#, %b#, 31;",
    )
}

/// %b becomes (r + %x / 2) %b. %a is twice the point. So many steps were made `since` [`begin`].
///
/// Coordinates are below 2³² − 1. Sums have 64 bits: %h and %l are twice a coordinate, modulo 2p.
/// 2³² is 2 modulo 2p, and %l is even: so the coordinate is %h and half of %l. %h is below 2³¹: the
/// factors of all steps since `begin` have a sum of at most 2³¹ − 2, so the products, and twice a
/// coordinate, have one below 2⁶³.
///
/// A sum is not reduced before it is added to the one of the coordinate before, which takes its
/// place: i steps after `begin`, that of coordinate k is in the registers k + i.
pub(super) fn step(since: usize) -> String {
    // In this order ptxas needs few moves between registers.
    let multiply = String::from_iter((0..DEGREE).rev().map(|k| {
        let sum = (k + 1 + since) % DEGREE;
        format!(
            "
    add.u32 %f{k}, %a{k}, %x;
    mad.lo.cc.u32 %l{sum}, %f{k}, %b{k}, %l{sum};
    madc.hi.u32 %h{sum}, %f{k}, %b{k}, %h{sum};"
        )
    }));
    let reduce = String::from_iter((0..DEGREE).map(|k| {
        let sum = (k + 1 + since) % DEGREE;
        format!(
            "
    shr.u32 %low, %l{sum}, 1;
    add.u32 %b{k}, %low, %h{sum};"
        )
    }));
    multiply + &reduce
}

/// %b becomes the product of %b and %c, by Horner's rule. All coordinates are at most p.
///
/// So sums are at most 2p² + p. Of such a sum, the upper 32 bits less p, if they are as large, are
/// below p. So is their sum with the lower 31 bits, less p if it is as large.
pub(super) fn product() -> String {
    let reduce = rows(
        "
    mov.b64 {%low, %high}, %v#;
    shf.l.wrap.b32 %high, %low, %high, 1;
    and.b32 %low, %low, 0x7fffffff;
    sub.u32 %d#, %high, 0x7fffffff;
    min.u32 %d#, %d#, %high;
    add.u32 %d#, %d#, %low;
    sub.u32 %low, %d#, 0x7fffffff;
    min.u32 %d#, %d#, %low;",
    );
    let mut text = rows("\n    mul.wide.u32 %v#, %c0, %b#;") + &reduce;
    for i in 1..DEGREE {
        let round = rows(
            "
    sub.u32 %f#, %a#, %aI;
    setp.lt.s32 %p, %f#, 0;
    @%p add.u32 %f#, %f#, 0x7fffffff;
    cvt.u64.u32 %w#, %d#+;
    mad.wide.u32 %w#, %f#, %d#, %w#;
    mad.wide.u32 %v#, %cI, %b#, %w#;",
        );
        text += &round.replace('I', &i.to_string());
        text += &reduce;
    }
    text + &rows("\n    mov.u32 %b#, %d#;")
}
