//! Every sound kernel, launched by its plain parameters, fills its output and touches nothing beside it: on a GPU nobody else would
//! notice a write into the same allocation.

use blockwise::device::{Arguments, Device, DeviceBuffer, Element, LaunchPlan};
use blockwise_tests::data::{Draw, vector};
use blockwise_tests::devices::devices;

/// Elements before and behind the output that must keep their poison.
const MARGIN: usize = 64;

/// A launch by numbers.
struct Launch {
    kernel: String,
    grid: [u32; 2],
    block: [u32; 2],
    dynamic_shared_bytes: u32,
}

impl Launch {
    fn new<T: Element>(kernel: &str, grid: [u32; 2], block: [u32; 2]) -> Self {
        Launch {
            kernel: format!("{kernel}_{}", T::NAME),
            grid,
            block,
            dynamic_shared_bytes: 0,
        }
    }

    fn shared<T>(self, slots: usize) -> Self {
        Launch {
            dynamic_shared_bytes: (slots * size_of::<T>()) as u32,
            ..self
        }
    }

    /// Launches with slices of these lengths, the output, and these values.
    #[track_caller]
    fn check<T: Element + Draw>(
        self,
        device: &Device,
        inputs: &[usize],
        outputs: usize,
        values: &[usize],
    ) {
        let inputs: Vec<_> = (50..)
            .zip(inputs)
            .map(|(seed, &len)| {
                let values = vector::<T>(seed, len).to_vec();
                DeviceBuffer::from_slice(device, &values).expect("memory")
            })
            .collect();
        let mut buffer = DeviceBuffer::<T>::alloc(device, outputs + 2 * MARGIN).expect("memory");
        buffer.poison().expect("a fill");
        let output = buffer.address() + (MARGIN * size_of::<T>()) as u64;
        let arguments = inputs.iter().fold(Arguments::new(), Arguments::slice);
        let arguments = values.iter().fold(arguments.value(output), |all, &value| {
            all.value(value as u64)
        });
        let plan = LaunchPlan {
            kernel: self.kernel,
            grid: [self.grid[0], self.grid[1], 1],
            block: [self.block[0], self.block[1], 1],
            dynamic_shared_bytes: self.dynamic_shared_bytes,
        };
        let kernels = device.kernels().expect("kernels are loaded");
        // SAFETY: each caller gives the kernel's own parameters, and buffers of the sizes that they state.
        unsafe { kernels.launch(&plan, &arguments) }.unwrap_or_else(|error| panic!("{error}"));
        device
            .synchronize()
            .unwrap_or_else(|error| panic!("{error}"));

        let name = &device.properties().name;
        for (index, element) in buffer.copy_to_vec().expect("a copy").iter().enumerate() {
            let poisoned = bytemuck::bytes_of(element).iter().all(|&byte| byte == 0xFF);
            let inside = (MARGIN..MARGIN + outputs).contains(&index);
            let problem = match (inside, poisoned) {
                (true, true) => "was not written",
                (false, false) => "lies outside the output and was written",
                _ => continue,
            };
            let at = index as i64 - MARGIN as i64;
            panic!("{name}, {plan:?}: element {at} of {outputs} {problem}");
        }
    }
}

fn convolutions<T: Element + Draw>(device: &Device) {
    for (n, m, outputs, offset) in [(300, 7, 306, 0), (300, 7, 300, 3), (300, 7, 294, 6)] {
        for kernel in ["conv1d_tiled", "conv1d_direct"] {
            Launch::new::<T>(kernel, [2, 1], [96, 1])
                .shared::<T>(96 + m - 1)
                .check::<T>(device, &[n, m], outputs, &[outputs, offset]);
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
                device,
                &[n, m],
                outputs,
                &[outputs, offset],
            );
        }
    }
}

fn reductions<T: Element + Draw>(device: &Device) {
    for (operation, operands) in [("dot", 2), ("sum", 1), ("min", 1), ("max", 1)] {
        // Four blocks, of which the last has no element at all in its first share.
        let inputs = &[280, 280][..operands];
        for kernel in ["interleaved", "tree"] {
            Launch::new::<T>(&format!("{operation}_{kernel}"), [4, 1], [96, 1])
                .shared::<T>(96)
                .check::<T>(device, inputs, 4, &[]);
        }
        // `single` needs an element more, and leaves it poisoned.
        for kernel in ["shuffle", "wide", "single"] {
            Launch::new::<T>(&format!("{operation}_{kernel}"), [4, 1], [96, 1]).check::<T>(
                device,
                inputs,
                4,
                &[],
            );
        }
    }
}

fn matrix_products<T: Element + Draw>(device: &Device) {
    for grid in [[1, 1], [3, 3], [5, 4]] {
        for kernel in ["matmul_naive", "matmul_tiled"] {
            Launch::new::<T>(kernel, grid, [16, 16]).check::<T>(
                device,
                &[37 * 20, 20 * 45],
                37 * 45,
                &[37, 20, 45],
            );
        }
        Launch::new::<T>("matmul_register_tile", grid, [16, 16]).check::<T>(
            device,
            &[37 * 20, 20 * 45],
            37 * 45,
            &[37, 20, 45],
        );
    }
}

fn movements<T: Element + Draw>(device: &Device) {
    for grid in [[1, 1], [2, 3], [4, 4]] {
        for kernel in ["transpose_naive", "transpose_tiled", "transpose_padded"] {
            Launch::new::<T>(kernel, grid, [32, 8]).check::<T>(
                device,
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
                device,
                &[rows * cols],
                rows * cols,
                &[rows, cols],
            );
        }
    }
    Launch::new::<T>("reverse_static", [2, 1], [256, 1]).check::<T>(device, &[1000], 1000, &[]);
    Launch::new::<T>("reverse_dynamic", [2, 1], [90, 1])
        .shared::<T>(90)
        .check::<T>(device, &[1000], 1000, &[]);
}

#[test]
fn small_outputs_are_written_whole_and_nothing_else() {
    for device in devices() {
        Launch::new::<f64>("conv1d_block_per_output", [6, 1], [9, 1])
            .shared::<f64>(9)
            .check::<f64>(device, &[40, 9], 48, &[]);
        convolutions::<f32>(device);
        convolutions::<f64>(device);
        reductions::<i64>(device);
        reductions::<f32>(device);
        reductions::<f64>(device);
        matrix_products::<f32>(device);
        matrix_products::<f64>(device);
        movements::<u32>(device);
        movements::<u64>(device);
    }
}
