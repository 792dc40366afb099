//! Lane instructions a second: bare on one worker and on all, and with all detectors.
//!
//! `kernels.ptx` holds kernels as rustc and LLVM make them: a tiled product of matrices with two
//! barriers a tile, reductions by a tree in shared memory and by shuffles, convolutions with and
//! without shared memory.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_emulator::{CheckOptions, Emulator, LaunchConfig, Limits, LoadedModule, Module};

/// A launch that can be made again and again.
struct Launch {
    emulator: Emulator,
    module: LoadedModule,
    kernel: &'static str,
    config: LaunchConfig,
    args: Vec<[u8; 8]>,
}

impl Launch {
    fn new(
        workers: Option<usize>,
        kernel: &'static str,
        grid: [u32; 2],
        block: [u32; 2],
        shared: u32,
    ) -> Self {
        let emulator = Emulator::new(Limits {
            workers,
            ..Limits::default()
        });
        let module = Module::parse(include_str!("kernels.ptx")).expect("the kernels parse");
        Self {
            module: emulator.load(&module).expect("the kernels load"),
            emulator,
            kernel,
            config: LaunchConfig {
                grid: [grid[0], grid[1], 1],
                block: [block[0], block[1], 1],
                dynamic_shared_bytes: shared,
            },
            args: Vec::new(),
        }
    }

    /// A buffer of floats between -1 and 1.
    fn buffer(mut self, len: u32) -> Self {
        let bytes: Vec<u8> = (0..len)
            .map(|index| index.wrapping_mul(2_654_435_761) as i32 as f32 * 2.0_f32.powi(-31))
            .flat_map(f32::to_le_bytes)
            .collect();
        let size = bytes.len() as u64;
        let address = self.emulator.alloc(size).expect("memory is there");
        self.emulator.write(address, &bytes).expect("it fits");
        self.args.push(address.to_le_bytes());
        self
    }

    fn value(mut self, value: u64) -> Self {
        self.args.push(value.to_le_bytes());
        self
    }

    fn slice(self, len: u32) -> Self {
        self.buffer(len).value(len.into())
    }

    /// Lane instructions.
    fn run(&self) -> u64 {
        let args: Vec<&[u8]> = self.args.iter().map(<[u8; 8]>::as_slice).collect();
        self.emulator
            .launch(&self.module, self.kernel, self.config, &args)
            .expect("the kernel runs")
            .lane_instructions
    }

    fn check(&self) {
        let args: Vec<&[u8]> = self.args.iter().map(<[u8; 8]>::as_slice).collect();
        let options = CheckOptions::default();
        let report = self
            .emulator
            .check(&self.module, self.kernel, self.config, &args, &options)
            .expect("the kernel runs");
        assert!(report.is_clean(), "{:?}", report.findings);
    }
}

/// 256 × 256 times 256 × 256.
fn matmul(workers: Option<usize>) -> Launch {
    const SIZE: u32 = 256;
    let launch = Launch::new(workers, "matmul_tiled_f32", [SIZE / 16; 2], [16; 2], 0);
    let launch = launch.slice(SIZE * SIZE).slice(SIZE * SIZE);
    let launch = launch.buffer(SIZE * SIZE);
    (0..3).fold(launch, |launch, _| launch.value(SIZE.into()))
}

/// Mode same with 31 taps: a tile of a block's samples and their halo in shared memory, or none.
fn conv1d(workers: Option<usize>, kernel: &'static str) -> Launch {
    const SAMPLES: u32 = 1 << 18;
    const TAPS: u32 = 31;
    let shared = 4 * (256 + TAPS - 1);
    Launch::new(workers, kernel, [SAMPLES / 256, 1], [256, 1], shared)
        .slice(SAMPLES)
        .slice(TAPS)
        .buffer(SAMPLES)
        .value(SAMPLES.into())
        .value(u64::from(TAPS / 2))
}

/// One partial result a block; `operands` inputs.
fn reduce(workers: Option<usize>, kernel: &'static str, operands: u32) -> Launch {
    const LEN: u32 = 1 << 20;
    const BLOCKS: u32 = 256;
    let launch = Launch::new(workers, kernel, [BLOCKS, 1], [256, 1], 4 * 256);
    let launch = (0..operands).fold(launch, |launch, _| launch.slice(LEN));
    // Partial results of f32 are f64.
    launch.buffer(2 * BLOCKS)
}

fn kernels(criterion: &mut Criterion) {
    type Case = (&'static str, fn(Option<usize>) -> Launch);
    let cases: [Case; 6] = [
        ("matmul_tiled_f32", matmul),
        ("conv1d_tiled_f32", |workers| {
            conv1d(workers, "conv1d_tiled_f32")
        }),
        ("conv1d_direct_f32", |workers| {
            conv1d(workers, "conv1d_direct_f32")
        }),
        ("sum_tree_f32", |workers| reduce(workers, "sum_tree_f32", 1)),
        ("sum_shuffle_f32", |workers| {
            reduce(workers, "sum_shuffle_f32", 1)
        }),
        ("dot_shuffle_f32", |workers| {
            reduce(workers, "dot_shuffle_f32", 2)
        }),
    ];
    for (name, make) in cases {
        let mut group = criterion.benchmark_group(name);
        let alone = make(Some(1));
        group.throughput(Throughput::Elements(alone.run()));
        group.bench_function("one worker", |bencher| bencher.iter(|| alone.run()));
        group.bench_function("all detectors", |bencher| bencher.iter(|| alone.check()));
        let together = make(None);
        group.bench_function("all workers", |bencher| bencher.iter(|| together.run()));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = kernels
}
criterion_main!(benches);
