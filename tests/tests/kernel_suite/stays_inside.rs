//! Every sound kernel, launched by its plain parameters, fills its output and touches nothing
//! beside it: nothing else would notice a write into the same allocation on a GPU.

use blockwise_ops::Element;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, POISON};
use blockwise_tests::data::{Draw, vector};
use blockwise_tests::devices::devices;
use cuda_std::launch::{Plain, Shape};

use Parameter::{Matrix, Out, OutMatrix, Output, Shared, Slice, Ticket, Value};

/// Elements before and after the output that must keep their poison.
const MARGIN: usize = 64;

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Parameter {
    /// `Shared<[T]>`: elements of the dynamic shared memory.
    Shared(usize),
    /// `&[T]`: the elements.
    Slice(usize),
    /// `Matrix<T>`: rows and columns.
    Matrix(usize, usize),
    /// `*mut T`: the output.
    Output,
    /// `Out<T>`: the output, of this many elements.
    Out(usize),
    /// `OutMatrix<T>`: the output, of these rows and columns.
    OutMatrix(usize, usize),
    /// `Atomics<u32>`: a word that is 0 before and after.
    Ticket,
    /// A number.
    Value(usize),
}

/// A launch by numbers.
struct Launch {
    kernel: String,
    shape: Shape,
}

impl Launch {
    fn new<T: Element>(kernel: &str, grid: [u32; 2], block: [u32; 2]) -> Self {
        Launch {
            kernel: format!("{kernel}_{}", T::NAME),
            shape: Shape::new((grid[0], grid[1]), (block[0], block[1])),
        }
    }

    /// With room for this many elements of dynamic shared memory.
    fn shared<T>(self, slots: usize) -> Self {
        let shape = self.shape.shared((slots * size_of::<T>()) as u32);
        Launch { shape, ..self }
    }

    /// Launches with these parameters and an output of `outputs` elements.
    #[track_caller]
    fn check<T: Element + Draw>(self, bench: &Bench, parameters: &[Parameter], outputs: usize) {
        self.check_into::<T, T>(bench, parameters, outputs);
    }

    /// The same with outputs of another type.
    #[track_caller]
    fn check_into<T: Element + Draw, O: Plain + bytemuck::NoUninit>(
        self,
        bench: &Bench,
        parameters: &[Parameter],
        outputs: usize,
    ) {
        let elements = |parameter: &Parameter| match *parameter {
            Slice(len) => Some(len),
            Matrix(rows, cols) => Some(rows * cols),
            _ => None,
        };
        let lengths = parameters.iter().filter_map(elements);
        let inputs: Vec<_> = (50..)
            .zip(lengths)
            .map(|(seed, len)| {
                let values = vector::<T>(seed, len).to_vec();
                bench.device.upload(&values).expect("memory")
            })
            .collect();
        let mut buffer = bench.poisoned::<O>(outputs + 2 * MARGIN);
        let mut ticket = bench.device.upload(&[0_u32]).expect("memory");
        let (output, word) = (
            buffer.view(MARGIN..).address().address,
            ticket.address().address,
        );
        let arguments = Arguments::new().writes(&mut buffer).writes(&mut ticket);
        let mut inputs = inputs.iter();
        let mut input = || inputs.next().expect("an input for each slice and matrix");
        let arguments = parameters
            .iter()
            .fold(arguments, |all, &parameter| match parameter {
                Shared(len) | Value(len) => add(all, &[len]),
                Slice(_) => all.slice(input()),
                Matrix(rows, cols) => add(all.address(input()), &[rows, cols]),
                Output => all.value(output),
                Out(len) => add(all.value(output), &[len]),
                OutMatrix(rows, cols) => add(all.value(output), &[rows, cols]),
                Ticket => add(all.value(word), &[1]),
            });
        let Launch { kernel, shape } = &self;
        bench
            .launch(kernel, *shape, &arguments)
            .unwrap_or_else(|error| panic!("{error}"));

        let name = &bench.device.properties().name;
        assert_eq!(ticket.to_vec().expect("a copy"), [0], "{name}, {kernel}");
        for (index, element) in buffer.to_vec().expect("a copy").iter().enumerate() {
            let poisoned = bytemuck::bytes_of(element)
                .iter()
                .all(|&byte| byte == POISON);
            let inside = (MARGIN..MARGIN + outputs).contains(&index);
            let problem = match (inside, poisoned) {
                (true, true) => "was not written",
                (false, false) => "lies outside the output and was written",
                _ => continue,
            };
            let at = index as i64 - MARGIN as i64;
            panic!("{name}, {kernel}, {shape:?}: element {at} of {outputs} {problem}");
        }
    }
}

fn add<'a>(arguments: Arguments<'a>, values: &[usize]) -> Arguments<'a> {
    let add = |all: Arguments<'a>, &value: &usize| all.value(value as u64);
    values.iter().fold(arguments, add)
}

fn convolutions<T: Element + Draw>(bench: &Bench) {
    for (n, m, outputs, offset) in [(300, 7, 306, 0), (300, 7, 300, 3), (300, 7, 294, 6)] {
        let slots = 96 + m - 1;
        let plain = [Slice(n), Slice(m), Out(outputs), Value(offset)];
        let with_tile = [&[Shared(slots)], &plain[..]].concat();
        for (kernel, parameters) in [
            ("conv1d_tiled", &with_tile[..]),
            ("conv1d_tiled_raw", &plain),
            ("conv1d_direct", &plain),
        ] {
            Launch::new::<T>(kernel, [2, 1], [96, 1])
                .shared::<T>(slots)
                .check::<T>(bench, parameters, outputs);
        }
    }
    // Whole tiles with ends on both sides.
    for (n, m, outputs, offset) in [
        (6000, 40, 6039, 0),
        (6000, 41, 6000, 20),
        (6000, 7, 5994, 6),
    ] {
        let parameters = [Slice(n), Slice(m), Out(outputs), Value(offset)];
        for kernel in ["conv1d_window", "conv1d_blocked"] {
            let launch = Launch::new::<T>(kernel, [2, 1], [128, 1]);
            launch.check::<T>(bench, &parameters, outputs);
        }
    }
}

const REDUCTIONS: &[&str] = &["wide", "single"];

/// The documents' kernels, which have no doubles.
const TREES: &[&str] = &["interleaved", "tree", "tree_raw"];

fn reductions<T: Element + Draw>(bench: &Bench, kernels: &[&str]) {
    for (operation, operands) in [("dot", 2), ("sum", 1), ("extreme", 1)] {
        // Four blocks, of which the last has no element at all in its first share.
        let inputs = &[Slice(280), Slice(280)][..operands];
        if kernels == TREES && T::NAME == "i64" && operation != "dot" {
            continue;
        }
        for &kernel in kernels {
            let launch = Launch::new::<T>(&format!("{operation}_{kernel}"), [4, 1], [96, 1]);
            let (launch, slots) = match kernel {
                "interleaved" | "tree" => (launch.shared::<T>(96), &[Shared(96)][..]),
                "tree_raw" => (launch.shared::<T>(96), &[][..]),
                _ => (launch, &[][..]),
            };
            let output = match kernel {
                "tree_raw" => &[Output][..],
                "single" | "single8" => &[Out(4), Ticket],
                _ => &[Out(4)],
            };
            let flip = match operation {
                "dot" => &[][..],
                _ => &[Value(0)],
            };
            let parameters = [slots, inputs, output, flip].concat();
            // Blocks hand on sums in the type that they add in: as many bytes.
            match T::NAME {
                "f32" => launch.check_into::<T, u64>(bench, &parameters, 4),
                "f64" => launch.check_into::<T, u128>(bench, &parameters, 4),
                _ => launch.check::<T>(bench, &parameters, 4),
            }
        }
    }
}

fn matrix_products<T: Element + Draw>(bench: &Bench) {
    let (rows, inner, cols) = (37, 20, 45);
    let plain = [
        Slice(rows * inner),
        Slice(inner * cols),
        Output,
        Value(rows),
        Value(inner),
        Value(cols),
    ];
    let matrices = [
        Matrix(rows, inner),
        Matrix(inner, cols),
        OutMatrix(rows, cols),
    ];
    for grid in [[1, 1], [3, 3], [5, 4]] {
        for (kernel, parameters) in [
            ("matmul_naive", &matrices[..]),
            ("matmul_tiled", &matrices),
            ("matmul_tiled_raw", &plain),
            ("matmul_register_tile", &matrices),
        ] {
            if T::NAME == "f64" && kernel == "matmul_tiled_raw" {
                continue;
            }
            let launch = Launch::new::<T>(kernel, grid, [16, 16]);
            launch.check::<T>(bench, parameters, rows * cols);
        }
    }
}

fn movements<T: Element + Draw>(bench: &Bench) {
    let plain = |rows: usize, cols: usize| [Slice(rows * cols), Output, Value(rows), Value(cols)];
    for grid in [[1, 1], [2, 3], [4, 4]] {
        let (rows, cols) = (70, 45);
        let matrices = [Matrix(rows, cols), OutMatrix(rows, cols)];
        for (kernel, parameters) in [
            ("transpose_naive", &matrices[..]),
            ("transpose_tiled", &matrices),
            ("transpose_padded", &matrices),
            ("transpose_padded_raw", &plain(rows, cols)),
        ] {
            if T::NAME == "u64" && kernel == "transpose_padded_raw" {
                continue;
            }
            let launch = Launch::new::<T>(kernel, grid, [32, 8]);
            launch.check::<T>(bench, parameters, rows * cols);
        }
    }
    for grid in [[1, 1], [2, 2], [4, 1]] {
        // Tiles at each edge, and one inside.
        for (rows, cols) in [(70, 45), (203, 150)] {
            let launch = Launch::new::<T>("transpose_aligned", grid, [512, 1]);
            let [input, _, rows_of, cols_of] = plain(rows, cols);
            let parameters = [input, Out(rows * cols), rows_of, cols_of];
            launch.check::<T>(bench, &parameters, rows * cols);
        }
        for kernel in [
            "transpose_thin",
            "transpose_quads",
            "transpose_thin_quads",
            "transpose_packs",
        ] {
            for (rows, cols) in [(20, 700), (700, 20), (140, 152)] {
                let launch = Launch::new::<T>(kernel, grid, [256, 1]);
                let [input, _, rows_of, cols_of] = plain(rows, cols);
                let parameters = [input, Out(rows * cols), rows_of, cols_of];
                launch.check::<T>(bench, &parameters, rows * cols);
            }
        }
    }
    for (kernel, threads, parameters) in [
        ("reverse_static", 256, &[Slice(1000), Out(1000)][..]),
        ("reverse_static_raw", 256, &[Slice(1000), Output]),
        ("reverse_dynamic", 90, &[Shared(90), Slice(1000), Out(1000)]),
        ("reverse_dynamic_raw", 90, &[Slice(1000), Output]),
        ("reverse_direct", 90, &[Slice(1000), Out(1000)]),
    ] {
        if T::NAME == "u64" && kernel != "reverse_direct" {
            continue;
        }
        Launch::new::<T>(kernel, [2, 1], [threads, 1])
            .shared::<T>(90)
            .check::<T>(bench, parameters, 1000);
    }
}

#[test]
fn small_outputs_are_written_whole_and_nothing_else() {
    for device in devices() {
        let bench = &Bench::of("kernels", device.clone());
        let ladder = &Bench::of("ladder", device.clone());
        for (kernel, parameters) in [
            (
                "conv1d_block_per_output",
                &[Shared(9), Slice(40), Slice(9), OutMatrix(1, 48)][..],
            ),
            (
                "conv1d_block_per_output_raw",
                &[Slice(40), Slice(9), Output],
            ),
        ] {
            Launch::new::<f64>(kernel, [6, 1], [9, 1])
                .shared::<f64>(9)
                .check::<f64>(bench, parameters, 48);
        }
        convolutions::<f32>(bench);
        convolutions::<f64>(bench);
        for (bench, kernels) in [
            (bench, REDUCTIONS),
            (bench, TREES),
            (ladder, &["shuffle", "single8"]),
        ] {
            reductions::<i64>(bench, kernels);
            reductions::<f32>(bench, kernels);
            if kernels != TREES {
                reductions::<f64>(bench, kernels);
            }
        }
        matrix_products::<f32>(bench);
        matrix_products::<f64>(bench);
        movements::<u32>(bench);
        movements::<u64>(bench);
    }
}

/// Where one extent is 0, the other one may be too large to count through.
#[test]
fn matrices_without_elements_end_at_once() {
    for device in devices() {
        let bench = &Bench::of("kernels", device.clone());
        let ladder = &Bench::of("ladder", device.clone());
        for extents in [[usize::MAX, 0], [0, usize::MAX]] {
            let [rows, cols] = extents.map(Value);
            for (bench, kernel, threads) in [
                (bench, "transpose_aligned", 512),
                (ladder, "transpose_aligned_narrow", 256),
                (bench, "transpose_thin", 256),
                (bench, "transpose_quads", 256),
                (bench, "transpose_thin_quads", 256),
                (bench, "transpose_packs", 256),
            ] {
                let launch = Launch::new::<u32>(kernel, [1, 1], [threads, 1]);
                launch.check::<u32>(bench, &[Slice(0), Out(0), rows, cols], 0);
            }
            let operands = [Slice(0), Slice(0), Out(0), Out(0)];
            let extents = [rows, cols, Value(0)];
            let pitch = Launch::new::<f32>("matmul_pitch", [1, 1], [256, 1]);
            pitch.check::<f32>(bench, &[&operands[..], &extents].concat(), 0);
            let split = Launch::new::<f32>("matmul_split", [1, 1], [256, 1]);
            split.check::<f32>(bench, &[&operands[..], &[Ticket], &extents].concat(), 0);
        }
    }
}
