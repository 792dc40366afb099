//! ptoxide's own matrix product, as ptoxide's package ships it, on ptoxide and on ptx_emulator (one
//! worker).

use criterion::{Criterion, criterion_group, criterion_main};
use ptx_emulator::{Emulator, LaunchConfig, Limits, Module};

const SIZE: usize = 128;
const TILE: u32 = 16;

/// The text of `kernels/gemm.ptx` in the package that cargo built the peer from.
fn gemm() -> String {
    let metadata = cargo_metadata::MetadataCommand::new()
        .exec()
        .expect("cargo knows this package");
    let is_peer = |package: &&cargo_metadata::Package| package.name.as_str() == "ptoxide";
    let package = metadata.packages.iter().find(is_peer);
    let manifest = &package.expect("it is a dependency").manifest_path;
    let path = manifest.with_file_name("kernels").join("gemm.ptx");
    std::fs::read_to_string(path).expect("the package holds its kernels")
}

/// Small integers: sums of their products are exact in any order.
fn matrix(seed: usize) -> Vec<f32> {
    let value = |index: usize| ((index * 7 + seed) % 13) as f32 - 6.0;
    (0..SIZE * SIZE).map(value).collect()
}

fn product(a: &[f32], b: &[f32]) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..SIZE).map(|l| a[i * SIZE + l] * b[l * SIZE + j]).sum();
    (0..SIZE * SIZE)
        .map(|at| element(at / SIZE, at % SIZE))
        .collect()
}

fn bench(criterion: &mut Criterion) {
    let text = gemm();
    let (a, b) = (matrix(1), matrix(5));
    let expected = product(&a, &b);
    let tiles = SIZE as u32 / TILE;
    let mut group = criterion.benchmark_group(format!("gemm {SIZE}"));

    let emulator = Emulator::new(Limits {
        workers: Some(1),
        ..Limits::default()
    });
    let module = Module::parse(&text).expect("it parses");
    let kernel = module.entries().next().expect("it has a kernel");
    let kernel = kernel.name().to_owned();
    let loaded = emulator.load(&module).expect("it loads");
    let upload = |values: &[f32]| {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let address = emulator.alloc(bytes.len() as u64).expect("memory is there");
        emulator.write(address, &bytes).expect("it fits");
        address.to_le_bytes()
    };
    let result = upload(&vec![f32::NAN; SIZE * SIZE]);
    let (left, right, size) = (upload(&a), upload(&b), (SIZE as u64).to_le_bytes());
    let config = LaunchConfig {
        grid: [tiles, tiles, 1],
        block: [TILE, TILE, 1],
        dynamic_shared_bytes: 0,
    };
    let args: [&[u8]; 6] = [&left, &right, &result, &size, &size, &size];
    let launch = || {
        emulator
            .launch(&loaded, &kernel, config, &args)
            .expect("it runs")
    };
    group.bench_function("ptx_emulator", |bencher| bencher.iter(launch));
    let mut bytes = vec![0; 4 * SIZE * SIZE];
    emulator
        .read(u64::from_le_bytes(result), &mut bytes)
        .expect("it can be read");
    let ours: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect();
    assert!(ours == expected, "a wrong product");

    let mut context = ptoxide::Context::new_with_module(&text).expect("it compiles");
    let [left, right, result] = [0; 3].map(|_| context.alloc(SIZE * SIZE));
    context.write(left, &a);
    context.write(right, &b);
    let shape = ptoxide::LaunchParams::func_id(0)
        .grid2d(tiles, tiles)
        .block2d(TILE, TILE);
    use ptoxide::Argument::{self, U64};
    let pointers = [left, right, result].map(Argument::ptr).into_iter();
    let sizes = (0..3).map(|_| U64(SIZE as u64));
    let args: Vec<Argument<'_>> = pointers.chain(sizes).collect();
    group.bench_function("ptoxide", |bencher| {
        bencher.iter(|| context.run(shape.clone(), &args).expect("it runs"));
    });
    let mut theirs = vec![0.0_f32; SIZE * SIZE];
    context.read(result, &mut theirs);
    assert!(theirs == expected, "a wrong product");
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = bench
}
criterion_main!(benches);
