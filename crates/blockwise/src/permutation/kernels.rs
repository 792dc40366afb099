//! The PTX of the kernels that compute fingerprints.
//!
//! `fingerprint`: each thread multiplies the factors r − x of its numbers, each block the products
//! of its threads. `combine`: one block multiplies the products of all blocks.
//!
//! In repeated lines, `#` is a coordinate, `#+` the next one, and `$` its place in bytes.

use super::field::DEGREE;

/// Threads of a block, at most.
pub(super) const THREADS: usize = 512;

pub(super) fn ptx() -> String {
    let fours = |numbers: &str| {
        let number = |i: usize| clamp(&format!("%{numbers}{i}")) + &step();
        String::from_iter((0..4).map(number))
    };
    let (even, odd) = (fours("n"), fours("m"));
    let consecutive = [step(), step(), step(), step()].join("\n    add.u32 %x, %x, 1;");
    let (clamp, product, tree) = (clamp("%n0"), product(), tree());
    let begin = format!(
        "    sub.u32 %b{last}, %a{last}, %x;\n    mov.u32 %b{before}, 1;",
        last = DEGREE - 1,
        before = DEGREE - 2,
    );
    format!(
        "
.version 6.0
.target sm_50
.address_size 64

// Row y = 0 of the grid: `len` numbers, less `base`; those that are then `most` or more count as
// `most`. Row y = 1: `fresh` numbers, from `first` on. A thread takes four numbers at a time, and
// loads the next four before it multiplies. At most one of those after the last four is its own: it
// begins with that one.
.visible .entry fingerprint(
    .param .u64 p_numbers,
    .param .u64 p_len,
    .param .u32 p_base,
    .param .u32 p_most,
    .param .u64 p_fresh,
    .param .u32 p_first,
    .param .align 4 .b8 p_point[{point_bytes}],
    .param .u64 p_products
)
{{
{registers}
    ld.param.u64 %products, [p_products];
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %blocks, %nctaid.x;
    mad.lo.u32 %quad, %block, %threads, %thread;
    mul.lo.u32 %step, %blocks, %threads;
    mov.u32 %x, %ctaid.y;
    mad.lo.u32 %block, %x, %blocks, %block;
    setp.ne.u32 %p, %x, 0;
    @%p bra EXPECTED;

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
{clamp}
{begin}
GIVEN:
    setp.ge.u32 %p, %quad, %quads;
    @%p bra TREE;
    mul.wide.u32 %wide, %quad, 16;
    add.u64 %at, %at, %wide;
    mul.wide.u32 %wide, %step, 16;
    ld.global.v4.u32 {{%n0, %n1, %n2, %n3}}, [%at];
GIVENS:
    add.u64 %at, %at, %wide;
    add.u32 %quad, %quad, %step;
    setp.lt.u32 %p, %quad, %quads;
    @%p ld.global.v4.u32 {{%m0, %m1, %m2, %m3}}, [%at];
{even}
    @!%p bra TREE;
    add.u64 %at, %at, %wide;
    add.u32 %quad, %quad, %step;
    setp.lt.u32 %p, %quad, %quads;
    @%p ld.global.v4.u32 {{%n0, %n1, %n2, %n3}}, [%at];
{odd}
    @%p bra GIVENS;
    bra TREE;

EXPECTED:
    ld.param.u64 %len, [p_fresh];
    ld.param.u32 %first, [p_first];
    shr.u64 %wide, %len, 2;
    cvt.u32.u64 %quads, %wide;
    cvt.u32.u64 %x, %len;
    and.b32 %base, %x, 3;
    setp.ge.u32 %p, %quad, %base;
    @%p bra EXPECT;
    sub.u32 %x, %x, %base;
    add.u32 %x, %x, %quad;
    add.u32 %x, %x, %first;
{begin}
EXPECT:
    setp.ge.u32 %p, %quad, %quads;
    @%p bra TREE;
    mad.lo.u32 %x, %quad, 4, %first;
    mul.lo.u32 %base, %step, 4;
    sub.u32 %base, %base, 3;
EXPECTEDS:
{consecutive}
    add.u32 %x, %x, %base;
    add.u32 %quad, %quad, %step;
    setp.lt.u32 %p, %quad, %quads;
    @%p bra EXPECTEDS;
TREE:
{tree}
}}

// Block x: `count` products from the x-th `count` on; the results follow the last of all.
.visible .entry combine(
    .param .u64 p_products,
    .param .u32 p_count,
    .param .align 4 .b8 p_point[{point_bytes}]
)
{{
{registers}
    ld.param.u64 %products, [p_products];
    ld.param.u32 %blocks, [p_count];
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mul.lo.u32 %first, %block, %blocks;
    mov.u32 %x, %nctaid.x;
    mad.lo.u32 %block, %x, %blocks, %block;
    mov.u32 %x, %thread;
MORE:
    setp.ge.u32 %p, %x, %blocks;
    @%p bra TREE;
    add.u32 %half, %first, %x;
    mul.wide.u32 %at, %half, {point_bytes};
    add.u64 %at, %products, %at;
{load}
{product}
    add.u32 %x, %x, %threads;
    bra MORE;
TREE:
{tree}
}}
",
        point_bytes = 4 * DEGREE,
        registers = registers(),
        load = rows("ld.global.u32 %c#, [%at+$];"),
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

/// Declares the registers, and sets the product to 1.
fn registers() -> String {
    let begin = rows(
        "
    ld.param.u32 %a#, [p_point+$];
    mov.u32 %b#, 0;
    and.b32 %z#, %a#, %thread;
    shr.u32 %z#, %z#, 31;",
    );
    let last = DEGREE - 1;
    format!(
        "
    .reg .pred %p;
    .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %f<4>, %h<4>, %l<4>, %m<4>, %n<4>, %z<4>;
    .reg .b32 %base, %most, %first, %thread, %threads, %block, %blocks, %half, %low, %high, %x;
    .reg .b32 %quad, %quads, %step;
    .reg .b64 %v<4>, %w<4>, %len, %products, %wide, %at;
    .shared .align 4 .b32 shared[{}];
    mov.u32 %thread, %tid.x;
{begin}
    mov.u32 %b{last}, 1;",
        DEGREE * THREADS
    )
}

/// %x becomes what a number counts as.
pub(super) fn clamp(number: &str) -> String {
    format!(
        "
    sub.u32 %x, {number}, %base;
    min.u32 %x, %x, %most;"
    )
}

/// %b becomes (r − %x) %b.
///
/// Here, coordinates are below 2³² − 1, but not reduced further: factors are below 2³⁰, so sums are
/// below 2⁶². Of such a sum, the upper and the lower 31 bits have a sum below 2³² − 1.
///
/// %z is the upper word of the addend. It is zero, but ptxas must not see that: it would make three
/// instructions (a product and two additions) of what is one. Nor may it see that all threads have
/// the same: it would set the word anew, from a uniform register, before each product.
pub(super) fn step() -> String {
    let multiply = "
    sub.u32 %f#, %a#, %x;
    mad.lo.cc.u32 %l#, %f#, %b#, %b#+;
    madc.hi.u32 %h#, %f#, %b#, %z#;";
    // In this order ptxas needs no moves between registers.
    let multiply = String::from_iter((0..DEGREE).rev().map(|i| row(i, multiply)));
    let reduce = rows(
        "
    shf.l.wrap.b32 %high, %l#, %h#, 1;
    and.b32 %low, %l#, 0x7fffffff;
    add.u32 %b#, %low, %high;",
    );
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

/// Stores the product of all threads' %b at product %block. The number of threads is a power of
/// two.
fn tree() -> String {
    let reduce = rows(
        "
    sub.u32 %low, %b#, 0x7fffffff;
    min.u32 %b#, %b#, %low;",
    );
    let write = rows("\n    st.shared.u32 [%x+$], %b#;");
    let read = rows("\n    ld.shared.u32 %c#, [%low+$];");
    let store = rows("\n    st.global.u32 [%at+$], %b#;");
    let (product, bytes) = (product(), 4 * DEGREE);
    format!(
        "
    mov.u32 %x, shared;
    mad.lo.u32 %x, %thread, {bytes}, %x;
    mov.u32 %half, %threads;
{reduce}
{write}
HALVES:
    bar.sync 0;
    shr.u32 %half, %half, 1;
    setp.eq.u32 %p, %half, 0;
    @%p bra WHOLE;
    setp.ge.u32 %p, %thread, %half;
    @%p bra HALVES;
    mad.lo.u32 %low, %half, {bytes}, %x;
{read}
{product}
{write}
    bra HALVES;
WHOLE:
    setp.ne.u32 %p, %thread, 0;
    @%p bra END;
    mul.wide.u32 %at, %block, {bytes};
    add.u64 %at, %products, %at;
{store}
END:
    ret;"
    )
}
