//! `blockwise bench`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use blockwise::{Device, DeviceChoice, DeviceKind};
use clap::Args;

use blockwise_mesh::Mesh;

use super::failure::Failure;
use super::mesh::Gpus;
use super::nearest::nearest;
use super::report::{self, Report as Outcome};
use super::{Global, folder};
use crate::bench::{
    self, BenchError, Commands, Extent, MeshReport, MeshRow, Options, Peer, PeersError, Report,
    Run, Size, Sizes, Source, Sweep,
};
use crate::io::OutputFile;

/// Which benchmarks are timed, and with which inputs.
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
    /// Seed of the random inputs, and of sizes drawn at random; without it every run draws new ones
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    gpus: Gpus,
    /// Peers to time by turns with ours, separated by commas: a script for other libraries
    /// (bench/peers.py of the repository, on its default GPU), or another build of this command as
    /// build:PATH, on our device. With --gpus one script, bench/mesh_peers.py, after ours
    #[arg(long, value_delimiter = ',', value_name = "SCRIPT|build:PATH")]
    peers: Vec<Source>,
    /// The interpreter for a script
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "python3",
        requires = "peers"
    )]
    python: PathBuf,
    /// Folder for the files of the benchmarks `files/...`, up to 8 GiB at the standard sizes
    /// [default: /dev/shm if there is one, else the folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
    /// Time only the launcher's default kernel, at N random shapes of the operations and types that
    /// --filter leaves. Sides of matrices go up to 20,000, lengths of vectors up to 400,000,000. A
    /// third of the shapes is rounded to multiples of 128, a third to multiples of 8. With --peers,
    /// also report how often the default is not slower than the fastest peer, and the ten worst
    /// shapes
    #[arg(long, value_name = "N", conflicts_with_all = ["size", "quick", "gpus", "sweep"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    random: Option<u32>,
    /// With --random, compare the default with our other kernels instead: what share is within 5 %
    /// of the fastest
    #[arg(long, requires = "random", conflicts_with = "peers")]
    own: bool,
    /// Serve another build's `bench --peers build:...`: read requests from standard input and
    /// answer on standard output
    #[arg(long, hide = true)]
    serve: bool,
    /// Compare the launchers' choices with every kernel instead, at N shapes of each operation,
    /// drawn as for --random
    #[arg(long, value_name = "N", conflicts_with_all = ["peers", "size", "quick", "gpus"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sweep: Option<u32>,
    /// With --gpus, also record where the time of a step goes: the host's work for each GPU, when
    /// each kernel and transfer runs, and how long a GPU takes for its part without the others.
    /// Printed after the table, and written to phases.md in the folder of --output
    #[arg(long, requires = "gpus")]
    phases: bool,
    /// Seconds for each operation of a sweep, at most
    #[arg(long, value_name = "SECONDS", requires = "sweep")]
    seconds: Option<u64>,
    /// Folder for results.json, results.md and results.svg, which are rewritten after each row
    /// (with --random, results.svg only at the end). Without it nothing is written, except with
    /// --peers, to target/bench. --sweep writes sweep.json instead, with the time of every kernel.
    /// --gpus writes no picture, and only to a named folder
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
            own: false,
        }
    }
}

/// Times the kernels on the GPU.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(devices) = arguments.gpus.devices(global)? {
        return over(arguments, &devices);
    }
    if arguments.serve {
        return serve(&any(global)?);
    }
    let mut options = arguments.choice.options();
    let device = match arguments.random {
        Some(count) => {
            options.sizes = Sizes::Random(count);
            options.own = arguments.own;
            any(global)?
        }
        None => gpu(global)?,
    };
    if let Some(count) = arguments.sweep {
        let extent = Extent {
            count: count as usize,
            most: arguments.seconds.map(Duration::from_secs),
        };
        return sweep(&device, &options, extent, arguments.output.as_deref());
    }
    let place = match (&arguments.output, &arguments.peers[..]) {
        (Some(folder), _) => Some(folder.as_path()),
        (None, []) => None,
        (None, _) => Some(Path::new("target/bench")),
    };
    place.map_or(Ok(()), folder::prepare)?;
    let write = |report: &Report, files: &[&str]| match place {
        Some(folder) => write(report, folder, files),
        None => Ok(()),
    };
    // With --random the picture is drawn only at the end: with many works it takes long.
    let as_they_come = match arguments.random {
        Some(_) => &FILES[..2],
        None => &FILES[..],
    };
    let mut printed = 0;
    let mut so_far = |report: &Report| {
        // A work's lines are printed together, aligned.
        let last = report.rows.len() - 1;
        if report.rows[printed].work != report.rows[last].work {
            report::notice(&report.lines(printed..last));
            printed = last;
        }
        // Errors are reported at the end.
        let _ = write(report, as_they_come);
    };
    let of_device = chosen(global, &device).to_string();
    let start = |source| Peer::start(source, &arguments.python, &of_device);
    let peers = arguments.peers.iter().map(start);
    let mut peers = peers.collect::<Result<Vec<_>, _>>()?;
    let mut report = bench::run(&device, &options, &mut peers, &mut so_far)?;
    let failure = peers.iter_mut().find_map(Peer::failure);
    drop((peers, device));
    if !arguments.peers.is_empty() {
        bench::step_peers(&options, &arguments.python, |row| {
            report.rows.push(row);
            so_far(&report);
        });
    }
    bench::files(&options, &commands(global, arguments)?, |row| {
        report.rows.push(row);
        so_far(&report);
    });
    if printed < report.rows.len() {
        report::notice(&report.lines(printed..report.rows.len()));
    }
    write(&report, &FILES)?;
    if let Some(folder) = place {
        let files = FILES.map(|name| folder.join(name).display().to_string());
        report::notice(&format!("{} written", files.join(", ")));
    }
    if let Some(error) = failure {
        report::notice(&report.table());
        return Err(error.into());
    }
    let json = serde_json::to_value(&report).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::new(report.table(), json).passed(report.passed()))
}

/// Answers the requests of another build.
fn serve(device: &Device) -> Result<Outcome, Failure> {
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    bench::serve(device, rand::random(), input, output)
        .map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::silent())
}

/// The device as a value of `--device`, for the peers' processes.
fn chosen(global: &Global, device: &Device) -> DeviceChoice {
    match (global.device, device.properties().kind) {
        (DeviceChoice::Auto, DeviceKind::Cuda) => DeviceChoice::Gpu(0),
        (DeviceChoice::Auto, DeviceKind::Emulator) => DeviceChoice::Emulator,
        (chosen, _) => chosen,
    }
}

/// The GPU, or the emulator if it is asked for. The emulator serves only to check results: its
/// times say nothing about a GPU.
fn any(global: &Global) -> Result<Device, Failure> {
    if global.device != DeviceChoice::Emulator {
        return gpu(global);
    }
    report::notice("the emulator: results are checked, and times say nothing about a GPU");
    global.with_kernels(Device::emulator())
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

/// How the rows `files/...` run: our command with its device and PTX, the interpreter for a peer if
/// `--peers` has a script, and the folder for the files.
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
        python: (arguments.peers.iter())
            .any(|peer| matches!(peer, Source::Script(_)))
            .then(|| arguments.python.clone()),
        folder: match &arguments.files {
            Some(folder) => folder.clone(),
            None if memory.is_dir() => memory.to_owned(),
            None => std::env::temp_dir(),
        },
    })
}

/// Times operations over all of these devices, then over each smaller power of two. Ours come
/// first, then the peers. So a run that is cut short has ours over the most devices.
fn over(arguments: &Arguments, devices: &[Device]) -> Result<Outcome, Failure> {
    let options = arguments.choice.options();
    let script = match &arguments.peers[..] {
        [] => None,
        [Source::Script(script)] => Some(script),
        _ => {
            let message = "with --gpus, --peers takes exactly one script";
            return Err(Failure::new(message).hint("--peers bench/mesh_peers.py"));
        }
    };
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
            if arguments.phases {
                let text = report.phases();
                OutputFile::prepare(&folder.join("phases.md"))?.write(text.as_bytes())?;
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
            _ => mesh.with_nccl_or(|_| {})?,
        };
        for work in &works {
            take(bench::mesh_row(&mesh, work, arguments.phases));
        }
    }
    let mut failures = Vec::new();
    if let Some(script) = script {
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
    let text = report.table() + &report.phases();
    Ok(Outcome::new(text, json).passed(report.passed()))
}

const FILES: [&str; 3] = ["results.json", "results.md", "results.svg"];

/// Writes the results as JSON, Markdown and a chart, or as some of these.
fn write(report: &Report, folder: &Path, files: &[&str]) -> Result<(), Failure> {
    for (at, name) in files.iter().enumerate() {
        let text = match at {
            0 => serde_json::to_string_pretty(report)
                .map_err(|error| Failure::new(error.to_string()))?,
            1 => report.markdown(),
            _ => bench::svg(report),
        };
        OutputFile::prepare(&folder.join(name))?.write(text.as_bytes())?;
    }
    Ok(())
}

impl From<PeersError> for Failure {
    fn from(error: PeersError) -> Self {
        let hint = "a script needs Python 3, and reports what else it needs; another build can be \
                    a peer if its `bench --help` lists --random";
        Failure::new(error.to_string()).hint(hint)
    }
}

/// The GPU. The emulator is refused: only a GPU's clock measures a kernel's speed.
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
            BenchError::NothingChosen { ref filter } => {
                let hint = names_near(filter);
                Failure::new(error.to_string()).hint(hint)
            }
            other => Failure::new(other.to_string()),
        }
    }
}

/// A hint: the operations that names begin with, and the one nearest to the filter, if any is near.
fn names_near(filter: &[String]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let works = bench::works(&Options::default(), DeviceKind::Emulator);
    for work in &works {
        if !names.contains(&work.operation) {
            names.push(work.operation);
        }
    }
    let near = filter
        .iter()
        .find_map(|word| nearest(word, names.iter().copied()));
    let near = near.map_or(String::new(), |near| format!("; the nearest is `{near}`"));
    format!("names begin with {}{near}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_chooses_nothing_gets_the_nearest_name() {
        let hint = names_near(&["transpoes".to_owned()]);
        assert!(hint.ends_with("; the nearest is `transpose`"), "{hint}");
        assert!(hint.contains("sum, min, max, mean"), "{hint}");
        assert!(!names_near(&["qqqqqq".to_owned()]).contains("nearest"));
    }
}
