//! The PTX of the kernels that compute fingerprints.
//!
//! `fingerprint`: each thread multiplies the factors r − x of its numbers, each block the products
//! of its threads. `combine`: one block multiplies the products of all blocks.
//!
//! In repeated lines, `#` is a coordinate, `#+` the next one, and `$` its place in bytes.

use super::field::DEGREE;

/// Threads of a block, at most.
pub(super) const THREADS: usize = 256;

pub(super) fn ptx() -> String {
    let steps = String::from_iter((0..4).map(|i| step(&format!("%n{i}"))));
    let (step, product, tree) = (step("%n0"), product(), tree());
    format!(
        "
.version 6.0
.target sm_50
.address_size 64

// Row y = 0 of the grid: `len` numbers, less `base`; those that are then `most` or more count as
// `most`. Row y = 1: `fresh` numbers, from `first` on.
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
    ld.param.u64 %numbers, [p_numbers];
    ld.param.u64 %len, [p_len];
    ld.param.u32 %base, [p_base];
    ld.param.u32 %most, [p_most];
    ld.param.u64 %products, [p_products];
    mov.u32 %thread, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %blocks, %nctaid.x;
    mul.wide.u32 %at, %block, %threads;
    cvt.u64.u32 %quad, %thread;
    add.u64 %quad, %quad, %at;
    mul.wide.u32 %step, %blocks, %threads;
    mov.u32 %x, %ctaid.y;
    mad.lo.u32 %block, %x, %blocks, %block;
    setp.eq.u32 %given, %x, 0;
    @%given bra GIVEN;
    ld.param.u64 %len, [p_fresh];
    ld.param.u32 %first, [p_first];
    mov.u32 %base, 0;
GIVEN:
    shr.u64 %quads, %len, 2;
    shl.b64 %rest, %quads, 2;
    add.u64 %rest, %rest, %quad;
    setp.ge.u64 %p, %quad, %quads;
    @%p bra REST;
QUADS:
    cvt.u32.u64 %n0, %quad;
    shl.b32 %n0, %n0, 2;
    add.u32 %n0, %n0, %first;
    add.u32 %n1, %n0, 1;
    add.u32 %n2, %n0, 2;
    add.u32 %n3, %n0, 3;
    shl.b64 %at, %quad, 4;
    add.u64 %at, %numbers, %at;
    @%given ld.global.v4.u32 {{%n0, %n1, %n2, %n3}}, [%at];
{steps}
    add.u64 %quad, %quad, %step;
    setp.lt.u64 %p, %quad, %quads;
    @%p bra QUADS;
REST:
    setp.ge.u64 %p, %rest, %len;
    @%p bra TREE;
    cvt.u32.u64 %n0, %rest;
    add.u32 %n0, %n0, %first;
    shl.b64 %at, %rest, 2;
    add.u64 %at, %numbers, %at;
    @%given ld.global.u32 %n0, [%at];
{step}
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
    mov.u32 %thread, %tid.x;
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
    let row = |i: usize| {
        let next = ((i + 1) % DEGREE).to_string();
        let lines = lines.replace('$', &(4 * i).to_string());
        lines.replace("#+", &next).replace('#', &i.to_string())
    };
    String::from_iter((0..DEGREE).map(row))
}

/// Declares the registers, and sets the product to 1.
fn registers() -> String {
    let begin = rows("ld.param.u32 %a#, [p_point+$]; mov.u32 %b#, 0; shr.u32 %z#, %a#, 31;\n");
    format!(
        "
    .reg .pred %p, %given;
    .reg .b32 %a<5>, %b<5>, %c<5>, %d<5>, %f<5>, %h<5>, %l<5>, %n<4>, %z<5>;
    .reg .b32 %base, %most, %first, %thread, %threads, %block, %blocks, %half, %low, %high, %x;
    .reg .b64 %v<5>, %w<5>, %numbers, %len, %products, %quad, %quads, %rest, %step, %at;
    .shared .align 4 .b32 shared[{}];
{begin}
    mov.u32 %b4, 1;
    mov.u32 %first, 0;",
        DEGREE * THREADS
    )
}

/// %b becomes (r − number) %b.
///
/// Here, coordinates are below 2³² − 1, but not reduced further: factors are below 2³⁰, so sums are
/// below 2⁶². Of such a sum, the upper and the lower 31 bits have a sum below 2³² − 1.
///
/// %z is the upper word of the addend. It is zero, but ptxas must not see that: it would make three
/// instructions (a product and two additions) of what is one.
pub(super) fn step(number: &str) -> String {
    let begin = format!(
        "
    sub.u32 %x, {number}, %base;
    min.u32 %x, %x, %most;"
    );
    let multiply = rows(
        "
    sub.u32 %f#, %a#, %x;
    mad.lo.cc.u32 %l#, %f#, %b#, %b#+;
    madc.hi.u32 %h#, %f#, %b#, %z#;",
    );
    let reduce = rows(
        "
    shf.l.wrap.b32 %high, %l#, %h#, 1;
    and.b32 %low, %l#, 0x7fffffff;
    add.u32 %b#, %low, %high;",
    );
    begin + &multiply + &reduce
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
    let product = product();
    format!(
        "
    mov.u32 %x, shared;
    mad.lo.u32 %x, %thread, 20, %x;
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
    mad.lo.u32 %low, %half, 20, %x;
{read}
{product}
{write}
    bra HALVES;
WHOLE:
    setp.ne.u32 %p, %thread, 0;
    @%p bra END;
    mul.wide.u32 %at, %block, 20;
    add.u64 %at, %products, %at;
{store}
END:
    ret;"
    )
}
