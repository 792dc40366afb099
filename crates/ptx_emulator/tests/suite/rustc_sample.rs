//! PTX as rustc and LLVM write it: calls, a jump table, indirect calls, local arrays, a panic.

use ptx_emulator::{
    Emulator, FaultKind, LaunchConfig, LaunchError, Limits, LoadedModule, Module, SourceLocation,
};

const PTX: &str = include_str!("rustc_sample.ptx");

struct Bench {
    emulator: Emulator,
    module: LoadedModule,
}

impl Bench {
    fn new() -> Self {
        let emulator = Emulator::new(Limits::default());
        let module = Module::parse(PTX).expect("the sample parses");
        let module = emulator.load(&module).expect("the sample loads");
        Self { emulator, module }
    }

    fn buffer<const N: usize, T>(&self, values: &[T], bytes: fn(&T) -> [u8; N]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(bytes).collect();
        let address = self
            .emulator
            .alloc(bytes.len() as u64)
            .expect("memory is there");
        self.emulator
            .write(address, &bytes)
            .expect("the values fit");
        address
    }

    fn read<const N: usize, T>(
        &self,
        address: u64,
        count: usize,
        value: fn([u8; N]) -> T,
    ) -> Vec<T> {
        let mut bytes = vec![0; N * count];
        self.emulator
            .read(address, &mut bytes)
            .expect("the buffer can be read");
        bytes
            .chunks_exact(N)
            .map(|chunk| value(chunk.try_into().expect("N bytes")))
            .collect()
    }

    fn launch(&self, kernel: &str, threads: [u32; 2], args: &[&[u8]]) -> Result<(), LaunchError> {
        let [grid, block] = threads;
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
        };
        self.emulator
            .launch(&self.module, kernel, config, args)
            .map(drop)
    }
}

#[test]
fn saxpy_leaves_the_rest_alone() {
    let bench = Bench::new();
    let x: Vec<f32> = (0..100).map(|i| i as f32 * 0.37 - 5.0).collect();
    let y: Vec<f32> = (0..100).map(|i| 3.0 - i as f32).collect();
    let (dx, dy) = (
        bench.buffer(&x, |v| v.to_le_bytes()),
        bench.buffer(&y, |v| v.to_le_bytes()),
    );
    let args: [&[u8]; 4] = [
        &2.5_f32.to_le_bytes(),
        &dx.to_le_bytes(),
        &dy.to_le_bytes(),
        &90_u64.to_le_bytes(),
    ];
    bench.launch("saxpy", [4, 32], &args).expect("saxpy runs");
    let expected: Vec<f32> = (0..100)
        .map(|i| {
            if i < 90 {
                2.5_f32.mul_add(x[i], y[i])
            } else {
                y[i]
            }
        })
        .collect();
    assert_eq!(bench.read(dy, 100, f32::from_le_bytes), expected);
}

#[test]
fn a_called_function_diverges_and_returns() {
    let bench = Bench::new();
    let out = bench.buffer(&[0_u32; 200], |v| v.to_le_bytes());
    bench
        .launch(
            "coll",
            [2, 128],
            &[&out.to_le_bytes(), &200_u64.to_le_bytes()],
        )
        .expect("coll runs");
    let steps = |mut n: u64| {
        let mut count = 0;
        while n != 1 {
            n = if n.is_multiple_of(2) {
                n / 2
            } else {
                3 * n + 1
            };
            count += 1;
        }
        count
    };
    let expected: Vec<u32> = (1..=200).map(steps).collect();
    assert_eq!(bench.read(out, 200, u32::from_le_bytes), expected);
}

#[test]
fn a_jump_table_reaches_every_target() {
    let bench = Bench::new();
    let values: Vec<i32> = (0..64).map(|i| i % 9).collect();
    let (out, input) = (
        bench.buffer(&[0_i64; 64], |v| v.to_le_bytes()),
        bench.buffer(&values, |v| v.to_le_bytes()),
    );
    bench
        .launch("sw", [1, 64], &[&out.to_le_bytes(), &input.to_le_bytes()])
        .expect("sw runs");
    let expected: Vec<i64> = (values.iter())
        .map(|&x| match x {
            0 | 3 => 0,
            1 => 8,
            2 => 21,
            4 => 40_000_000_000,
            5 => 9,
            6 => 29,
            _ => i64::from(x.count_ones()),
        })
        .collect();
    assert_eq!(bench.read(out, 64, i64::from_le_bytes), expected);
}

#[test]
fn lanes_call_different_functions() {
    let bench = Bench::new();
    let which: Vec<u32> = (0..64).map(|i| (i * 7) % 3).collect();
    let (out, input) = (
        bench.buffer(&[0_f64; 64], |v| v.to_le_bytes()),
        bench.buffer(&which, |v| v.to_le_bytes()),
    );
    bench
        .launch("ind", [1, 64], &[&out.to_le_bytes(), &input.to_le_bytes()])
        .expect("ind runs");
    let functions: [fn(f64) -> f64; 3] = [|x| x + 1.0, |x| x.mul_add(x, -0.5), |x| 1.0 / x];
    let expected: Vec<f64> = (0..64)
        .map(|i| functions[which[i] as usize](i as f64))
        .collect();
    assert_eq!(bench.read(out, 64, f64::from_le_bytes), expected);
}

#[test]
fn a_panic_is_an_assertion_with_its_place() {
    let bench = Bench::new();
    let which = [0_u32, 1, 2, 3];
    let (out, input) = (
        bench.buffer(&[0_f64; 4], |v| v.to_le_bytes()),
        bench.buffer(&which, |v| v.to_le_bytes()),
    );
    let error = bench.launch("ind", [1, 4], &[&out.to_le_bytes(), &input.to_le_bytes()]);
    let Err(LaunchError::Fault(fault)) = error else {
        panic!("expected a fault")
    };
    let (message, file, function) = ("boom".to_owned(), "f.rs".to_owned(), "fun".to_owned());
    assert_eq!(
        fault.kind,
        FaultKind::Assert {
            message,
            file,
            line: 7,
            function
        }
    );
    assert_eq!((fault.kernel.as_str(), fault.thread), ("ind", [3, 0, 0]));
}

#[test]
fn a_fault_names_the_users_line() {
    let bench = Bench::new();
    let x = bench.buffer(&[0_f32; 40], |v| v.to_le_bytes());
    let args: [&[u8]; 4] = [
        &1_f32.to_le_bytes(),
        &x.to_le_bytes(),
        &x.to_le_bytes(),
        &64_u64.to_le_bytes(),
    ];
    let Err(LaunchError::Fault(fault)) = bench.launch("saxpy", [1, 64], &args) else {
        panic!("expected a fault")
    };
    assert!(
        matches!(fault.kind, FaultKind::OutOfBounds { address, .. } if address == x + 160),
        "{fault}"
    );
    let expected = SourceLocation {
        file: "src/lib.rs".to_owned(),
        line: 9,
        column: 27,
    };
    assert_eq!(
        (fault.source.clone(), fault.thread),
        (Some(expected), [40, 0, 0])
    );
    assert!(
        fault
            .to_string()
            .contains("0 bytes after the end of the nearest allocation of 160 bytes"),
        "{fault}"
    );
}

#[test]
fn entries_say_what_they_take() {
    let module = Module::parse(PTX).expect("the sample parses");
    let names: Vec<&str> = module.entries().map(|entry| entry.name()).collect();
    assert_eq!(names, ["coll", "idx", "ind", "saxpy", "sw"]);
    let sizes: Vec<u32> = module
        .entry("saxpy")
        .expect("it is there")
        .params()
        .iter()
        .map(|param| param.size)
        .collect();
    assert_eq!(sizes, [4, 8, 8, 8]);
    assert_eq!((module.target(), module.ptx_version()), ("sm_80", (7, 0)));
    let location = module
        .entry("saxpy")
        .and_then(|entry| entry.location())
        .map(|location| location.line);
    assert_eq!(location, Some(7));
}
