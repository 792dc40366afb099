//! `blockwise profile`.

use std::path::PathBuf;

use blockwise::{Device, EmulatorLimits, Type, Watch};
use clap::Args;
use ptx_emulator::metrics::{DeviceModel, Profile};
use ptx_emulator::report::LeftOut;
use serde_json::{Map, json};

use super::failure::Failure;
use super::family::{self, Subject};
use super::kernel_args::{Arguments as KernelArguments, Launch};
use super::kernels::Files;
use super::report::{self, Report};
use super::{Global, folder, names, progress};
use crate::profile::{self, Assembler, KernelReport, Variant, Workload, WorkloadError};

const EXIT_CODES: &str = "Exit codes: 0 the profile was made, 2 it could not be.";

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    subject: Subject,
    /// The element type
    #[arg(long = "type", global = true, default_value = "f32", value_parser = names(&family::TYPES))]
    ty: Type,
    /// The device whose limits occupancy and roofline are computed with
    #[arg(long, global = true, default_value = "sm_90", value_parser = models())]
    device_model: DeviceModel,
    /// Print the source with each line's costs
    #[arg(long, global = true)]
    listing: bool,
    /// Draw the roofline with the kernels on it, and each kernel's cost per line, into this folder
    #[arg(long, global = true, value_name = "DIR")]
    plot: Option<PathBuf>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    global.emulator_only("profiles", "on a GPU NVIDIA's ncu counts the same")?;
    arguments.plot.as_deref().map_or(Ok(()), folder::prepare)?;
    match &arguments.subject {
        Subject::Workload(workload) => run_workload(global, arguments, workload),
        Subject::File(launch) => run_file(global, arguments, launch),
    }
}

fn run_workload(
    global: &Global,
    arguments: &Arguments,
    workload: &Workload,
) -> Result<Report, Failure> {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Profile);
    let device = global.with_kernels(device)?;
    let clock = progress::clock(&format!("profiling {workload}"));
    let variants = workload.run(&device, arguments.ty, |device| device.take_profiles().pop());
    clock.finish_and_clear();
    let variants = variants?;
    let launched = variants.iter().filter_map(|it| it.outcome.as_ref().ok()?.as_ref());
    let files = global.ptx(&device, launched.map(|profile| profile.kernel.as_str()))?;
    let kernels = reports(variants, &files, &arguments.device_model)?;
    let subject = format!("{workload}, {}", arguments.ty);
    describe(&subject, &kernels, &files, &[], (global, arguments))
}

/// Profiles a kernel of somebody's PTX.
fn run_file(global: &Global, arguments: &Arguments, launch: &Launch) -> Result<Report, Failure> {
    let (ptx, module) = launch.read(global)?;
    let kernel = launch.kernel(&ptx.origin, &module, "blockwise profile ptx")?;
    let emulator = launch.emulator();
    let mut loaded = emulator.load(&module)?;
    let what = format!("profiling {}", kernel.name());
    let clock = progress::clock(&what);
    let bound = KernelArguments::bind(kernel, &launch.args, &emulator, &mut loaded)?;
    let mut listener = progress::Listener::of(&what, &clock);
    emulator.set_progress(move |progress| listener.hear(progress));
    let profile = emulator.profile(&loaded, kernel.name(), launch.config()?, &bound.bytes());
    clock.finish_and_clear();
    let profile = profile.map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            ptx_emulator::LaunchError::Fault(_) => {
                failure.hint("`blockwise check` with the same arguments says more")
            }
            _ => failure,
        }
    })?;
    bound.save(&emulator)?;
    let model = &arguments.device_model;
    let usage = Assembler::new(&ptx.text).usage(model.name, kernel.name());
    let kernels = [KernelReport::new(
        kernel.name().to_owned(),
        profile,
        usage,
        model,
    )];
    note_unknown_registers(&kernels);
    let subject = format!("{} of {}", kernel.name(), ptx.origin);
    let left_out = LeftOut::of(&module);
    let files = Files::one(ptx);
    describe(&subject, &kernels, &files, &left_out, (global, arguments))
}

/// Adds what ptxas and the model say. A kernel that cannot do the work is left out, unless no other
/// can.
fn reports(
    variants: Vec<Variant<Profile>>,
    files: &Files,
    model: &DeviceModel,
) -> Result<Vec<KernelReport>, Failure> {
    let assemblers = files.all.iter().map(|ptx| Assembler::new(&ptx.text));
    let assemblers: Vec<_> = assemblers.collect();
    let mut kernels = Vec::new();
    let mut refused = Vec::new();
    for variant in variants {
        match variant.outcome {
            Ok(Some(profile)) => {
                let assembler = &assemblers[files.place_of(&profile.kernel)];
                let usage = assembler.usage(model.name, &profile.kernel);
                kernels.push(KernelReport::new(
                    variant.name.to_owned(),
                    profile,
                    usage,
                    model,
                ));
            }
            Ok(None) => {}
            Err(error) => refused.push((variant.name, error)),
        }
    }
    if kernels.is_empty() {
        return Err(match refused.pop() {
            Some((_, error)) => error.into(),
            None => Failure::new("there is nothing to launch at that size"),
        });
    }
    for (name, error) in refused {
        report::notice(&format!("without `{name}`: {error}"));
    }
    note_unknown_registers(&kernels);
    Ok(kernels)
}

fn note_unknown_registers(kernels: &[KernelReport]) {
    if let Some(reason) = kernels
        .iter()
        .find_map(|kernel| kernel.usage.as_ref().err())
    {
        report::notice(&format!(
            "registers are unknown, and occupancy leaves them out: {reason}"
        ));
    }
}

fn describe(
    subject: &str,
    kernels: &[KernelReport],
    files: &Files,
    left_out: &[LeftOut],
    (global, arguments): (&Global, &Arguments),
) -> Result<Report, Failure> {
    let model = &arguments.device_model;
    let plots = match &arguments.plot {
        Some(folder) => profile::plot(folder, kernels, model)
            .map_err(|error| Failure::new(error.to_string()))?,
        None => Vec::new(),
    };
    let heading = format!(
        "{subject}; occupancy and roofline as on {} ({})",
        model.product, model.name
    );
    let origins: Vec<_> = files.all.iter().map(|ptx| ptx.origin.as_str()).collect();
    let origin = origins.join(", ");
    note_missing_lines(kernels, &origin);
    if global.json {
        let subject = [
            ("workload", json!(heading)),
            ("ptx", json!(origin)),
            ("left_out", json!(left_out)),
            ("plots", json!(plots)),
        ];
        let subject = subject.map(|(name, value)| (name.to_owned(), value));
        let text = profile::json(kernels, model, Map::from_iter(subject));
        let failed =
            |error| Failure::new(format!("the profile cannot be written as JSON: {error}"));
        return Ok(Report::document(text.map_err(failed)?));
    }
    let mut text = format!("{heading}\n\n{}", profile::table(kernels));
    if arguments.listing {
        for kernel in kernels {
            let ptx = &files.all[files.place_of(&kernel.profile.kernel)];
            text += &format!("\n\n{}", profile::listing(kernel, &ptx.text));
        }
    }
    for file in &plots {
        text += &format!("\n{}", file.display());
    }
    Ok(Report::document(text))
}

fn note_missing_lines(kernels: &[KernelReport], origin: &str) {
    if !kernels
        .iter()
        .any(|kernel| kernel.profile.has_source_lines())
    {
        report::notice(&format!(
            "{origin} has no line table, so lines are its own; compile it with line info (`nvcc -lineinfo`) to see the source's"
        ));
    }
}

/// A parser for the names of device models.
fn models() -> impl clap::builder::TypedValueParser<Value = DeviceModel> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
    let names = DeviceModel::ALL
        .iter()
        .map(|model| PossibleValue::new(model.name).help(model.product));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<DeviceModel>())
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        let hint = match error {
            WorkloadError::Launch(error) => return error.into(),
            WorkloadError::NoKernel { .. } => "use `--type f32` or `--type f64`",
            WorkloadError::TooLarge { .. } => "the counts of a smaller one say the same",
        };
        Failure::new(error.to_string()).hint(hint)
    }
}
