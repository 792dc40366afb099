//! `blockwise debug`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use blockwise_debug::{Element, Loaded, Loader, serve};
use clap::{Args, Parser};
use kernel_arguments::Files;
use ptx_emulator::replay::Replay;
use ptx_emulator::report::Sources;
use serde::Deserialize;
use serde_json::{Map, Value};

use self::folder::Confined;
use super::Global;
use super::built::{self, DEBUG_INFO};
use super::failure::Failure;
use super::kernel_args::{Arguments as KernelArguments, Disk, Launch};
use super::report::Report;

const LAUNCH_HELP: &str = "\
The client's launch request says what to debug:
  \"ptx\": \"k.ptx\"              the PTX file, from any compiler; or
  \"crate\": \"DIR\"              the PTX that cargo built last for the kernels of that folder; with neither, the command's own
  \"build\": \"debug\"            runs `cargo build` there first, with debug information: locals by their Rust names and types
                             \"locals\" is the same without optimisation: every local is in memory, and none is optimised out
  \"kernel\": \"scale\"           may be left out when the PTX has one only
  \"grid\": [4], \"block\": [256], \"shared\": 0, \"steps\": 100000000
  \"args\": [\"f32[1024]=iota\", \"u32:7\"]   one for each parameter, as `blockwise check --arg` takes them
  \"seed\": 7                   the order of threads of this seed, as `blockwise check --seed` names it
  \"types\": { \"tile\": \"f32\" }  elements of arrays
  \"stopOnEntry\": false       does not stop before the first instruction
  \"cwd\": \"DIR\"             relative paths begin there
  \"justMyCode\": false         steps and stacks show library code too: core, cuda_std, what #[kernel] generates
  \"token\": \"...\"             with --port only: what the command printed when it started. Files are then those below the
                             folder that it was started in

In the debug console `goto N` goes to a step: that of a finding is in the report of `blockwise check --json`.";

mod folder;
mod port;

#[derive(Args)]
#[command(after_help = LAUNCH_HELP)]
pub(super) struct Arguments {
    /// Wait for clients on this port of this machine, one after the other, not on standard input; 0
    /// takes a free one. A client needs the token that is printed
    #[arg(long)]
    port: Option<u16>,
}

/// What the client's launch request says.
#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    ptx: Option<PathBuf>,
    #[serde(default, rename = "crate")]
    package: Option<PathBuf>,
    #[serde(default)]
    build: Option<Build>,
    #[serde(default)]
    kernel: Option<String>,
    #[serde(default)]
    grid: Extents,
    #[serde(default)]
    block: Extents,
    #[serde(default)]
    shared: Option<u32>,
    #[serde(default)]
    steps: Option<u64>,
    #[serde(default)]
    args: Texts,
    #[serde(default)]
    seed: Option<u64>,
    #[serde(default)]
    types: HashMap<String, String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
}

/// Of a grid or a block; nothing is what the command line has then.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`grid` and `block` are lists of one to three numbers, such as [4] and [16, 16]"
)]
enum Extents {
    One(u32),
    All(Vec<u32>),
}

impl Default for Extents {
    fn default() -> Self {
        Extents::All(Vec::new())
    }
}

/// Arguments.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`args` is a list of texts, such as [\"f32[1024]\", \"u32:7\"]"
)]
enum Texts {
    All(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Texts::All(Vec::new())
    }
}

/// How a crate is built before the launch.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Build {
    /// With variables.
    Debug,
    /// With variables that are all kept in memory.
    Locals,
}

impl Build {
    /// What [`DEBUG_INFO`] is for it.
    fn value(self) -> &'static str {
        match self {
            Build::Debug => "full",
            Build::Locals => "locals",
        }
    }
}

/// The same launch on a command line.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    launch: Launch,
}

struct Kernels<'a> {
    global: &'a Global,
    /// Over a port: where files may be.
    confined: Option<&'a Confined>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    global.emulator_only("launches that go back", "there is no way back on a GPU")?;
    let failed = |error: std::io::Error| Failure::new(format!("the session ended: {error}"));
    match arguments.port {
        Some(port) => port::run(global, port),
        None => {
            let mut kernels = Kernels {
                global,
                confined: None,
            };
            serve(std::io::stdin(), std::io::stdout(), &mut kernels, None).map_err(failed)?;
            Ok(Report::silent())
        }
    }
}

impl Loader for Kernels<'_> {
    fn load(&mut self, arguments: &Map<String, Value>) -> Result<Loaded, String> {
        let request = Request::deserialize(Value::Object(arguments.clone()));
        let request = request.map_err(|error| format!("the launch request: {error}"))?;
        self.launch(request).map_err(|failure| failure.to_string())
    }
}

impl Kernels<'_> {
    fn launch(&self, mut request: Request) -> Result<Loaded, Failure> {
        let folder = match (self.confined, &request.cwd) {
            (Some(confined), folder) => Some(confined.folder(folder.as_deref())?),
            (None, folder) => folder.clone(),
        };
        if let Some(folder) = folder {
            let moved = std::env::set_current_dir(&folder);
            moved.map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
        }
        if let Some(confined) = self.confined {
            for named in [&mut request.ptx, &mut request.package] {
                *named = named.take().map(|path| confined.path(&path)).transpose()?;
            }
        }
        let types = request
            .types
            .iter()
            .map(|(name, ty)| Ok((name.clone(), ty.parse()?)));
        let types: Result<HashMap<String, Element>, String> = types.collect();
        let mut types = types.map_err(Failure::new)?;
        let alone = request.package.as_deref().and_then(built::alone);
        if let Some(build) = request.build {
            self.build(&request, build.value())?;
        }
        let launch = request.line(self.confined)?;
        let (ptx, module) = launch.read(self.global)?;
        drop(alone);
        let kernel = launch.kernel(&ptx.origin, &module, "blockwise check")?;
        let emulator = launch.emulator();
        let mut loaded = emulator.load(&module)?;
        let files: &dyn Files = match self.confined {
            Some(confined) => confined,
            None => &Disk,
        };
        let memory = (&emulator, &mut loaded);
        let bound = KernelArguments::bind_only(kernel, &launch.args, memory, files)?;
        for (parameter, element) in bound.elements() {
            let name = &kernel.params()[parameter].name;
            let element = element.parse().map_err(Failure::new)?;
            types.entry(name.clone()).or_insert(element);
        }
        let replay = Replay::new(
            emulator,
            loaded,
            kernel.name(),
            launch.config()?,
            &bound.bytes(),
            request.seed,
        );
        Ok(Loaded {
            replay: replay.map_err(|error| Failure::new(error.to_string()))?,
            types,
            sources: Sources::new().with_ptx(Path::new(&ptx.origin), &ptx.text),
            ptx: ptx.origin,
            text: ptx.text,
        })
    }
}

impl Kernels<'_> {
    /// Builds the request's crate with debug information.
    fn build(&self, request: &Request, debug_info: &str) -> Result<(), Failure> {
        let Some(folder) = &request.package else {
            return Err(Failure::new("`build` needs `crate`: the folder to build"));
        };
        if self.confined.is_some() {
            let hint =
                format!("run `{DEBUG_INFO}={debug_info} cargo build` there, and leave `build` out");
            return Err(Failure::new("a client at a port cannot build a crate").hint(hint));
        }
        built::build(folder, Some(debug_info))
    }
}

impl Request {
    /// The launch as the command line of `check` would have it: one way to read arguments.
    fn line(&self, confined: Option<&Confined>) -> Result<Launch, Failure> {
        let mut words: Vec<String> = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        let extents = |extents: &Extents| {
            let numbers = match extents {
                Extents::One(x) => std::slice::from_ref(x),
                Extents::All(extents) => extents,
            };
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            (!numbers.is_empty()).then(|| numbers.join(","))
        };
        option("kernel", self.kernel.clone());
        option("grid", extents(&self.grid));
        option("block", extents(&self.block));
        option("shared", self.shared.map(|bytes| bytes.to_string()));
        option("steps", self.steps.map(|steps| steps.to_string()));
        let Texts::All(args) = &self.args;
        for argument in args {
            option("arg", Some(argument.clone()));
        }
        let file = match (&self.ptx, &self.package) {
            (Some(_), Some(_)) => {
                return Err(Failure::new(
                    "`ptx` and `crate` are two places; leave one out",
                ));
            }
            (Some(file), None) => Some(file.clone()),
            (None, Some(folder)) => {
                // Without one with this kernel, the error lists those that there are.
                let file = built::ptx(folder, self.kernel.as_deref())
                    .or_else(|_| built::ptx(folder, None))?;
                // Its folder may lead elsewhere.
                Some(confined.map_or(Ok(file.clone()), |confined| confined.path(&file))?)
            }
            (None, None) => None,
        };
        if let Some(file) = file {
            words.extend(["--".to_owned(), file.display().to_string()]);
        }
        let line = Line::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            Failure::new(
                text.lines()
                    .next()
                    .unwrap_or_default()
                    .trim_start_matches("error: "),
            )
        })?;
        Ok(line.launch)
    }
}
