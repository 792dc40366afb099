//! Launches as plain data: a kernel's real plan, its inputs, and a judge of its output. One job
//! runs under the emulator's detectors with whatever PTX it is given, and on a device.

mod axis;
mod broken;
mod conv1d;
mod described;
mod launches;
mod peak;
mod pitched;
mod reduce;
mod refused;
mod replayed;
mod scan;
mod summed;
mod tensor;
mod transforms;

use std::sync::{Arc, OnceLock};

use blockwise::{Device, DeviceProperties, PtxFile};
use blockwise_ops::LaunchPlan;
use blockwise_ops::compare::{self, Comparison, ShapeMismatch, ToNumber};
use blockwise_ops::oracle::{Expected, Precision};
use bytemuck::Pod;
use ndarray::{Array, ArrayView, Dimension};
use ptx_emulator::{CheckOptions, CheckReport, Emulator, LaunchConfig, Limits, Module};

use crate::{Arguments, family, is_wanted, ptx, wanted_families};

/// One launch and what must come out of it.
#[derive(Clone)]
pub struct Job {
    /// What was asked for, such as "33 x 40 x 18, Some(1)".
    pub case: String,
    /// What is launched.
    pub plan: LaunchPlan,
    /// The contents of the input buffers.
    pub inputs: Vec<Vec<u8>>,
    /// Bytes of the output buffer.
    pub output_bytes: usize,
    /// What the output is filled with before the launch; nothing is written to it with `None`. The
    /// launchers' own is 0xFF.
    pub fill: Option<u8>,
    /// What the output begins with before the launch, for kernels that change it in place.
    pub start: Vec<u8>,
    /// The kernel's parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Other orders of the threads in which it runs under the detectors, at least: for code that
    /// blocks reach only where others begin late.
    pub orders: u32,
    judge: Judge,
}

/// Says what is wrong with the bytes of an output.
type Judge = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// A parameter of a kernel; each is 64 bits wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The address of an input, and the bytes from its start.
    Input(usize, u64),
    /// The address this many bytes after the output's start.
    Output(u64),
    /// A number of elements of the last buffer before it, or of its rows or columns.
    Extent(u64),
    /// The elements of the dynamic shared array.
    Shared(u64),
    /// Any other number.
    Value(u64),
}

/// What a job did under the detectors.
pub struct Outcome {
    /// What they found.
    pub report: CheckReport,
    /// What is wrong with the output.
    pub verdict: Result<(), String>,
    /// The output.
    pub output: Vec<u8>,
}

impl Job {
    /// A job whose output has `output_len` elements of `T`.
    pub fn new<T: Pod>(
        case: String,
        plan: LaunchPlan,
        output_len: usize,
        judge: impl Fn(Vec<T>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            case,
            plan,
            inputs: Vec::new(),
            output_bytes: output_len * size_of::<T>(),
            fill: Some(u8::MAX),
            start: Vec::new(),
            parameters: Vec::new(),
            orders: 0,
            judge: Arc::new(move |bytes| judge(bytemuck::pod_collect_to_vec(bytes))),
        }
    }

    /// The same with this many more bytes ahead of each operand.
    #[must_use]
    pub fn later(self, bytes: usize) -> Self {
        let ahead = |own: Vec<u8>| [vec![u8::MAX; bytes], own].concat();
        let (more, judge) = (bytes as u64, self.judge);
        let later = |parameter| match parameter {
            Parameter::Input(input, from) => Parameter::Input(input, from + more),
            Parameter::Output(from) => Parameter::Output(from + more),
            other => other,
        };
        Self {
            case: format!("{}, {bytes} bytes later", self.case),
            inputs: self.inputs.into_iter().map(ahead).collect(),
            output_bytes: self.output_bytes + bytes,
            start: ahead(self.start),
            parameters: self.parameters.into_iter().map(later).collect(),
            judge: Arc::new(move |output| match output.split_at_checked(bytes) {
                Some((ahead, own)) if ahead.iter().all(|&byte| byte == u8::MAX) => judge(own),
                _ => Err("wrote ahead of the output".into()),
            }),
            ..self
        }
    }

    /// Adds a parameter `&[T]`.
    #[must_use]
    pub fn slice<T: Pod>(self, values: &[T]) -> Self {
        self.slice_from(values, 0)
    }

    /// Adds a parameter `&[T]` of what follows the first `skipped` values, so that it begins at
    /// another address.
    #[must_use]
    pub fn slice_from<T: Pod>(mut self, values: &[T], skipped: usize) -> Self {
        let bytes = skipped * size_of::<T>();
        let input = Parameter::Input(self.inputs.len(), bytes as u64);
        self.parameters.push(input);
        self.inputs.push(bytemuck::cast_slice(values).to_vec());
        self.extent(values.len() - skipped)
    }

    /// Adds a parameter `Matrix<T>`.
    #[must_use]
    pub fn matrix<T: Pod>(self, values: &[T], [rows, cols]: [usize; 2]) -> Self {
        self.pointer(values).extent(rows).extent(cols)
    }

    /// Adds a parameter `Shared<[T]>`: all of the launch's dynamic shared memory.
    #[must_use]
    pub fn shared<T>(mut self) -> Self {
        let len = self.plan.dynamic_shared_bytes as usize / size_of::<T>();
        self.parameters.push(Parameter::Shared(len as u64));
        self
    }

    /// Adds a parameter `Out<T>`: the output, of `len` elements.
    #[must_use]
    pub fn out(self, len: usize) -> Self {
        self.out_from(0, len)
    }

    /// Adds a parameter `Out<T>` or `Atomics<T>`: `len` elements of the output from this byte on,
    /// for kernels with several.
    #[must_use]
    pub fn out_from(mut self, byte: usize, len: usize) -> Self {
        self.parameters.push(Parameter::Output(byte as u64));
        self.extent(len)
    }

    /// Adds a parameter `Out<T>`: the output, which holds these values before the launch.
    #[must_use]
    pub fn in_place<T: Pod>(mut self, values: &[T]) -> Self {
        self.start = bytemuck::cast_slice(values).to_vec();
        self.out(values.len())
    }

    /// Adds a parameter `OutMatrix<T>`: the output.
    #[must_use]
    pub fn out_matrix(self, [rows, cols]: [usize; 2]) -> Self {
        self.output().extent(rows).extent(cols)
    }

    /// Adds a parameter `*mut T`: the output.
    #[must_use]
    pub fn output(mut self) -> Self {
        self.parameters.push(Parameter::Output(0));
        self
    }

    /// Adds a parameter `*const T`.
    #[must_use]
    pub fn pointer<T: Pod>(mut self, values: &[T]) -> Self {
        let input = Parameter::Input(self.inputs.len(), 0);
        self.parameters.push(input);
        self.inputs.push(bytemuck::cast_slice(values).to_vec());
        self
    }

    /// Adds a parameter `usize`.
    #[must_use]
    pub fn value(mut self, value: usize) -> Self {
        self.parameters.push(Parameter::Value(value as u64));
        self
    }

    fn extent(mut self, extent: usize) -> Self {
        self.parameters.push(Parameter::Extent(extent as u64));
        self
    }

    /// The same launch with `more` blocks along each dimension: a kernel must be right on every grid
    /// that its contract accepts. One-step scans accept only one.
    #[must_use]
    pub fn with_spare_blocks(mut self, more: [u32; 3]) -> Self {
        self.case += ", a grid too large";
        for (blocks, more) in self.plan.grid.iter_mut().zip(more) {
            *blocks += more;
        }
        self
    }

    /// Runs it on an emulator of its own with the detectors that `options` names.
    ///
    /// # Errors
    /// When the launch is refused, so that nothing ran.
    pub fn check(
        &self,
        module: &Module,
        limits: &Limits,
        options: &CheckOptions,
    ) -> Result<Outcome, Box<dyn std::error::Error>> {
        let emulator = Emulator::new(limits.clone());
        let module = emulator.load(module)?;
        let mut addresses = Vec::new();
        for input in &self.inputs {
            let address = emulator.alloc(input.len() as u64)?;
            emulator.write(address, input)?;
            addresses.push(address);
        }
        let output = emulator.alloc(self.output_bytes as u64)?;
        if let Some(value) = self.fill {
            emulator.write(output, &vec![value; self.output_bytes])?;
        }
        emulator.write(output, &self.start)?;

        let values = self.values(&addresses, output).map(u64::to_le_bytes);
        let values: Vec<_> = values.collect();
        let arguments: Vec<_> = values.iter().map(|value| &value[..]).collect();
        let config = LaunchConfig {
            grid: self.plan.grid,
            block: self.plan.block,
            dynamic_shared_bytes: self.plan.dynamic_shared_bytes,
        };
        let options = CheckOptions {
            schedules: options.schedules.max(self.orders),
            ..options.clone()
        };
        let report = emulator.check(&module, self.plan.kernel, config, &arguments, &options)?;
        let mut bytes = vec![0; self.output_bytes];
        emulator.read(output, &mut bytes)?;
        Ok(Outcome {
            report,
            verdict: (self.judge)(&bytes),
            output: bytes,
        })
    }

    /// Runs it on a device.
    ///
    /// # Errors
    /// What went wrong there.
    ///
    /// # Safety
    /// As for [`Module::launch`](blockwise::Module::launch).
    pub unsafe fn run(
        &self,
        device: &Device,
        module: &blockwise::Module,
    ) -> blockwise::Result<Result<(), String>> {
        // Every buffer is a whole number of words.
        let words = |bytes: &[u8]| bytemuck::pod_collect_to_vec::<u8, u32>(bytes);
        let upload = |input: &Vec<u8>| device.upload(&words(input));
        let inputs = self.inputs.iter().map(upload);
        let mut inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let mut output = device.zeros::<u32>(self.output_bytes / 4)?;
        if let Some(value) = self.fill {
            output.copy_from_slice(&words(&vec![value; self.output_bytes]))?;
        }
        if !self.start.is_empty() {
            let start = words(&self.start);
            output.view_mut(..start.len()).copy_from_slice(&start)?;
        }
        let addresses = inputs.iter().map(|input| input.address().address);
        let addresses: Vec<_> = addresses.collect();
        let values = self.values(&addresses, output.address().address);
        let arguments = values.fold(Arguments::new(), Arguments::value);
        let arguments = inputs.iter_mut().fold(arguments, Arguments::writes);
        let arguments = arguments.writes(&mut output);
        // SAFETY: passed on to the caller.
        unsafe { arguments.launch(module, self.plan.kernel, self.plan.shape())? };
        device.synchronize()?;
        let output = output.to_vec()?;
        Ok((self.judge)(bytemuck::cast_slice(&output)))
    }

    fn values<'a>(&'a self, inputs: &'a [u64], output: u64) -> impl Iterator<Item = u64> + 'a {
        self.parameters
            .iter()
            .map(move |parameter| match parameter {
                Parameter::Input(index, offset) => inputs[*index] + offset,
                Parameter::Output(byte) => output + byte,
                Parameter::Extent(value) | Parameter::Shared(value) | Parameter::Value(value) => {
                    *value
                }
            })
    }
}

/// Few and small jobs for every kernel that together miss little: several blocks, partial and whole
/// tiles, a grid that strides and one that is too large, special values where they matter.
pub fn telling() -> Vec<Job> {
    // Their launches are recorded once.
    static JOBS: OnceLock<Vec<Job>> = OnceLock::new();
    JOBS.get_or_init(|| all_telling(|_| true)).clone()
}

/// Those of the kernels that are wanted.
pub fn wanted_telling() -> Vec<Job> {
    match wanted_families() {
        None => telling(),
        Some(_) => all_telling(is_wanted),
    }
}

fn all_telling(wanted: Wanted) -> Vec<Job> {
    of_families(
        &[
            (CONVOLUTIONS, conv1d::telling),
            (CONVOLUTIONS, transforms::telling),
            (REDUCTIONS, reduce::telling),
            (PRODUCTS, tensor::telling),
            (PRODUCTS, pitched::telling),
            (PEAKS, peak::telling),
            (SCANS, scan::telling),
        ],
        described::telling,
        wanted,
    )
}

/// The jobs whose kernels a PTX file has.
pub fn of(file: &PtxFile, mut jobs: Vec<Job>) -> Vec<Job> {
    let entries = ptx::entries(&file.text);
    jobs.retain(|job| entries.iter().any(|entry| entry.name == job.plan.kernel));
    jobs
}

/// Every kernel over lengths of 0, 1, a tile − 1, a tile, a tile + 1 and primes, shapes that are
/// not square, and capped grids.
pub fn size_matrix() -> Vec<Job> {
    static JOBS: OnceLock<Vec<Job>> = OnceLock::new();
    JOBS.get_or_init(|| all_sizes(|_| true)).clone()
}

/// Those of the kernels that are wanted.
pub fn wanted_sizes() -> Vec<Job> {
    match wanted_families() {
        None => size_matrix(),
        Some(_) => all_sizes(is_wanted),
    }
}

fn all_sizes(wanted: Wanted) -> Vec<Job> {
    of_families(
        &[
            (CONVOLUTIONS, conv1d::sizes),
            (CONVOLUTIONS, transforms::sizes),
            (REDUCTIONS, reduce::sizes),
            (PRODUCTS, tensor::sizes),
            (PEAKS, peak::sizes),
        ],
        described::sizes,
        wanted,
    )
}

/// Says of a kernel, or of its family, whether its jobs are to be made.
type Wanted = fn(&str) -> bool;

/// The families of some jobs, and what makes these.
type Family = (&'static [&'static str], fn(&DeviceProperties) -> Vec<Job>);

const CONVOLUTIONS: &[&str] = &["conv1d"];
const PEAKS: &[&str] = &["peak"];
const PRODUCTS: &[&str] = &["matmul"];
const REDUCTIONS: &[&str] = &["dot", "extreme", "sum"];
const SCANS: &[&str] = &["scan"];

/// The jobs of wanted kernels; those of other families are not even made.
fn of_families(
    families: &[Family],
    described: fn(&DeviceProperties, Wanted) -> Vec<Job>,
    wanted: Wanted,
) -> Vec<Job> {
    let on = &properties();
    let mut jobs = Vec::new();
    for &(names, make) in families {
        if !names.iter().any(|name| wanted(name)) {
            continue;
        }
        let made = make(on);
        let is_named = |job: &Job| names.iter().any(|&name| family(job.plan.kernel) == name);
        // Otherwise they would be left out when their family is wanted.
        if let Some(job) = made.iter().find(|job| !is_named(job)) {
            panic!("{}, {}: is none of {names:?}", job.plan.kernel, job.case);
        }
        jobs.extend(made);
    }
    jobs.extend(described(on, wanted));
    jobs.retain(|job| wanted(job.plan.kernel));
    jobs
}

/// Every broken kernel with a launch that shows its mistake.
pub fn broken() -> Vec<Job> {
    broken::jobs()
}

fn properties() -> DeviceProperties {
    Device::emulator().properties().clone()
}

/// A judge of floating-point results.
fn within<T: Precision, D: Dimension + 'static>(
    expected: Expected<D>,
) -> impl Fn(Vec<T>) -> Result<(), String> + Send + Sync {
    let shape = expected.values.raw_dim();
    move |values| {
        let result = Array::from_shape_vec(shape.clone(), values).map_err(|e| e.to_string())?;
        verdict(compare::with_oracle(result.view(), &expected))
    }
}

/// A judge of results that are exact.
fn exact<T: Pod + PartialEq + ToNumber + Send + Sync, D: Dimension + 'static>(
    expected: Array<T, D>,
) -> impl Fn(Vec<T>) -> Result<(), String> + Send + Sync {
    move |values| {
        let result =
            ArrayView::from_shape(expected.raw_dim(), &values).map_err(|e| e.to_string())?;
        verdict(compare::exactly(result, expected.view()))
    }
}

fn verdict(comparison: Result<Comparison, ShapeMismatch>) -> Result<(), String> {
    match comparison {
        Ok(comparison) if comparison.passed() => Ok(()),
        Ok(comparison) => Err(format!("{comparison:?}")),
        Err(error) => Err(error.to_string()),
    }
}
