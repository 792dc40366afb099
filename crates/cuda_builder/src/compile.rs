//! rustc's part: one `cargo rustc` call that leaves LLVM bitcode.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::{CudaBuilderError, io_error};
use crate::obsolete::{self, Copies};
use crate::output::lock;
use crate::package::{Graph, Package};
use crate::sysroot::Sysroot;
use crate::tools::Toolchain;
use crate::{CudaBuilder, DebugInfo, wrapper};

/// rustc's name of the target. It has no prebuilt standard library: core is built from source.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// The archives that a build left, each a set of bitcode files.
pub(crate) struct Bitcode {
    /// The crate's name as its library's file has it.
    pub(crate) name: String,
    /// The crate and its dependencies. Any of them may hold kernels.
    pub(crate) crates: Vec<PathBuf>,
    /// core, alloc and compiler_builtins: only what is used is linked.
    pub(crate) sysroot: Sysroot,
    /// Where outputs go.
    pub(crate) target_folder: PathBuf,
    /// Where fetched tools lie, for every build of the workspace.
    pub(crate) tools_folder: PathBuf,
    /// The crate's folder, for messages.
    pub(crate) crate_folder: PathBuf,
    graph: Graph,
    /// Held until the PTX is printed from these files.
    #[expect(dead_code, reason = "it is there to be dropped")]
    lock: Option<File>,
}

impl Bitcode {
    /// Compiles the crate for the device.
    pub(crate) fn compile(
        builder: &CudaBuilder,
        toolchain: &Toolchain,
    ) -> Result<Self, CudaBuilderError> {
        let package = Package::find(builder, toolchain)?;
        let lock = Some(lock(&package.target_folder, &package.library)?);
        let graph = Graph::read(builder, toolchain, &package);
        let sysroot = Sysroot::find_or_build(builder, toolchain, &package)?;
        let mut command = cargo_rustc(builder, toolchain, &package, &graph, &sysroot);
        let copies = Copies::of(&package.target_folder);
        if copies.make(toolchain, &graph.libraries)? || graph.has_linked_dependency {
            command.env("RUSTC_WRAPPER", wrapper::write(&package.target_folder)?);
        }
        let (status, messages, diagnostics) = run(&mut command, &toolchain.cargo)?;
        if !status {
            return Err(CudaBuilderError::Compile {
                path: package.folder,
                target: builder.arch.target_cpu(),
                message: diagnostics,
            });
        }
        // cargo reports in the order in which crates were ready, which differs from run to run; the link order decides the
        // order of functions in the PTX.
        let mut crates: Vec<_> = archives(&messages).collect();
        crates.sort();
        Ok(Bitcode {
            name: package.library,
            crates,
            sysroot,
            target_folder: package.target_folder,
            tools_folder: package.tools_folder,
            crate_folder: package.folder,
            graph,
            lock,
        })
    }

    /// Prints a `rerun-if-changed` line for every manifest and source file of the crate and its local dependencies.
    pub(crate) fn tell_cargo_what_to_watch(&self) {
        let own = self.crate_folder.join("Cargo.toml");
        let files = self.graph.manifests.iter().cloned().chain([own]);
        let files: BTreeSet<_> = files.chain(self.sources()).collect();
        // What a build script generated for the device is no source.
        let is_source = |file: &&PathBuf| !file.starts_with(&self.target_folder);
        for file in files.iter().filter(is_source) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }

    /// The source files of those local packages that are compiled for the device.
    pub(crate) fn device_sources(&self) -> impl Iterator<Item = PathBuf> {
        let files = self.sources().into_iter();
        files.filter(|file| self.graph.is_on_device(file))
    }

    /// The source files of the crate and its local dependencies, sorted.
    fn sources(&self) -> Vec<PathBuf> {
        let copies = Copies::of(&self.target_folder);
        let mut files = BTreeSet::new();
        for archive in &self.crates {
            // Beside the crate's own library cargo leaves a make rule that names all sources of local packages.
            let Ok(rule) = std::fs::read_to_string(archive.with_extension("d")) else {
                continue;
            };
            files.extend(
                sources_of_rule(&rule)
                    .into_iter()
                    .map(|file| copies.original(&file).unwrap_or(file))
                    // cargo also names the sources of a build script's dependencies.
                    .filter(|file| {
                        !(self.graph.host_only.iter()).any(|folder| file.starts_with(folder))
                    }),
            );
        }
        files.into_iter().collect()
    }
}

/// The prerequisites of a make rule (`output: a.rs b.rs`), in which a blank inside a name is written `\ `.
fn sources_of_rule(rule: &str) -> Vec<PathBuf> {
    let sources = rule
        .lines()
        .next()
        .and_then(|line| line.split_once(": "))
        .map_or("", |(_, sources)| sources);
    sources
        .replace("\\ ", "\0")
        .split_whitespace()
        .map(|path| PathBuf::from(path.replace('\0', " ")))
        .collect()
}

/// The archives that were built for the device, from cargo's messages.
pub(crate) fn archives(messages: &str) -> impl Iterator<Item = PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message["reason"] == "compiler-artifact")
        .flat_map(|message| match &message["filenames"] {
            Value::Array(names) => names.clone(),
            _ => Vec::new(),
        })
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "rlib")
        })
        .filter(|path| path.components().any(|part| part.as_os_str() == TARGET))
}

/// The name of cargo's profile in variables, and how it optimises.
pub(crate) fn profile(builder: &CudaBuilder) -> (&'static str, &'static str) {
    if builder.release {
        ("RELEASE", "3")
    } else {
        ("DEV", "1")
    }
}

/// What positions the bitcode holds.
fn debug(builder: &CudaBuilder) -> &'static str {
    if builder.debug == DebugInfo::Full {
        "2"
    } else {
        "line-directives-only"
    }
}

/// `cargo rustc` for the device. Profile settings that would change the bitcode's form are overridden.
pub(crate) fn cargo(builder: &CudaBuilder, toolchain: &Toolchain, flags: &[String]) -> Command {
    let ((profile, optimise), debug) = (profile(builder), debug(builder));
    let mut command = toolchain.command();
    command
        .args(["rustc", "--lib", "--crate-type", "rlib", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .env("RUSTC_BOOTSTRAP", "1") // unstable flags on the stable compiler, as the Linux kernel's build does
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CUDA_ARCH", format!("{}0", builder.arch.capability_value()))
        .env(format!("CARGO_PROFILE_{profile}_OPT_LEVEL"), optimise)
        .env(format!("CARGO_PROFILE_{profile}_DEBUG"), debug)
        .env(format!("CARGO_PROFILE_{profile}_PANIC"), "abort")
        .env(format!("CARGO_PROFILE_{profile}_LTO"), "off")
        .env(format!("CARGO_PROFILE_{profile}_CODEGEN_UNITS"), "1")
        .env(format!("CARGO_PROFILE_{profile}_STRIP"), "none")
        .env(format!("CARGO_PROFILE_{profile}_INCREMENTAL"), "false");
    if builder.release {
        command.arg("--release");
    }
    if std::io::stderr().is_terminal() {
        command.args(["--color", "always"]);
    }
    command
}

/// The call that compiles the crate.
fn cargo_rustc(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    package: &Package,
    graph: &Graph,
    sysroot: &Sysroot,
) -> Command {
    let mut flags = flags(builder);
    flags.push(sysroot.flag());
    let mut command = cargo(builder, toolchain, &flags);
    command
        // The package of this folder; its name may also be one of its dependencies'.
        .current_dir(&package.folder)
        .arg("--target-dir")
        .arg(&package.target_folder);
    for links in &graph.embedding {
        let finished = format!("target.{TARGET}.{links}.blockwise=\"1\"");
        command.args(["--config", &finished]);
    }
    command.args(&builder.build_args);
    command
}

/// rustc's flags for every crate of the build, core included.
pub(crate) fn flags(builder: &CudaBuilder) -> Vec<String> {
    let arch = builder.arch;
    let mut flags: Vec<_> = [
        // Address spaces must be lowered before any of LLVM's optimisations (see `ir`).
        "-Cno-prepopulate-passes",
        // This pass copies blocks that hold barriers (rust-lang/rust#137086).
        "-Zmir-enable-passes=-JumpThreading",
        // rust-cuda's kernel crates carry neither attribute: its builder adds them too.
        "-Zcrate-attr=no_std",
        // The attributes of rust-cuda's own backend are names here too; `nvvm` says where one would have had an effect.
        "-Zcrate-attr=register_tool(nvvm_internal)",
        "-Astable_features",
        "-Aunused_features",
        "-Aunused_attributes",
        "-Ccollapse-macro-debuginfo=no",
        // The cfgs below look like the compiler's own.
        "-Aexplicit_builtin_cfgs_in_flags",
        "-Aunexpected_cfgs",
    ]
    .map(str::to_owned)
    .into();
    flags.push(format!(
        "-Zcrate-attr=feature({})",
        obsolete::GIVEN.join(",")
    ));
    flags.push(format!("-Ctarget-cpu={}", arch.target_cpu()));
    // Positions are always there: the barrier check compares them. They are stripped later if not wanted.
    flags.push(format!("-Cdebuginfo={}", debug(builder)));
    let features = arch.all_target_features();
    flags.extend(
        features
            .iter()
            .map(|arch| format!("--cfg=target_feature=\"{}\"", arch.target_feature())),
    );
    flags
}

/// Runs cargo; shows its progress as it comes and keeps it for the error. Returns (success, stdout, stderr).
pub(crate) fn run(
    command: &mut Command,
    cargo: &Path,
) -> Result<(bool, String, String), CudaBuilderError> {
    let start = |source| CudaBuilderError::Start {
        tool: cargo.to_owned(),
        source,
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (messages, diagnostics) = std::thread::scope(|scope| {
        let diagnostics = scope.spawn(|| stderr.map(show_and_keep).unwrap_or_default());
        let mut messages = String::new();
        // A message that is no UTF-8 ends the list early; the missing archives then fail the link with their names.
        let _ = stdout.map(|mut stdout| stdout.read_to_string(&mut messages));
        (messages, diagnostics.join().unwrap_or_default())
    });
    let status = child.wait().map_err(io_error("wait for", cargo))?;
    Ok((status.success(), messages, diagnostics))
}

/// Passes lines on to our own standard error and collects those that are not just progress.
fn show_and_keep(stderr: impl Read) -> String {
    let mut kept = String::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // Nobody reads it? Then nobody misses it.
        let _ = writeln!(std::io::stderr(), "{line}");
        let is_progress = [
            "Compiling ",
            "Downloading ",
            "Downloaded ",
            "Finished ",
            "Updating ",
            "Locking ",
        ]
        .iter()
        .any(|word| line.trim_start().starts_with(word));
        if !is_progress {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_with_blanks_in_names_is_split_right() {
        let rule = "/t/libk.rlib: /my\\ code/lib.rs /my\\ code/a.rs\n\n/my\\ code/lib.rs:\n";
        assert_eq!(
            sources_of_rule(rule),
            [Path::new("/my code/lib.rs"), Path::new("/my code/a.rs")]
        );
    }

    #[test]
    fn archives_of_the_host_are_no_bitcode() {
        let messages = r#"
            {"reason":"compiler-artifact","filenames":["/t/nvptx64-nvidia-cuda/release/libk.rlib"]}
            {"reason":"compiler-artifact","filenames":["/t/release/deps/libsyn-1.rlib"]}
            {"reason":"compiler-artifact","filenames":["/t/nvptx64-nvidia-cuda/release/libk.rmeta"]}
            {"reason":"build-finished","success":true}
            no message"#;
        let expected = Path::new("/t/nvptx64-nvidia-cuda/release/libk.rlib");
        assert_eq!(archives(messages).collect::<Vec<_>>(), [expected]);
    }
}
