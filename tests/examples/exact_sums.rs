//! Sums and dot products of random arrays against exact ones: how many are correctly rounded, and
//! the worst, by the condition; and whether ranks, chunks, kernels and devices give the same bits.
//!
//! `cargo run --release -p blockwise_tests --example exact_sums -- --device gpu`

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;

use blockwise::{Device, DeviceChoice};
use blockwise_ops::oracle::Precision;
use blockwise_ops::reduce::{DOT, SUM, kernel, plan};
use blockwise_ops::{LaunchError, Number, Options, Reduction, dot, reduce};
use blockwise_tests::sums::{
    CHOSEN, Failure, Kind, Meshes, PROMISED, Sample, exact, model, of_the_bound, units_off,
};
use clap::Parser;
use ndarray::ArrayView1;
use rayon::prelude::*;

/// Compare sums with exact ones.
///
/// Exit codes: 0 every promise is kept, 1 one is not, 2 the device failed.
#[derive(Parser)]
struct Arguments {
    /// `gpu`, `emulator`, or `model`: the kernels' arithmetic in their order on the host
    #[arg(long, default_value = "model")]
    device: String,
    /// Arrays, half of them of f32 and half of f64; of each a sum and a dot product
    #[arg(long, default_value_t = 10_000)]
    arrays: u64,
    /// The longest array
    #[arg(long, default_value_t = 10_000_000)]
    largest: usize,
    /// Arrays for all ranks, chunks and kernels, on the device, and on the emulator up to 20,000
    /// elements
    #[arg(long, default_value_t = 300)]
    cross: u64,
    /// The first array's seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The longest array for the emulator.
const EMULATED: usize = 20_000;

/// The upper ends of the table's rows.
const CONDITIONS: [f64; 6] = [2.0, 16.0, 256.0, 4096.0, PROMISED, f64::INFINITY];

#[derive(Clone, Copy, Default)]
struct Row {
    arrays: u64,
    right: u64,
    worst: u64,
    /// The largest error in parts of the bound.
    bound: f64,
}

impl Row {
    fn add(&mut self, other: Row) {
        self.arrays += other.arrays;
        self.right += other.right;
        self.worst = self.worst.max(other.worst);
        self.bound = self.bound.max(other.bound);
    }
}

/// Type, operation, kind of array, and row of the condition.
type Key = (&'static str, &'static str, Kind, usize);

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let device = match &*arguments.device {
        "model" => None,
        name => Some(Device::open(name.parse::<DeviceChoice>()?)?),
    };
    let rows = Mutex::new(BTreeMap::<Key, Row>::new());
    let seeds = arguments.seed..arguments.seed + arguments.arrays;
    seeds.into_par_iter().try_for_each(|seed| {
        let sample = Sample::new(seed, arguments.largest);
        for is_dot in [false, true] {
            let (key, row) = match seed % 2 {
                0 => judge::<f32>(device.as_ref(), &sample, is_dot)?,
                _ => judge::<f64>(device.as_ref(), &sample, is_dot)?,
            };
            if let Ok(mut rows) = rows.lock() {
                rows.entry(key).or_default().add(row);
            }
        }
        Ok::<_, LaunchError>(())
    })?;
    let rows = rows.into_inner()?;
    println!(
        "| type | operation | condition up to | arrays | correctly rounded | worst, units | of the bound |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut kept = table(&rows, |(ty, operation, _, condition)| {
        (ty, operation, condition)
    });
    for kind in Kind::ALL {
        let of_kind: BTreeMap<Key, Row> = (rows.iter())
            .filter(|((_, _, of, condition), _)| *of == kind && CONDITIONS[*condition] <= PROMISED)
            .map(|(&key, &row)| (key, row))
            .collect();
        println!("\n{kind:?}, conditions up to 2^16");
        kept &= table(&of_kind, |(ty, operation, ..)| {
            (ty, operation, CONDITIONS.len() - 2)
        });
    }
    let differ = cross(arguments, device.as_ref())?;
    Ok(kept && differ == 0)
}

/// Prints rows that are alike as one; false where a promise is broken.
fn table(
    rows: &BTreeMap<Key, Row>,
    group: impl Fn(Key) -> (&'static str, &'static str, usize),
) -> bool {
    let mut grouped = BTreeMap::<_, Row>::new();
    for (&key, &row) in rows {
        grouped.entry(group(key)).or_default().add(row);
    }
    let mut kept = true;
    for ((ty, operation, condition), row) in grouped {
        let condition = CONDITIONS[condition];
        println!(
            "| {ty} | {operation} | {condition} | {} | {:.4} % | {} | {:.3} |",
            row.arrays,
            100.0 * row.right as f64 / row.arrays as f64,
            row.worst,
            row.bound
        );
        let promised = condition <= PROMISED;
        // One of a few arrays is more than one in a thousand.
        kept &= row.bound <= 1.0
            && (!promised || row.worst <= 1 && row.arrays - row.right <= 1 + row.arrays / 1000);
    }
    kept
}

fn judge<T: Number + Precision>(
    device: Option<&Device>,
    sample: &Sample,
    is_dot: bool,
) -> Result<(Key, Row), LaunchError> {
    let [a, b] = sample.operands::<T>(is_dot);
    let options = Options::default();
    let (a_view, b_view) = (ArrayView1::from(&a[..]), ArrayView1::from(&b[..]));
    let result = match (device, is_dot) {
        (Some(device), true) => dot(device, a_view, b_view, &options)?,
        (Some(device), false) => reduce(device, a_view, Reduction::Sum, &options)?,
        (None, _) => {
            let properties = Device::emulator().properties().clone();
            let of = if is_dot { &DOT } else { &SUM };
            let plan = plan::<T>(of, a.len(), &options, &properties)?;
            let kernel = kernel::<T>(of, a.len(), &options, &properties)?;
            model::total(kernel, &plan, &a, is_dot.then_some(&b[..])).round()
        }
    };
    let exact = exact(&a, &b);
    let condition = exact.condition();
    let row = CONDITIONS.iter().position(|&end| condition <= end);
    let operation = if is_dot { "dot" } else { "sum" };
    let off = units_off(result, &exact);
    let key = (
        T::NAME,
        operation,
        sample.kind,
        row.unwrap_or(CONDITIONS.len() - 1),
    );
    let row = Row {
        arrays: 1,
        right: u64::from(off == 0),
        worst: off,
        bound: of_the_bound(result, &exact),
    };
    Ok((key, row))
}

/// Every number of ranks, chunk, kernel and device; counts the arrays with more than one result.
fn cross(arguments: &Arguments, device: Option<&Device>) -> Result<usize, Failure> {
    // Each worker has ranks of its own.
    let meshes = || {
        let emulated = Meshes::of(None)?;
        let on_device = device.map(|device| Meshes::of(Some(device))).transpose()?;
        Ok::<_, Failure>((emulated, on_device))
    };
    let seeds = (0..arguments.cross).into_par_iter();
    let judged = seeds.map_init(meshes, |meshes, seed| {
        let (emulated, on_device) = meshes.as_ref().map_err(|error| error.to_string())?;
        let largest = match seed % 3 {
            0 if device.is_some() => arguments.largest,
            _ => arguments.largest.min(EMULATED),
        };
        let sample = Sample::new(1_000_000 + arguments.seed + seed, largest);
        let emulated = (sample.len <= EMULATED).then_some(emulated);
        let meshes: Vec<_> = emulated.into_iter().chain(on_device).collect();
        let is_dot = seed % 4 >= 2;
        let (small, alike) = match seed % 2 {
            0 => crossed::<f32>(&meshes, &sample, is_dot)?,
            _ => crossed::<f64>(&meshes, &sample, is_dot)?,
        };
        if small && !alike {
            println!("more than one result: {sample:?}, dot {is_dot}");
        }
        Ok::<_, Failure>([
            1,
            usize::from(small),
            usize::from(small && !alike),
            usize::from(alike),
        ])
    });
    let [arrays, promised, differ, alike] =
        judged.try_reduce(|| [0; 4], |a, b| Ok(std::array::from_fn(|i| a[i] + b[i])))?;
    println!(
        "\ncross of {:?} ranks, four chunks and {} kernels: {arrays} arrays, {alike} with one result; {promised} with a condition up to 2^16, {differ} of these with more than one",
        Meshes::RANKS,
        CHOSEN.len() + 1
    );
    Ok(differ)
}

/// Whether sums are promised to be alike, and whether all are.
fn crossed<T: Number + Precision>(
    meshes: &[&Meshes],
    sample: &Sample,
    is_dot: bool,
) -> Result<(bool, bool), Failure> {
    let [a, b] = sample.operands::<T>(is_dot);
    let small = exact(&a, &b).condition() <= PROMISED;
    let operands = if is_dot { vec![a, b] } else { vec![a] };
    let mut results = Vec::new();
    for meshes in meshes {
        results.extend(
            meshes
                .cross(&operands)?
                .into_iter()
                .map(|(_, result)| result),
        );
    }
    Ok((small, results.windows(2).all(|pair| pair[0] == pair[1])))
}
