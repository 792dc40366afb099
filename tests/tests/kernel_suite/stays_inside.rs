//! Every sound kernel, launched by its plain parameters, fills its output and touches nothing beside it: on a GPU nobody else would
//! notice a write into the same allocation.

use blockwise_ops::Element;
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, POISON};
use blockwise_tests::data::{Draw, vector};
use blockwise_tests::devices::devices;
use cuda_std::launch::Shape;

/// Elements before and behind the output that must keep their poison.
const MARGIN: usize = 64;

/// A launch by numbers.
struct Launch {
    kernel: String,
    shape: Shape,
    ticket: bool,
}

impl Launch {
    fn new<T: Element>(kernel: &str, grid: [u32; 2], block: [u32; 2]) -> Self {
        Launch {
            kernel: format!("{kernel}_{}", T::NAME),
            shape: Shape::new((grid[0], grid[1]), (block[0], block[1])),
            ticket: false,
        }
    }

    fn shared<T>(self, slots: usize) -> Self {
        let shape = self.shape.shared((slots * size_of::<T>()) as u32);
        Launch { shape, ..self }
    }

    /// With a ticket behind the output: a word that is 0 before and after.
    fn ticket(self) -> Self {
        Launch {
            ticket: true,
            ..self
        }
    }

    /// Launches with slices of these lengths, the output, and these values.
    #[track_caller]
    fn check<T: Element + Draw>(
        self,
        bench: &Bench,
        inputs: &[usize],
        outputs: usize,
        values: &[usize],
    ) {
        let inputs: Vec<_> = (50..)
            .zip(inputs)
            .map(|(seed, &len)| {
                let values = vector::<T>(seed, len).to_vec();
                bench.device.upload(&values).expect("memory")
            })
            .collect();
        let mut buffer = bench.poisoned::<T>(outputs + 2 * MARGIN);
        let mut ticket = bench.device.upload(&[0_u32]).expect("memory");
        let output = buffer.view(MARGIN..).address().address;
        let arguments = inputs.iter().fold(Arguments::new(), Arguments::slice);
        let mut arguments = arguments.writes(&mut buffer).value(output);
        if self.ticket {
            arguments = arguments.pointer(&mut ticket);
        }
        let arguments = values
            .iter()
            .fold(arguments, |all, &value| all.value(value as u64));
        let Launch { kernel, shape, .. } = &self;
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

fn convolutions<T: Element + Draw>(bench: &Bench) {
    for (n, m, outputs, offset) in [(300, 7, 306, 0), (300, 7, 300, 3), (300, 7, 294, 6)] {
        for kernel in ["conv1d_tiled", "conv1d_direct"] {
            Launch::new::<T>(kernel, [2, 1], [96, 1])
                .shared::<T>(96 + m - 1)
                .check::<T>(bench, &[n, m], outputs, &[outputs, offset]);
        }
    }
    // Whole tiles with ends on both sides.
    for (n, m, outputs, offset) in [
        (6000, 40, 6039, 0),
        (6000, 41, 6000, 20),
        (6000, 7, 5994, 6),
    ] {
        for kernel in ["conv1d_window", "conv1d_blocked"] {
            Launch::new::<T>(kernel, [2, 1], [128, 1]).check::<T>(
                bench,
                &[n, m],
                outputs,
                &[outputs, offset],
            );
        }
    }
}

fn reductions<T: Element + Draw>(bench: &Bench) {
    for (operation, operands) in [("dot", 2), ("sum", 1), ("min", 1), ("max", 1)] {
        // Four blocks, of which the last has no element at all in its first share.
        let inputs = &[280, 280][..operands];
        for kernel in ["interleaved", "tree"] {
            Launch::new::<T>(&format!("{operation}_{kernel}"), [4, 1], [96, 1])
                .shared::<T>(96)
                .check::<T>(bench, inputs, 4, &[]);
        }
        for kernel in ["shuffle", "wide", "single", "single8"] {
            let launch = Launch::new::<T>(&format!("{operation}_{kernel}"), [4, 1], [96, 1]);
            let launch = match kernel.starts_with("single") {
                true => launch.ticket(),
                false => launch,
            };
            launch.check::<T>(bench, inputs, 4, &[]);
        }
    }
}

fn matrix_products<T: Element + Draw>(bench: &Bench) {
    for grid in [[1, 1], [3, 3], [5, 4]] {
        for kernel in ["matmul_naive", "matmul_tiled"] {
            Launch::new::<T>(kernel, grid, [16, 16]).check::<T>(
                bench,
                &[37 * 20, 20 * 45],
                37 * 45,
                &[37, 20, 45],
            );
        }
        Launch::new::<T>("matmul_register_tile", grid, [16, 16]).check::<T>(
            bench,
            &[37 * 20, 20 * 45],
            37 * 45,
            &[37, 20, 45],
        );
    }
}

fn movements<T: Element + Draw>(bench: &Bench) {
    for grid in [[1, 1], [2, 3], [4, 4]] {
        for kernel in ["transpose_naive", "transpose_tiled", "transpose_padded"] {
            Launch::new::<T>(kernel, grid, [32, 8]).check::<T>(
                bench,
                &[70 * 45],
                70 * 45,
                &[70, 45],
            );
        }
    }
    for grid in [[1, 1], [2, 2], [4, 1]] {
        // Tiles at each edge, and one inside.
        for [rows, cols] in [[70, 45], [203, 150]] {
            Launch::new::<T>("transpose_aligned", grid, [512, 1]).check::<T>(
                bench,
                &[rows * cols],
                rows * cols,
                &[rows, cols],
            );
        }
    }
    Launch::new::<T>("reverse_static", [2, 1], [256, 1]).check::<T>(bench, &[1000], 1000, &[]);
    Launch::new::<T>("reverse_dynamic", [2, 1], [90, 1])
        .shared::<T>(90)
        .check::<T>(bench, &[1000], 1000, &[]);
}

#[test]
fn small_outputs_are_written_whole_and_nothing_else() {
    for device in devices() {
        let bench = &Bench::of("kernels", device.clone());
        Launch::new::<f64>("conv1d_block_per_output", [6, 1], [9, 1])
            .shared::<f64>(9)
            .check::<f64>(bench, &[40, 9], 48, &[]);
        convolutions::<f32>(bench);
        convolutions::<f64>(bench);
        reductions::<i64>(bench);
        reductions::<f32>(bench);
        reductions::<f64>(bench);
        matrix_products::<f32>(bench);
        matrix_products::<f64>(bench);
        movements::<u32>(bench);
        movements::<u64>(bench);
    }
}
