//! A launch of any kernel of any PTX file, as the command line describes it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use blockwise::{Device, PtxFile};
use clap::Args;
use ptx_emulator::{Emulator, Entry, LaunchConfig, Limits, Module};

use crate::cli::failure::Failure;
use crate::cli::nearest::nearest;
use crate::cli::{Global, built, progress};
use crate::io::OutputFile;

/// How arguments are written, for the help of each command that takes them.
pub(in crate::cli) const ARGUMENTS_HELP: &str = "\
Arguments, one --arg for each parameter in order; without any, the error has a line to start from:
  u32:7, f32:1.5, i64:-3   a number (u8 to u64, i8 to i64, f32, f64)
  f32[1024]                the address of memory that nobody wrote, for an output
  f32[1024]=random:1       the address of random numbers; =zeros, =iota (0, 1, 2, ...) or =x.npy
  slice:f32[1024]=iota     two parameters, address and length: a Rust slice; slice:f32[]=x.npy takes the file's length
  matrix:f32[40,50]=iota   three parameters, address, rows and columns: a Matrix or an OutMatrix
  'f32[64] -> out.npy'     any buffer, saved after the launch
  bytes:00ff               the bytes of a struct that is passed by value
  tex2d:f32=x.npy,linear   a texture's handle; tex1d, tex2d, tex3d, texa1d, texa2d (layers), texcube; u8 to u32, i8 to i32, f32, and
                           x2 or x4 channels, the last extent of the array; after a comma: linear, normalized, float (of u8 to i16),
                           clamp, wrap, mirror, border; tex2d:u8x4[480,640]=random:1 gives [HEIGHT,WIDTH]
  surf2d:f32[64,64]=zeros  a surface's handle; may be saved, too
  NAME=tex2d:u8=x.npy      no parameter: what the .texref or .surfref NAME is bound to";

/// The most kernels whose names an error lists.
const MOST_NAMES: usize = 12;

/// The limit after which a loop counts as endless: seconds.
const STEPS: u64 = 100_000_000;

/// Which kernel, on how many blocks and threads, with what.
#[derive(Clone, Args)]
pub(in crate::cli) struct Launch {
    /// The PTX file, from any compiler; without one the kernels that the other commands run
    #[arg(value_name = "PTX")]
    file: Option<PathBuf>,
    /// A project's folder in place of a file: builds it by cargo, and takes the PTX of its kernels
    #[arg(long = "crate", value_name = "DIR", conflicts_with = "file")]
    package: Option<PathBuf>,
    /// What was built there.
    #[arg(skip)]
    built: OnceCell<PathBuf>,
    /// The kernel; may be left out when the file has one only
    #[arg(long)]
    kernel: Option<String>,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y,Z]", default_value = "1", value_parser = extents)]
    grid: [u32; 3],
    /// Threads of a block
    #[arg(long, value_name = "X[,Y,Z]", default_value = "32", value_parser = extents)]
    block: [u32; 3],
    /// Bytes of the dynamic shared array
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// Instructions of the launch, at most, each counted for the threads of a warp together
    #[arg(long, value_name = "N", default_value_t = STEPS)]
    pub(in crate::cli) steps: u64,
    /// An argument: see below
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(in crate::cli) args: Vec<String>,
}

impl Launch {
    /// The PTX file or the project, if one was named.
    pub(in crate::cli) fn file(&self) -> Option<&Path> {
        self.file.as_deref().or(self.package.as_deref())
    }

    /// The PTX file, which a named project is built for once.
    fn place(&self) -> Result<Option<&Path>, Failure> {
        let Some(folder) = &self.package else {
            return Ok(self.file.as_deref());
        };
        if self.built.get().is_none() {
            let clock = progress::clock(&format!("building {}", folder.display()));
            let outcome = built::build(folder, None);
            clock.finish_and_clear();
            outcome?;
            // Without one with this kernel, the error lists those that there are.
            let file =
                built::ptx(folder, self.kernel.as_deref()).or_else(|_| built::ptx(folder, None))?;
            // It was empty: nothing else sets it.
            let _ = self.built.set(file);
        }
        Ok(self.built.get().map(PathBuf::as_path))
    }

    /// Prepares an output file about the launch; refuses the path of the PTX.
    pub(in crate::cli) fn output(
        &self,
        global: &Global,
        output: &Path,
    ) -> Result<OutputFile, Failure> {
        let input = self.file.as_ref().or(global.ptx.as_ref());
        let is_input = |input: &&PathBuf| match (output.canonicalize(), input.canonicalize()) {
            (Ok(output), Ok(input)) => output == input,
            _ => false,
        };
        if let Some(input) = input.filter(is_input) {
            return Err(Failure::new(format!(
                "the output would take the place of {}",
                input.display()
            ))
            .hint("name another file for it"));
        }
        Ok(OutputFile::prepare(output)?)
    }

    /// The PTX, as text and parsed.
    pub(in crate::cli) fn read(&self, global: &Global) -> Result<(PtxFile, Module), Failure> {
        let alone = self.package.as_deref().and_then(built::alone);
        let ptx = match self.place()? {
            Some(file) => PtxFile::read(file)?,
            None => {
                let device = global.with_kernels(Device::emulator())?;
                let kernel = self.kernel.as_deref().unwrap_or_default();
                global.ptx(&device, [kernel])?.all.swap_remove(0)
            }
        };
        drop(alone);
        let parsed = Module::parse(&ptx.text);
        let module = parsed.map_err(|error| Failure::new(format!("{}: {error}", ptx.origin)))?;
        Ok((ptx, module))
    }

    /// The named kernel, or the only one. If it has parameters and no arguments were given, the
    /// failure shows how to pass them to `command`.
    pub(in crate::cli) fn kernel<'m>(
        &self,
        origin: &str,
        module: &'m Module,
        command: &str,
    ) -> Result<&'m Entry, Failure> {
        let kernels: Vec<&Entry> = module.entries().collect();
        let kernel = self.choose(origin, &kernels)?;
        if let Some(reason) = kernel.unsupported() {
            let name = kernel.name();
            let message = format!("{origin}: kernel `{name}` cannot run here: {reason}");
            let others = kernels
                .iter()
                .filter(|kernel| kernel.unsupported().is_none());
            let others: Vec<_> = others.map(|kernel| kernel.name()).collect();
            let failure = Failure::new(message);
            return Err(match others[..] {
                [] => failure,
                _ => failure.hint(format!("these can: {}", others.join(", "))),
            });
        }
        if self.args.is_empty() && !kernel.params().is_empty() {
            let file = match (&self.file, &self.package) {
                (Some(file), _) => format!(" {}", file.display()),
                (None, Some(folder)) => format!(" --crate {}", folder.display()),
                (None, None) => String::new(),
            };
            let name = kernel.name();
            let command = format!("{command}{file} --kernel {name}");
            return Err(kernel_arguments::missing(module, kernel, &command).into());
        }
        Ok(kernel)
    }

    fn choose<'m>(&self, origin: &str, kernels: &[&'m Entry]) -> Result<&'m Entry, Failure> {
        let listed = |kernel: &&Entry| match kernel.unsupported() {
            None => kernel.name().to_owned(),
            Some(reason) => format!("{} (cannot run here, line {})", kernel.name(), reason.line),
        };
        let names: Vec<_> = kernels.iter().map(listed).collect();
        let names = names.join(", ");
        match (&self.kernel, kernels) {
            (_, []) => Err(Failure::new(format!("{origin} has no kernel"))
                .hint("a kernel is a function that the PTX calls .entry")),
            (None, [only]) => Ok(only),
            (None, _) => Err(
                Failure::new(format!("{origin} has several kernels: {names}"))
                    .hint("choose one with --kernel"),
            ),
            (Some(name), _) => {
                let named = kernels.iter().find(|kernel| kernel.name() == name);
                let missing = || {
                    let near = nearest(name, kernels.iter().map(|kernel| kernel.name()));
                    let failure = match kernels.len() {
                        ..=MOST_NAMES => {
                            format!("{origin} has no kernel `{name}`; it has: {names}")
                        }
                        count => format!("none of the {count} kernels of {origin} is `{name}`"),
                    };
                    match near {
                        Some(near) => {
                            let own = match self.file() {
                                None => "; `--crate DIR` takes a project's own kernels",
                                Some(_) => "",
                            };
                            let hint = format!("`{near}` is the nearest name{own}");
                            Failure::new(failure).hint(hint)
                        }
                        None if kernels.len() > MOST_NAMES => Failure::new(failure).hint(
                            "without a name the error lists them all; `--crate DIR` takes a project's own",
                        ),
                        None => Failure::new(failure),
                    }
                };
                named.copied().ok_or_else(missing)
            }
        }
    }

    /// An emulator that stops endless loops.
    pub(in crate::cli) fn emulator(&self) -> Emulator {
        Emulator::new(Limits {
            warp_instructions: self.steps,
            ..Limits::default()
        })
    }

    /// The shape of the launch.
    ///
    /// Each warp executes at least one instruction, so a grid can be too large for `--steps` before
    /// it starts.
    pub(in crate::cli) fn config(&self) -> Result<LaunchConfig, Failure> {
        let count = |extents: [u32; 3]| extents.map(u128::from).iter().product::<u128>();
        let threads = count(self.block);
        let warps = count(self.grid) * threads.div_ceil(32);
        // Extents that no grid or block can have are refused by the launch itself.
        let [x, y, z] = self.grid;
        let is_a_launch =
            x <= i32::MAX as u32 && y.max(z) <= u32::from(u16::MAX) && threads <= 1024;
        if is_a_launch && warps > self.steps.into() {
            let what = format!(
                "the grid has {warps} warps, and the launch may take {} instructions",
                self.steps
            );
            return Err(Failure::new(what).hint("a smaller --grid, or a larger --steps"));
        }
        Ok(LaunchConfig {
            grid: self.grid,
            block: self.block,
            dynamic_shared_bytes: self.shared,
        })
    }
}

/// `X`, `X,Y` or `X,Y,Z`.
fn extents(text: &str) -> Result<[u32; 3], String> {
    let mut extents = [1; 3];
    let numbers: Vec<&str> = text.split(',').collect();
    if numbers.len() > 3 {
        return Err("three numbers at most".to_owned());
    }
    for (extent, number) in extents.iter_mut().zip(numbers) {
        *extent = number
            .parse()
            .map_err(|_| format!("`{number}` is no number of blocks or threads"))?;
    }
    Ok(extents)
}
