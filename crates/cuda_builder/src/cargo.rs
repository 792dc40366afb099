//! Calls of cargo for the device: rustc's flags, the profile, and what cargo reports.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::arch::TARGET;
use crate::error::{CudaBuilderError, io_error};
use crate::tools::Toolchain;
use crate::{CudaBuilder, DebugInfo, obsolete, warnings};

/// The name of cargo's profile in variables, and its optimisation level.
pub(crate) fn profile(builder: &CudaBuilder) -> (&'static str, &'static str) {
    let optimised = |level| if builder.keeps_locals() { "0" } else { level };
    if builder.release {
        ("RELEASE", optimised("3"))
    } else {
        ("DEV", optimised("1"))
    }
}

/// The source positions that the bitcode contains.
fn debug(builder: &CudaBuilder) -> &'static str {
    match builder.debug {
        DebugInfo::Full | DebugInfo::Locals => "2",
        DebugInfo::None | DebugInfo::LineTables => "line-directives-only",
    }
}

/// `cargo rustc` for the device. Profile settings that would change the bitcode's form are
/// overridden.
pub(crate) fn cargo(builder: &CudaBuilder, toolchain: &Toolchain, flags: &[String]) -> Command {
    let ((profile, optimise), debug) = (profile(builder), debug(builder));
    let mut command = toolchain.command();
    command
        .args(["rustc", "--lib", "--crate-type", "rlib", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .env("RUSTC_BOOTSTRAP", "1") // unstable flags on the stable compiler, as the Linux kernel's build does
        // A panic of the compiler is part of the error and leaves no file.
        .env("RUSTC_ICE", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CUDA_ARCH", format!("{}0", builder.arch.capability_value()))
        .env(format!("CARGO_PROFILE_{profile}_OPT_LEVEL"), optimise)
        .env(format!("CARGO_PROFILE_{profile}_DEBUG"), debug)
        .env(format!("CARGO_PROFILE_{profile}_PANIC"), "abort")
        .env(format!("CARGO_PROFILE_{profile}_LTO"), "off")
        .env(format!("CARGO_PROFILE_{profile}_CODEGEN_UNITS"), "1")
        .env(format!("CARGO_PROFILE_{profile}_STRIP"), "none")
        .env(format!("CARGO_PROFILE_{profile}_INCREMENTAL"), "false");
    if builder.overflow_checks {
        command.env(format!("CARGO_PROFILE_{profile}_OVERFLOW_CHECKS"), "true");
    }
    if builder.release {
        command.arg("--release");
    }
    if std::io::stderr().is_terminal() {
        command.args(["--color", "always"]);
    }
    command
}

/// Makes cargo pass over `[unstable]` tables of its settings, as a stable one does. Ours obeys them, as
/// a nightly one and Debian's do, and `build-std` would give it a second core. cargo has no setting for
/// this, only the variable of its own tests.
pub(crate) fn without_unstable_tables(command: &mut Command) {
    command.env("__CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS", "stable");
}

/// Whether settings that apply in this folder have such a table.
pub(crate) fn has_unstable_table(toolchain: &Toolchain, folder: &Path) -> bool {
    let mut command = toolchain.command();
    command
        .args(["-Zunstable-options", "config", "get", "unstable"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(folder);
    (command.output()).is_ok_and(|output| output.status.success())
}

/// The variable of cargo's setting `target.nvptx64-nvidia-cuda.rustflags`.
const FLAGS: &str = "CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS";

/// Warns of rustc's flags that are meant for the device alone. They take no part in the build: with
/// most of them the bitcode would have another form than the passes expect. Flags for every target
/// are taken to be the host's.
pub(crate) fn warn_of_ignored_flags(toolchain: &Toolchain, folder: &Path) {
    let mut command = toolchain.command();
    command
        .args(["-Zunstable-options", "config", "get", "--show-origin"])
        .arg("target")
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(folder);
    let settings = (command.output()).map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let mut ignored = of_the_device(&settings);
    if std::env::var_os(FLAGS).is_some_and(|flags| !flags.is_empty()) {
        ignored.push((FLAGS.to_owned(), "the environment".to_owned()));
    }
    for (setting, place) in &ignored {
        warnings::show(&format!(
            "`{setting}` in {place} has no effect on kernels; rustc's flags for a kernel crate go to the builder: \
             `.build_args(&[\"--\", \"--cfg=FLAG\"])`, after `cuda_builder::embed()` in \
             `.options(|builder| builder.build_args(..))`"
        ));
    }
    if std::env::var_os("OUT_DIR").is_some() {
        println!("cargo:rerun-if-env-changed={FLAGS}");
        // So that the warning ends when they are removed.
        for (_, place) in ignored
            .iter()
            .filter(|(_, place)| Path::new(place).is_file())
        {
            println!("cargo:rerun-if-changed={place}");
        }
    }
}

/// The settings with the device's flags and their files, of what `cargo config get --show-origin
/// target` prints: `target.TRIPLE.rustflags = "FLAGS" # FILE`, or a list, each element with its file.
fn of_the_device(settings: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut list = None;
    for line in settings.lines() {
        let setting = match line.split_once(".rustflags = ") {
            Some((target, value)) => {
                let setting = (target.contains("nvptx64") && !target.contains("not("))
                    .then(|| format!("{target}.rustflags"));
                list = setting.clone().filter(|_| value == "[");
                setting
            }
            None => list.clone(),
        };
        if line == "]" {
            list = None;
        }
        let place = line.rsplit_once(" # ").map(|(_, place)| place.to_owned());
        let both = setting.zip(place);
        found.extend(both.filter(|both| !found.contains(both)));
    }
    found
}

/// rustc's flags for every crate of the build, core included.
pub(crate) fn flags(builder: &CudaBuilder) -> Vec<String> {
    let arch = builder.arch;
    let mut flags: Vec<_> = [
        // Address spaces must be lowered before any LLVM optimisation (see `ir`).
        "-Cno-prepopulate-passes",
        // This pass duplicates blocks that contain barriers (rust-lang/rust#137086).
        "-Zmir-enable-passes=-JumpThreading",
        // rust-cuda's kernel crates have neither attribute: its builder adds them too.
        "-Zcrate-attr=no_std",
        // Attributes of rust-cuda's backend are accepted here; `nvvm` reports any that would have
        // an effect.
        "-Zcrate-attr=register_tool(nvvm_internal)",
        "-Astable_features",
        "-Aunused_features",
        "-Aunused_attributes",
        "-Ccollapse-macro-debuginfo=no",
        // The cfgs below resemble the compiler's own.
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
    // Always on, because the barrier check compares positions; stripped later if not wanted.
    flags.push(format!("-Cdebuginfo={}", debug(builder)));
    let features = arch.all_target_features();
    flags.extend(
        features
            .iter()
            .map(|arch| format!("--cfg=target_feature=\"{}\"", arch.target_feature())),
    );
    flags
}

/// Runs cargo, forwarding its progress. The caller gets the other messages and shows them in an
/// error; those of a successful build are warnings, which are forwarded. Returns (success, stdout,
/// stderr).
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
        let diagnostics = scope.spawn(|| stderr.map(progress_and_rest).unwrap_or_default());
        let mut messages = String::new();
        // A message that is not UTF-8 ends the list early; the link then fails and names the
        // missing archives.
        let _ = stdout.map(|mut stdout| stdout.read_to_string(&mut messages));
        (messages, diagnostics.join().unwrap_or_default())
    });
    let status = child.wait().map_err(io_error("wait for", cargo))?;
    if status.success() {
        show(&diagnostics);
    }
    Ok((status.success(), messages, diagnostics))
}

/// Forwards the lines that are just progress to standard error, and collects the others.
fn progress_and_rest(stderr: impl Read) -> String {
    let mut kept = String::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = format!("{}\n", String::from_utf8_lossy(&line));
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
        if is_progress {
            show(&line);
        } else {
            kept.push_str(&line);
        }
    }
    kept
}

/// If standard error is closed, the text is dropped.
fn show(text: &str) {
    let _ = write!(std::io::stderr(), "{text}");
}

/// The archives built for the device, from cargo's messages.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn settings_for_the_device_are_found_with_their_files() {
        let settings = r#"target.'cfg(all())'.rustflags = "-Ca" # /a
target.'cfg(not(target_arch = "nvptx64"))'.rustflags = "-Cb" # /b
target.'cfg(target_arch = "nvptx64")'.rustflags = "-Zc # d" # /c d/.cargo/config.toml
target.nvptx64-nvidia-cuda.linker = "e" # /e
target.nvptx64-nvidia-cuda.rustflags = [
    "-Cf", # /f
    "-Cg", # /f
    "-Ch", # /h
]
target.x86_64-unknown-linux-gnu.rustflags = [
    "-Ci", # /i
]
"#;
        let all = of_the_device(settings);
        let all: Vec<_> = all.iter().map(|(key, file)| (&**key, &**file)).collect();
        let key = "target.nvptx64-nvidia-cuda.rustflags";
        let by_arch = "target.'cfg(target_arch = \"nvptx64\")'.rustflags";
        assert_eq!(
            all,
            [
                (by_arch, "/c d/.cargo/config.toml"),
                (key, "/f"),
                (key, "/h")
            ]
        );
        assert!(of_the_device("target.nvptx64-nvidia-cuda.rustflags = []\n").is_empty());
    }
}
