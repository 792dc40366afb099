//! The tiled 256³ product of matrices of floats: lane instructions a second, on one worker and on all.
//!
//! `matmul_tiled.ptx` is what rustc and LLVM make of a 16 × 16 kernel with two barriers a tile.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module, Statistics};

const SIZE: u64 = 256;

/// A device with both factors in its memory.
struct Product {
    emulator: Emulator,
    module: ptx_emulator::LoadedModule,
    buffers: [u64; 3],
}

impl Product {
    fn new(workers: Option<usize>) -> Self {
        let emulator = Emulator::new(Limits {
            workers,
            ..Limits::default()
        });
        let module = Module::parse(include_str!("matmul_tiled.ptx")).expect("the kernel parses");
        let module = emulator.load(&module).expect("the kernel loads");
        let buffers = [1_u32, 2, 3].map(|seed| {
            let address = emulator.alloc(SIZE * SIZE * 4).expect("memory is there");
            let value = |index: u32| {
                (index.wrapping_mul(2_654_435_761) ^ seed) as i32 as f32 * 2.0_f32.powi(-31)
            };
            let bytes: Vec<u8> = (0..(SIZE * SIZE) as u32)
                .flat_map(|index| value(index).to_le_bytes())
                .collect();
            emulator.write(address, &bytes).expect("the matrix fits");
            address
        });
        Self {
            emulator,
            module,
            buffers,
        }
    }

    fn run(&self) -> Statistics {
        let tiles = (SIZE / 16) as u32;
        let config = LaunchConfig {
            grid: [tiles, tiles, 1],
            block: [16, 16, 1],
            dynamic_shared_bytes: 0,
        };
        let [a, b, c] = self.buffers.map(u64::to_le_bytes);
        let (elements, size) = ((SIZE * SIZE).to_le_bytes(), SIZE.to_le_bytes());
        let args: [&[u8]; 8] = [&a, &elements, &b, &elements, &c, &size, &size, &size];
        self.emulator
            .launch(&self.module, "matmul_tiled_f32", config, &args)
            .expect("the kernel runs")
    }
}

fn matmul(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("matmul_tiled_f32 256");
    for (name, workers) in [("one worker", Some(1)), ("all workers", None)] {
        let product = Product::new(workers);
        let statistics = product.run();
        println!(
            "{} million lane instructions",
            statistics.lane_instructions / 1_000_000
        );
        group.throughput(Throughput::Elements(statistics.lane_instructions));
        group.bench_function(name, |bencher| bencher.iter(|| product.run()));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = matmul
}
criterion_main!(benches);
