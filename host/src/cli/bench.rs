//! `blockwise bench`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use blockwise::{Device, DeviceChoice, DeviceKind};
use clap::Args;

use blockwise_mesh::Mesh;

use super::failure::Failure;
use super::mesh::Gpus;
use super::report::{self, Report as Outcome};
use super::{Global, folder};
use crate::bench::{
    self, BenchError, Commands, Extent, MeshReport, MeshRow, Options, PeersError, Report, Run,
    Size, Sizes, Sweep,
};
use crate::io::OutputFile;

/// What is timed, by what inputs.
#[derive(Args)]
pub(super) struct Choice {
    /// Only benchmarks whose name (operation/type/kernel/size) contains one of these, separated by
    /// commas
    #[arg(long, value_delimiter = ',', value_name = "TEXT")]
    filter: Vec<String>,
    /// Sizes instead of the standard ones, separated by commas: 2^20, 4096 (also a square matrix),
    /// 2^26x31 (samples and taps)
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "SIZE",
        conflicts_with = "quick"
    )]
    size: Vec<Size>,
    /// One small size of each operation
    #[arg(long)]
    quick: bool,
    /// What the random inputs follow from; without it they are new in every run
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    gpus: Gpus,
    /// Time others too, on the same device, by this script: bench/peers.py of the repository, with
    /// --gpus bench/mesh_peers.py
    #[arg(long, value_name = "SCRIPT")]
    peers: Option<PathBuf>,
    /// The interpreter for --peers
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "python3",
        requires = "peers"
    )]
    python: PathBuf,
    /// Where the rows `files/...` keep their files, up to 8 GiB [default: /dev/shm if there is one,
    /// else the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
    /// Compare the launchers' choices with every kernel instead, at N sizes of each
    /// operation, drawn at random
    #[arg(long, value_name = "N", conflicts_with_all = ["peers", "size", "quick", "gpus"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sweep: Option<u32>,
    /// Seconds for each operation of a sweep, at most
    #[arg(long, value_name = "SECONDS", requires = "sweep")]
    seconds: Option<u64>,
    /// Where to write results.json, results.md and results.svg, after each work what there is so
    /// far; with --peers target/bench, unless said otherwise. A sweep writes sweep.json, with the
    /// time of every kernel; with --gpus there is no picture, and no folder unless named
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Choice {
    pub(super) fn options(&self) -> Options {
        Options {
            filter: self.filter.clone(),
            sizes: match (&self.size[..], self.quick) {
                ([], false) => Sizes::Standard,
                ([], true) => Sizes::Quick,
                (sizes, _) => Sizes::Given(sizes.to_vec()),
            },
            seed: self.seed.unwrap_or_else(rand::random),
        }
    }
}

/// Times the kernels on the GPU.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(devices) = arguments.gpus.devices(global)? {
        return over(arguments, &devices);
    }
    let device = gpu(global)?;
    let options = arguments.choice.options();
    if let Some(count) = arguments.sweep {
        let extent = Extent {
            count: count as usize,
            most: arguments.seconds.map(Duration::from_secs),
        };
        return sweep(&device, &options, extent, arguments.output.as_deref());
    }
    let place = match (&arguments.output, &arguments.peers) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, Some(_)) => Some(Path::new("target/bench")),
        (None, None) => None,
    };
    place.map_or(Ok(()), folder::prepare)?;
    let write = |report: &Report| match place {
        Some(folder) => write(report, folder),
        None => Ok(()),
    };
    let mut printed = 0;
    let mut so_far = |report: &Report| {
        report::notice(&report.lines_from(printed));
        printed = report.rows.len();
        // Errors are reported at the end.
        let _ = write(report);
    };
    let mut report = bench::run(&device, &options, &mut so_far)?;
    // Frees the kernels' memory for the peers.
    drop(device);
    if let Some(script) = &arguments.peers {
        let works = bench::works(&options);
        bench::join(&mut report, &works, &arguments.python, script, &mut so_far)?;
        bench::step_peers(&options, &arguments.python, |row| {
            report.rows.push(row);
            so_far(&report);
        });
    }
    bench::files(&options, &commands(global, arguments)?, |row| {
        report.rows.push(row);
        so_far(&report);
    });
    write(&report)?;
    if let Some(folder) = place {
        let files = FILES.map(|name| folder.join(name).display().to_string());
        report::notice(&format!("{} written", files.join(", ")));
    }
    let json = serde_json::to_value(&report).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::new(report.table(), json).passed(report.passed()))
}

/// Compares the launchers' choices with every kernel.
fn sweep(
    device: &Device,
    options: &Options,
    extent: Extent,
    folder: Option<&Path>,
) -> Result<Outcome, Failure> {
    folder.map_or(Ok(()), folder::prepare)?;
    let write = |sweep: &Sweep| match folder {
        Some(folder) => {
            let json = serde_json::to_string(sweep);
            let json = json.map_err(|error| Failure::new(error.to_string()))?;
            let file = OutputFile::prepare(&folder.join("sweep.json"))?;
            file.write(json.as_bytes()).map_err(Failure::from)
        }
        None => Ok(()),
    };
    // Errors are reported at the end.
    let sweep = bench::sweep(device, options, extent, |so_far| drop(write(so_far)))?;
    write(&sweep)?;
    let json = serde_json::to_value(&sweep).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::new(sweep.table(), json).passed(sweep.passed()))
}

/// The commands that run this program and its peer on the same GPU.
fn commands(global: &Global, arguments: &Arguments) -> Result<Commands, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    let device = match global.device {
        DeviceChoice::Auto => DeviceChoice::Gpu(0),
        chosen => chosen,
    };
    let mut ours = vec![program.into(), "--quiet".into(), "--device".into()];
    ours.push(device.to_string().into());
    if let Some(ptx) = &global.ptx {
        ours.extend(["--ptx".into(), ptx.into()]);
    }
    let memory = Path::new("/dev/shm");
    Ok(Commands {
        ours,
        python: (arguments.peers.as_ref()).map(|_| arguments.python.clone()),
        folder: match &arguments.files {
            Some(folder) => folder.clone(),
            None if memory.is_dir() => memory.to_owned(),
            None => std::env::temp_dir(),
        },
    })
}

/// Times operations over 1, 2, 4, … of these devices, GPUs connected by NCCL; the largest number
/// first, ours before the peers, so that a run that is cut short has what it was made for.
fn over(arguments: &Arguments, devices: &[Device]) -> Result<Outcome, Failure> {
    let options = arguments.choice.options();
    let works = bench::mesh_works(&options);
    let Some(first) = devices.first().filter(|_| !works.is_empty()) else {
        let filter = options.filter;
        return Err(BenchError::NothingChosen { filter }.into());
    };
    let is_emulated = first.properties().kind == DeviceKind::Emulator;
    if is_emulated {
        report::notice("emulated devices: results are checked, and times say nothing about GPUs");
    }
    let folder = arguments.output.as_deref();
    folder.map_or(Ok(()), folder::prepare)?;
    let write = |rows: &[MeshRow]| {
        let report = MeshReport::new(Run::of(first, 0), rows.to_vec());
        if let Some(folder) = folder {
            let json = serde_json::to_string_pretty(&report);
            let json = json.map_err(|error| Failure::new(error.to_string()))?;
            for (name, text) in FILES.iter().zip([json, report.markdown()]) {
                OutputFile::prepare(&folder.join(name))?.write(text.as_bytes())?;
            }
        }
        Ok::<_, Failure>(report)
    };
    let mut rows = Vec::new();
    let mut take = |row: MeshRow| {
        report::notice(&row.line());
        rows.push(row);
        // Errors are reported at the end.
        let _ = write(&rows);
    };
    let most = devices.len();
    let mut counts: Vec<usize> = (0..).map(|n| 1 << n).take_while(|&n| n < most).collect();
    counts.push(most);
    counts.reverse();
    for &count in &counts {
        let mesh = Mesh::of(devices[..count].to_vec())?;
        let mesh = match count {
            1 => mesh,
            _ if is_emulated => mesh,
            _ => mesh.with_nccl()?,
        };
        for work in &works {
            take(bench::mesh_row(&mesh, work));
        }
    }
    let mut failures = Vec::new();
    if let Some(script) = &arguments.peers {
        for &count in &counts {
            let timed = bench::mesh_peers(&arguments.python, script, count, &works, &mut take);
            failures.extend(timed.err());
        }
    }
    let report = write(&rows)?;
    if let Some(error) = failures.pop() {
        report::notice(&report.table());
        return Err(error.into());
    }
    let json = serde_json::to_value(&report).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::new(report.table(), json).passed(report.passed()))
}

const FILES: [&str; 3] = ["results.json", "results.md", "results.svg"];

/// Writes the results as JSON, Markdown and a chart.
fn write(report: &Report, folder: &Path) -> Result<(), Failure> {
    let json =
        serde_json::to_string_pretty(report).map_err(|error| Failure::new(error.to_string()))?;
    let picture = bench::svg(report).map_err(Failure::new)?;
    for (name, text) in FILES.iter().zip([json, report.markdown(), picture]) {
        OutputFile::prepare(&folder.join(name))?.write(text.as_bytes())?;
    }
    Ok(())
}

impl From<PeersError> for Failure {
    fn from(error: PeersError) -> Self {
        Failure::new(error.to_string()).hint("the script needs Python 3; it says itself what else")
    }
}

/// The GPU: only its clock measures a kernel's speed.
pub(super) fn gpu(global: &Global) -> Result<Device, Failure> {
    const ADVICE: &str = "without a GPU, `cargo bench -p ptx_emulator` measures the emulator, and `blockwise profile` counts what a kernel costs";
    if global.device == DeviceChoice::Emulator {
        let message = "the emulator's time says nothing about a GPU's";
        return Err(Failure::new(message).hint(ADVICE));
    }
    let choice = match global.device {
        DeviceChoice::Auto => DeviceChoice::Gpu(0),
        chosen => chosen,
    };
    match Device::open(choice) {
        Err(error @ blockwise::Error::NoGpu { .. }) => {
            let advice = error.hint().unwrap_or_default();
            Err(Failure::new(error.to_string()).hint(format!("{advice}; {ADVICE}")))
        }
        opened => global.with_kernels(opened?),
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Device(error) => error.into(),
            BenchError::Launch(error) => error.into(),
            other => Failure::new(other.to_string()),
        }
    }
}
