//! Launches that a kernel's `unsafe` code relies on not happening: each is refused before it starts.
//! The test device only records launches.

#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../crates/cuda_std/tests/support/mod.rs"]
mod support;

use blockwise_ops::kernels::conv1d::fft::shape::{self, factors_len, spectrum_len};
use blockwise_ops::kernels::reduce::Extreme;
use cuda_std::launch::Shape;
use ladder::aligned_narrow::{TILE, transpose_aligned_narrow};
use ladder::fft4096_ungapped::{
    Ungapped4096, conv1d_fft4096_ungapped, conv1d_taps_fft4096_ungapped,
};
use ladder::peak::peak_fma_f32;
use ladder::single8::{dot_single8, fold_single8};
use support::{Buffer, Device, Error};

const ALIGNED: u64 = 1 << 20;

fn memory<T>(len: u64) -> Buffer<T> {
    Buffer::new(ALIGNED, len)
}

fn behind<T>(len: u64) -> Buffer<T> {
    Buffer::new(ALIGNED + size_of::<T>() as u64, len)
}

#[track_caller]
fn starts(result: Result<(), Error>) {
    assert_eq!(result, Ok(()));
}

#[track_caller]
fn refused(result: Result<(), Error>, part: &str) {
    match result {
        Err(Error::Refused(refusal)) => {
            assert!(refusal.rule.contains(part), "{refusal} is not about {part}");
        }
        other => panic!("{other:?}, not refused for {part}"),
    }
}

const GRID: [u32; 3] = [4, 1, 1];

#[test]
fn reductions_have_equal_operands_whole_warps_and_one_ticket() {
    let dot = |lens: [u64; 4], grid, block| {
        let [a, b, partials, tickets] = lens;
        let kernel = dot_single8::<f32>::on(&Device::default())?.shape(Shape::new(grid, block));
        let (mut partials, mut ticket) = (memory(partials), memory(tickets));
        kernel.launch(&memory(a), &memory(b), &mut partials, &mut ticket)
    };
    let fold = |lens: [u64; 4], grid, block| {
        let [a, _, partials, tickets] = lens;
        let kernel = fold_single8::<i64, Extreme>::on(&Device::default())?;
        let kernel = kernel.shape(Shape::new(grid, block));
        let (mut partials, mut ticket) = (memory(partials), memory(tickets));
        kernel.launch(&memory(a), &mut partials, &mut ticket, 0)
    };
    let (good, block) = ([1000, 1000, 4, 1], [96, 1, 1]);
    starts(dot(good, GRID, block));
    starts(fold(good, GRID, block));
    refused(dot([1000, 999, 4, 1], GRID, block), "a.len() == b.len()");
    for start in [&dot as &dyn Fn(_, _, _) -> _, &fold] {
        refused(
            start([1000, 1000, 3, 1], GRID, block),
            "partials.len() >= grid.blocks()",
        );
        for tickets in [0, 2] {
            refused(
                start([1000, 1000, 4, tickets], GRID, block),
                "ticket.len() == 1",
            );
        }
        for (grid, block, rule) in [
            (GRID, [95, 1, 1], "block.x % 32 == 0"),
            (GRID, [1056, 1, 1], "block.x <= 1024"),
            ([2, 2, 1], block, "grid.y"),
            ([2, 1, 2], block, "grid.z"),
            (GRID, [32, 2, 1], "block.y"),
            (GRID, [32, 1, 2], "block.z"),
        ] {
            refused(start(good, grid, block), rule);
        }
    }
}

#[test]
fn a_transpose_has_matrices_of_one_size_and_its_block() {
    let start = |input, output, rows, cols, grid, block| {
        let kernel = transpose_aligned_narrow::<u64>::on(&Device::default())?;
        let kernel = kernel.shape(Shape::new(grid, block));
        kernel.launch(&memory(input), &mut memory(output), rows, cols)
    };
    let (grid, block) = ([3, 2, 1], [TILE.threads, 1, 1]);
    starts(start(6, 6, 2, 3, grid, block));
    refused(start(6, 6, 2, 4, grid, block), "rows.checked_mul(cols)");
    // Their product is 0 in 64 bits.
    refused(start(0, 0, 1 << 32, 1 << 32, grid, block), "checked_mul");
    refused(
        start(6, 5, 2, 3, grid, block),
        "output.len() == input.len()",
    );
    refused(start(6, 6, 2, 3, [1, 1, 2], block), "grid.z");
    for block in [[512, 1, 1], [TILE.threads, 2, 1], [TILE.threads, 1, 2]] {
        refused(start(6, 6, 2, 3, grid, block), "block.x");
    }
}

#[test]
fn a_convolution_has_its_tables_aligned_and_its_shared_memory() {
    let spectrum = spectrum_len::<Ungapped4096>() as u64;
    let factors = factors_len::<Ungapped4096>() as u64;
    let shared = shape::shared_bytes::<Ungapped4096, f32>() as u32;
    let block = [256, 1, 1];
    let convolve = |taps, spectrum, factors, offset, shift, shape| {
        let kernel = conv1d_fft4096_ungapped::<f32>::on(&Device::default())?.shape(shape);
        let mut output = memory(1000);
        let signal = memory(1000);
        kernel.launch(
            &signal,
            &memory(taps),
            &spectrum,
            &factors,
            &mut output,
            offset,
            shift,
        )
    };
    let shape = |block, bytes| Shape::new(GRID, block).shared(bytes);
    let good = || (memory::<f32>(spectrum), memory::<f32>(factors));
    let start = |taps, (spectrum, factors), offset, shift, shape| {
        convolve(taps, spectrum, factors, offset, shift, shape)
    };
    starts(start(9, good(), 4, 28, shape(block, shared)));
    for (taps, tables, offset, shift, shape, rule) in [
        (0, good(), 4, 28, shape(block, shared), "taps"),
        (9, good(), 4, 32, shape(block, shared), "shift < 32"),
        (4096, good(), 4, 28, shape(block, shared), "discarded"),
        (
            9,
            (memory(spectrum - 1), memory(factors)),
            4,
            28,
            shape(block, shared),
            "spectrum.len()",
        ),
        (
            9,
            (memory(spectrum), memory(factors - 1)),
            4,
            28,
            shape(block, shared),
            "factors.len()",
        ),
        (
            9,
            (behind(spectrum), memory(factors)),
            4,
            28,
            shape(block, shared),
            "spectrum.is_aligned_to(16)",
        ),
        (
            9,
            (memory(spectrum), behind(factors)),
            4,
            28,
            shape(block, shared),
            "factors.is_aligned_to(16)",
        ),
        (
            9,
            good(),
            usize::MAX,
            28,
            shape(block, shared),
            "offset.checked_add",
        ),
        (9, good(), 4, 28, shape([128, 1, 1], shared), "block.x"),
        (9, good(), 4, 28, shape(block, shared - 1), "shared_bytes"),
    ] {
        refused(start(taps, tables, offset, shift, shape), rule);
    }
    let taps = |grid, block, bytes| {
        let shape = Shape::new(grid, block).shared(bytes);
        let kernel = conv1d_taps_fft4096_ungapped::<f32>::on(&Device::default())?.shape(shape);
        kernel.launch(&memory(9), &memory(factors), &mut memory(spectrum), 28)
    };
    starts(taps([1; 3], block, shared));
    refused(taps([2, 1, 1], block, shared), "grid.x");
    refused(taps([1; 3], [512, 1, 1], shared), "block.x");
    refused(taps([1; 3], block, shared - 1), "shared_bytes");
}

#[test]
fn the_measure_has_an_output_for_each_thread() {
    let start = |outputs, grid, block| {
        let kernel = peak_fma_f32::on(&Device::default())?.shape(Shape::new(grid, block));
        kernel.launch(&mut memory(outputs), 1)
    };
    let block = [128, 1, 1];
    starts(start(512, GRID, block));
    refused(start(511, GRID, block), "output.len()");
    refused(start(513, GRID, block), "output.len()");
    refused(start(512, [2, 2, 1], [256, 1, 1]), "grid.y");
    refused(start(512, [4, 1, 1], [128, 2, 1]), "block.y");
}
