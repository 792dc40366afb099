//! Embedding: a crate's build script compiles the crate a second time, for the device.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::pieces::{Piece, pieces};
use crate::tools::variables;
use crate::{CudaBuilder, CudaBuilderError, DebugInfo, NvvmArch, files, habits, warnings};

/// The environment variable whose architectures replace the build script's: `sm_80,sm_90a`.
const ARCH: &str = "BLOCKWISE_ARCH";

/// The environment variable that asks for debug information in each build: `full`, as
/// [`DebugInfo::Full`], or `locals`, as [`DebugInfo::Locals`]. `blockwise debug` sets it for a
/// launch with `"build": "debug"` or `"build": "locals"`.
const DEBUG: &str = "BLOCKWISE_DEBUG_INFO";

/// Embeds the kernels of the package whose build script is running. See [`Embed`].
pub fn embed() -> Embed {
    Embed {
        archs: Vec::new(),
        configure: Box::new(|builder| builder),
    }
}

/// Builds a package's own kernels in its build script and embeds the PTX.
///
/// In `main` of the `build.rs`:
///
/// ```no_run
/// cuda_builder::embed().finish();
/// ```
///
/// In the manifest:
///
/// ```toml
/// [package]
/// links = "my_project_kernels" # any unique name: then the device build skips this build script
///
/// [dependencies]
/// cuda_std = { … }
///
/// [target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
/// # host-only dependencies
///
/// [build-dependencies]
/// cuda_builder = { … }
/// ```
///
/// In the library's root, `cuda_std::embedded_kernels!();` declares the PTX as `pub static
/// KERNELS`. The library is compiled twice; `#[cfg(target_arch = "nvptx64")]` distinguishes the
/// two.
///
/// The device build has the features of the host build. Its folder is `cuda-builder` in the target
/// folder, where all crates, profiles and features share one compiled `core`.
///
/// An error in the code is shown once: by the host's compiler at its place, or, if only the device's
/// has it, at `embedded_kernels!` as soon as the host's has none left. `cargo doc` shows none of the
/// latter. A kernel that a check refuses is reported at its definition.
///
/// Kernels are optimised in every profile: even in `cargo test`, integers wrap on overflow and
/// `debug_assert!` does nothing. With `.options(|builder|
/// builder.overflow_checks(cfg!(debug_assertions)))` overflow panics where it does on the host.
/// On docs.rs (`DOCS_RS`) nothing is built and `KERNELS` is empty.
///
/// A build script that does more, such as generating code that kernels include, must also run for
/// the device: then omit `links`.
#[must_use = "nothing is built until `finish` is called"]
pub struct Embed {
    archs: Vec<Wanted>,
    configure: Box<dyn Fn(CudaBuilder) -> CudaBuilder + Sync>,
}

impl Embed {
    /// Adds an architecture. The default is [`NvvmArch::Compute80`]. The environment variable
    /// `BLOCKWISE_ARCH` (`sm_80,sm_90a`) replaces them all.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.archs.push(Wanted::whole(arch));
        self
    }

    /// Adds several architectures, which are built in parallel.
    pub fn archs(mut self, archs: impl IntoIterator<Item = NvvmArch>) -> Self {
        self.archs.extend(archs.into_iter().map(Wanted::whole));
        self
    }

    /// Adds an architecture for some kernels only, by their names in the PTX: those that its
    /// instructions speed up. A device loads the others from the next best file. One architecture
    /// must have all kernels: [`NvvmArch::Compute80`] is added if none has.
    pub fn arch_for(mut self, arch: NvvmArch, kernels: &'static [&'static str]) -> Self {
        let wanted = Wanted::whole(arch);
        self.archs.push(Wanted {
            only: kernels,
            ..wanted
        });
        self
    }

    /// Like [`arch_for`](Self::arch_for), but only in release builds, or where `BLOCKWISE_ARCH`
    /// names the architecture next to one with all kernels. A debug build saves the time for
    /// another `core` and another run of LLVM.
    pub fn release_arch_for(mut self, arch: NvvmArch, kernels: &'static [&'static str]) -> Self {
        self = self.arch_for(arch, kernels);
        if let Some(wanted) = self.archs.last_mut() {
            wanted.only_in_release = true;
        }
        self
    }

    /// Sets options of each build: `.options(|builder| builder.ftz(true))`. A flag for rustc:
    /// `builder.build_args(&["--", "--cfg=fast"])`; those in cargo's settings are the host's.
    pub fn options(mut self, set: impl Fn(CudaBuilder) -> CudaBuilder + Sync + 'static) -> Self {
        self.configure = Box::new(set);
        self
    }

    /// Builds the PTX, and writes `kernels.rs` to the build script's output folder.
    ///
    /// # Panics
    /// Outside a build script, or if the output folder cannot be written.
    pub fn finish(self) {
        let script = Script::new();
        if script.is_for_device {
            // Without any such line, cargo would watch every file of the package.
            println!("cargo:rerun-if-env-changed={ARCH}");
            return;
        }
        script.tell_cargo();
        let result = self.build(&script);
        if result.is_err() {
            // Watches a file that never exists, so that the script runs again: missing tools may be
            // installed without any change that cargo sees.
            println!(
                "cargo:rerun-if-changed={}",
                script.out.join("retry").display()
            );
        }
        let write = |name: &str, text: &str| {
            files::write_if_different(&script.out.join(name), text.as_bytes())
                .unwrap_or_else(|error| panic!("{error}"));
        };
        let (built, failure) = match result {
            Ok(built) => (built, Failure::default()),
            Err(failure) => (Vec::new(), failure),
        };
        for (name, text) in failure.files() {
            write(name, &text);
        }
        write("kernels.rs", &code(&built));
    }

    /// Writes the PTX to the output folder; fails with the text to show.
    fn build(&self, script: &Script) -> Result<Vec<Built>, Failure> {
        if std::env::var_os("DOCS_RS").is_some() {
            return Ok(Vec::new());
        }
        let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
        let archs = self.chosen(std::env::var(ARCH).ok(), release)?;
        let debug = debug_info(std::env::var(DEBUG).ok().as_deref())?;
        let results: Vec<_> = std::thread::scope(|scope| {
            let build = |&wanted| scope.spawn(move || self.build_for(wanted, debug, script));
            let builds: Vec<_> = archs.iter().map(build).collect();
            builds
                .into_iter()
                .map(|build| {
                    build
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        let (mut built, mut known, mut failure) = (Vec::new(), Vec::new(), Failure::default());
        for (wanted, result) in archs.into_iter().zip(results) {
            let error = match result {
                Ok(pieces) => {
                    built.push(Built { wanted, pieces });
                    continue;
                }
                Err(error) => error,
            };
            // An error in the code is the same on every architecture: show it once.
            let cause = error.to_string().replace(&wanted.arch.to_string(), "");
            if !known.contains(&cause) {
                known.push(cause);
                // The host's compiler shows the error; the line to write is beside it.
                if error.is_in_the_code() {
                    warnings::show(&habits::notes(&error.to_string()).join("\n"));
                }
                failure.add(&error, &script.package, wanted.arch);
            }
        }
        match known.is_empty() {
            true => Ok(built),
            false => Err(failure),
        }
    }

    fn build_for(
        &self,
        Wanted { arch, only, .. }: Wanted,
        debug: Option<DebugInfo>,
        script: &Script,
    ) -> Result<Vec<Piece>, CudaBuilderError> {
        // Features first: what `options` adds may end with rustc's own arguments, after `--`.
        let builder = CudaBuilder::new(&script.folder).build_args(&script.features());
        let builder = builder.arch(arch);
        let builder = (self.configure)(builder).only(only);
        let builder = match debug {
            Some(debug) => builder.debug(debug),
            None => builder,
        };
        let ptx = builder.build_text()?;
        let (pieces, bytes) = pieces(&ptx);
        files::write_if_different(&script.out.join(file_name(arch)), &bytes)?;
        Ok(pieces)
    }

    /// Each architecture once, in the order given.
    fn chosen(&self, variable: Option<String>, release: bool) -> Result<Vec<Wanted>, String> {
        let mut archs = self.archs.clone();
        archs.retain(|wanted| release || !wanted.only_in_release);
        if let Some(variable) = variable.filter(|variable| !variable.is_empty()) {
            let whole: Vec<_> = variable
                .split(',')
                .map(|name| name.trim().parse().map(Wanted::whole))
                .collect::<Result<_, _>>()
                .map_err(|error| format!("{ARCH}={variable}: {error}"))?;
            // An architecture that the script wants for some kernels only stays so, unless no
            // other one has all kernels.
            let own = |wanted: &Wanted| self.archs.iter().find(|own| own.arch == wanted.arch);
            let named = |wanted| own(wanted).copied().unwrap_or(*wanted);
            archs = whole.iter().map(named).collect();
            if archs.iter().all(|wanted| !wanted.only.is_empty()) {
                archs = whole;
            }
        }
        if archs.iter().all(|wanted| !wanted.only.is_empty()) {
            archs.insert(0, Wanted::whole(NvvmArch::default()));
        }
        let mut seen = Vec::new();
        archs.retain(|wanted| !seen.contains(&wanted.arch) && (seen.push(wanted.arch), true).1);
        Ok(archs)
    }
}

/// What the environment asks for; `None` for what the build script itself does.
fn debug_info(variable: Option<&str>) -> Result<Option<DebugInfo>, String> {
    match variable {
        None | Some("") => Ok(None),
        Some("full") => Ok(Some(DebugInfo::Full)),
        Some("locals") => Ok(Some(DebugInfo::Locals)),
        Some(other) => Err(format!(
            "{DEBUG}={other}: the values are `full` and `locals`"
        )),
    }
}

/// One file to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    arch: NvvmArch,
    /// These kernels; all if empty.
    only: &'static [&'static str],
    only_in_release: bool,
}

impl Wanted {
    fn whole(arch: NvvmArch) -> Self {
        Wanted {
            arch,
            only: &[],
            only_in_release: false,
        }
    }
}

/// A file that has been written to the output folder.
struct Built {
    wanted: Wanted,
    pieces: Vec<Piece>,
}

fn file_name(arch: NvvmArch) -> String {
    format!("kernels.{arch}.deflate")
}

/// Values that cargo passes to the build script.
struct Script {
    folder: PathBuf,
    out: PathBuf,
    package: String,
    /// Enabled features, separated by commas.
    features: String,
    is_for_device: bool,
}

impl Script {
    fn new() -> Self {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| {
                panic!("`cuda_builder::embed` belongs into a build script: {name} is not set")
            })
        };
        Script {
            folder: variable("CARGO_MANIFEST_DIR").into(),
            out: variable("OUT_DIR").into(),
            package: variable("CARGO_PKG_NAME"),
            features: std::env::var("CARGO_CFG_FEATURE").unwrap_or_default(),
            is_for_device: variable("CARGO_CFG_TARGET_ARCH") == "nvptx64",
        }
    }

    /// Prints what cargo needs to know of the host build; [`CudaBuilder`] lists the source files.
    fn tell_cargo(&self) {
        // With this, `#[kernel]` associates each kernel with `crate::KERNELS`.
        println!("cargo:rustc-env=CUDA_STD_KERNELS=1");
        // Declares the cfgs that kernels may test; only the device build sets them.
        let known: Vec<_> = NvvmArch::ALL
            .iter()
            .map(|arch| format!("\"{}\"", arch.target_feature()))
            .collect();
        println!(
            "cargo:rustc-check-cfg=cfg(target_feature, values({}))",
            known.join(", ")
        );
        let tools = [
            variables::RUSTC,
            variables::CARGO,
            variables::LLVM_BIN,
            variables::LIBDEVICE,
        ];
        for variable in [ARCH, DEBUG, "DOCS_RS"].into_iter().chain(tools) {
            println!("cargo:rerun-if-env-changed={variable}");
        }
    }

    fn features(&self) -> Vec<String> {
        let mut arguments = vec!["--no-default-features".to_owned()];
        if !self.features.is_empty() {
            arguments.push(format!("--features={}", self.features));
        }
        arguments
    }
}

/// The contents of `kernels.rs`: the list that `embedded_kernels!` puts into `KERNELS`.
fn code(built: &[Built]) -> String {
    let mut code = "&[\n".to_owned();
    for Built { wanted, pieces } in built {
        let Wanted { arch, only, .. } = wanted;
        let name = file_name(*arch);
        let _ = writeln!(code, "    KernelsFile {{\n        arch: \"{arch}\",");
        let _ = writeln!(code, "        only: &{only:?},\n        pieces: &[");
        for piece in pieces {
            let _ = writeln!(code, "            {piece:?},");
        }
        let _ = writeln!(
            code,
            "        ],\n        bytes: include_bytes!({name:?}),\n    }},"
        );
    }
    code + "]\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use NvvmArch::{Compute80, Compute90, Compute90a};

    #[test]
    fn architectures_come_from_the_script_or_the_variable() {
        let chosen = |embed: Embed, variable: Option<&str>| {
            let chosen = embed.chosen(variable.map(str::to_owned), false);
            chosen.map(|all| all.iter().map(|wanted| wanted.arch).collect::<Vec<_>>())
        };
        assert_eq!(chosen(embed(), None), Ok(vec![Compute80]));
        let twice = || embed().arch(Compute90).archs([Compute80, Compute90]);
        assert_eq!(chosen(twice(), None), Ok(vec![Compute90, Compute80]));
        assert_eq!(chosen(twice(), Some("")), Ok(vec![Compute90, Compute80]));
        let variable = Some("sm_80, sm_90a");
        assert_eq!(chosen(embed(), variable), Ok(vec![Compute80, Compute90a]));
        let partial = || embed().arch_for(Compute90a, &["k"]);
        assert_eq!(chosen(partial(), None), Ok(vec![Compute80, Compute90a]));
        assert_eq!(chosen(partial(), Some("sm_90")), Ok(vec![Compute90]));
        let error = chosen(embed(), Some("sm_12")).unwrap_err();
        assert!(
            error.starts_with("BLOCKWISE_ARCH=sm_12: unknown architecture"),
            "{error}"
        );
    }

    #[test]
    fn debug_information_is_asked_for_by_name() {
        assert_eq!(debug_info(None), Ok(None));
        assert_eq!(debug_info(Some("")), Ok(None));
        assert_eq!(debug_info(Some("full")), Ok(Some(DebugInfo::Full)));
        assert_eq!(debug_info(Some("locals")), Ok(Some(DebugInfo::Locals)));
        let refused = debug_info(Some("2")).unwrap_err();
        assert!(refused.contains("BLOCKWISE_DEBUG_INFO=2"), "{refused}");
    }

    #[test]
    fn what_only_release_builds_have_can_be_asked_for() {
        let chosen = |variable: Option<&str>, release| {
            let embed = embed().release_arch_for(Compute90a, &["k"]);
            let chosen = embed.chosen(variable.map(str::to_owned), release).unwrap();
            let chosen = chosen.into_iter().map(|wanted| (wanted.arch, wanted.only));
            chosen.collect::<Vec<_>>()
        };
        let both: [(_, &[&str]); 2] = [(Compute80, &[]), (Compute90a, &["k"])];
        assert_eq!(chosen(None, false), both[..1]);
        assert_eq!(chosen(None, true), both);
        assert_eq!(chosen(Some("sm_80,sm_90a"), false), both);
        // As the only architecture it must have all kernels.
        assert_eq!(chosen(Some("sm_90a"), false), [(Compute90a, &[][..])]);
    }

    #[test]
    fn the_code_lists_the_files() {
        let piece = |kernel: &str, lines| Piece {
            kernel: kernel.to_owned(),
            lines,
            len: 2,
            compressed: 3,
        };
        let built = |arch, only, pieces| Built {
            wanted: Wanted {
                only,
                ..Wanted::whole(arch)
            },
            pieces,
        };
        let text = code(&[
            built(Compute80, &[], vec![piece("", 1)]),
            built(Compute90a, &["k"], vec![piece("", 4), piece("k", 5)]),
        ]);
        assert_eq!(
            text,
            "&[\n    KernelsFile {\n        arch: \"sm_80\",\n        only: &[],\n        pieces: &[\n            \
             Piece { kernel: \"\", lines: 1, len: 2, compressed: 3 },\n        ],\n        bytes: include_bytes!(\"kernels.sm_80.deflate\"),\n    },\n    \
             KernelsFile {\n        arch: \"sm_90a\",\n        only: &[\"k\"],\n        pieces: &[\n            \
             Piece { kernel: \"\", lines: 4, len: 2, compressed: 3 },\n            \
             Piece { kernel: \"k\", lines: 5, len: 2, compressed: 3 },\n        ],\n        bytes: include_bytes!(\"kernels.sm_90a.deflate\"),\n    },\n]\n"
        );
        assert_eq!(code(&[]), "&[\n]\n");
    }
}
