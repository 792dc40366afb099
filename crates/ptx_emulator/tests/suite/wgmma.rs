//! Products by a warp group, against a plain product of matrices that the test lays out itself.

use crate::common::{launch, parse, shape};
use ptx_emulator::Fault;

const ROWS: usize = 64;
const DEPTH: usize = 16;

/// Small integers, all different in their surroundings.
fn a(row: usize, k: usize) -> i32 {
    ((row * 7 + k * 3) % 17) as i32 - 8
}

fn b(k: usize, column: usize) -> i32 {
    ((column * 5 + k * 11) % 13) as i32 - 6
}

fn bf16(value: i32) -> u16 {
    ((value as f32).to_bits() >> 16) as u16
}

/// 16 KiB of shared memory and where each matrix goes: byte of (row of a or column of b, k).
fn image(columns: usize, at: [fn(usize, usize) -> usize; 2]) -> Vec<u64> {
    let mut bytes = vec![0xff; 16384];
    let mut put =
        |at: usize, value: i32| bytes[at..at + 2].copy_from_slice(&bf16(value).to_le_bytes());
    for k in 0..DEPTH {
        (0..ROWS).for_each(|row| put(at[0](row, k), a(row, k)));
        (0..columns).for_each(|column| put(8192 + at[1](column, k), b(k, column)));
    }
    let words = bytes.chunks_exact(8);
    words
        .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
        .collect()
}

/// Leading and stride bytes and the swizzle's number, for both matrices.
fn descriptor(start: u64, (leading, stride, swizzle): (u64, u64, u64)) -> u64 {
    (start >> 4) | ((leading >> 4) << 16) | ((stride >> 4) << 32) | (swizzle << 62)
}

/// Four warps make one product of the image; each thread's registers are contiguous.
fn run(
    columns: usize,
    image: &[u64],
    [left, right]: [u64; 2],
    rest: &str,
) -> Result<Vec<f32>, Box<Fault>> {
    let count = columns / 2;
    let names: Vec<String> = (0..count).map(|at| format!("%f{at}")).collect();
    let stores: String = (0..count)
        .map(|at| format!("st.global.f32 [%l1+{}], %f{at};\n", 16384 + 4 * at))
        .collect();
    let text = format!(
        ".visible .entry k(.param .u64 p) {{ .reg .f32 %f<{count}>; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred %p;
        .shared .align 1024 .b8 s[16384]; ld.param.u64 %l0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %l1, %r0, 128; add.u64 %l2, %l1, %l0;
        mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 128, %r1; mov.u32 %r2, 0;
        fill: ld.global.v2.u64 {{%l3, %l4}}, [%l2]; st.shared.v2.u64 [%r1], {{%l3, %l4}}; add.u64 %l2, %l2, 16; add.u32 %r1, %r1, 16;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 8; @%p bra fill;
        fence.proxy.async; bar.sync 0; mov.u64 %l5, {left}; mov.u64 %l6, {right}; setp.eq.u32 %p, %r0, -1;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 {{{list}}}, %l5, %l6, {rest};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        mul.wide.u32 %l1, %r0, {stride}; add.u64 %l1, %l1, %l0; {stores} ret; }}",
        list = names.join(", "),
        stride = 4 * count,
    );
    let words = 2048 + 128 * count / 2;
    let (found, _) = launch(&text, shape(1, 128, 0), image, words)?;
    let found = found[2048..].iter();
    Ok(found
        .flat_map(|word| [*word as u32, (word >> 32) as u32])
        .map(f32::from_bits)
        .collect())
}

/// Compares with the product: thread `t` holds row `16 (t / 32) + t % 32 / 4`, and the one 8
/// further, of pairs of columns.
#[track_caller]
fn check(columns: usize, found: &[f32], sign: i32) {
    for (thread, found) in found.chunks_exact(columns / 2).enumerate() {
        for (register, &found) in found.iter().enumerate() {
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register / 2 % 2);
            let column = 8 * (register / 4) + 2 * (thread % 4) + register % 2;
            let sum: i32 = (0..DEPTH).map(|k| a(row, k) * b(k, column)).sum();
            assert_eq!(found, (sign * sum) as f32, "row {row}, column {column}");
        }
    }
}

/// Blocks of 8 rows by 16 bytes, one after the other along k, then along the rows.
fn plain(row: usize, k: usize) -> usize {
    row / 8 * 256 + k / 8 * 128 + row % 8 * 16 + k % 8 * 2
}

/// Rows of 128 bytes, whose eighths change places with the row.
fn swizzled(row: usize, k: usize) -> usize {
    row * 128 + ((k / 8) ^ (row % 8)) * 16 + k % 8 * 2
}

/// Columns of a in blocks of 8 by 8, blocks along the rows 128 bytes apart, along k 1024.
fn plain_across(row: usize, k: usize) -> usize {
    row / 8 * 128 + k / 8 * 1024 + k % 8 * 16 + row % 8 * 2
}

/// 64 elements of a column in 128 bytes; the next 64 are 2048 bytes further.
fn swizzled_across(row: usize, k: usize) -> usize {
    row / 64 * 2048 + k * 128 + ((row % 64 / 8) ^ (k % 8)) * 16 + row % 8 * 2
}

#[test]
fn every_layout_gives_the_product() {
    type Layout = (fn(usize, usize) -> usize, (u64, u64, u64), u8);
    let cases: [Layout; 4] = [
        (plain, (128, 256, 0), 0),
        (swizzled, (16, 1024, 1), 0),
        (plain_across, (1024, 128, 0), 1),
        (swizzled_across, (2048, 1024, 1), 1),
    ];
    for (left, of_left, across_left) in cases {
        for (right, of_right, across_right) in cases {
            for columns in [8, 64, 40] {
                let image = image(columns, [left, right]);
                let descriptors = [descriptor(0, of_left), descriptor(8192, of_right)];
                let rest = format!("%p, 1, 1, {across_left}, {across_right}");
                check(
                    columns,
                    &run(columns, &image, descriptors, &rest).expect("it runs"),
                    1,
                );
            }
        }
    }
}

#[test]
fn products_can_be_subtracted() {
    let image = image(16, [plain, plain]);
    let descriptors = [
        descriptor(0, (128, 256, 0)),
        descriptor(8192, (128, 256, 0)),
    ];
    check(
        16,
        &run(16, &image, descriptors, "%p, -1, 1, 0, 0").expect("it runs"),
        -1,
    );
    check(
        16,
        &run(16, &image, descriptors, "!%p, -1, -1, 0, 0").expect("it runs"),
        1,
    );
}

#[test]
fn what_a_descriptor_may_not_say_is_a_fault() {
    let image = image(8, [plain, plain]);
    let good = descriptor(0, (128, 256, 0));
    for (bad, text) in [
        (good | (1 << 49), "base offset"),
        (descriptor(16384 - 128, (128, 256, 0)), "shared"),
    ] {
        let fault = run(8, &image, [bad, good], "%p, 1, 1, 0, 0").expect_err("it is wrong");
        assert!(fault.to_string().contains(text), "{fault}");
    }
}

#[test]
fn other_shapes_and_types_are_refused() {
    for form in [
        "m64n12k16.f32.f16.f16",
        "m64n264k16.f32.f16.f16",
        "m64n8k8.f32.f16.f16",
        "m64n8k16.bf16.bf16.bf16",
        "m64n8k32.f32.e4m3.f16",
        "m64n40k32.s32.s8.s8",
        "m64n8k256.s32.b1.b1.and.popc",
        "m64n8k16.f32.f16.bf16",
    ] {
        let text = format!(
            ".visible .entry k() {{ .reg .b32 %r<4>; .reg .b64 %l; .reg .pred %p;
            wgmma.mma_async.sync.aligned.{form} {{%r0, %r1, %r2, %r3}}, %l, %l, %p, 1, 1, 0, 0; ret; }}"
        );
        let module = parse(&text).expect("PTX");
        let kernel = module.entry("k").expect("the kernel");
        assert!(kernel.unsupported().is_some(), "{form}");
    }
}
