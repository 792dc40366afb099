//! Kernels inside the crate that launches them: its build script builds the crate a second time, for the device.

use std::path::PathBuf;

use crate::tools::variables;
use crate::{CudaBuilder, CudaBuilderError, NvvmArch, output};

/// The architectures to build for, instead of those of the build script: `sm_80,sm_90a`.
const ARCH: &str = "BLOCKWISE_ARCH";

/// Embeds the kernels of the package that the running build script belongs to. See [`Embed`].
pub fn embed() -> Embed {
    Embed {
        archs: Vec::new(),
        configure: Box::new(|builder| builder),
        cuda_std: None,
    }
}

/// Builds a package's own kernels in its build script, so that the compiled program holds their PTX.
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
/// # what only the host's part uses
///
/// [build-dependencies]
/// cuda_builder = { … }
/// ```
///
/// In the library's root, `cuda_std::embedded_kernels!();` makes it `pub static KERNELS`. The library is compiled twice;
/// `#[cfg(target_arch = "nvptx64")]` tells the passes apart.
///
/// The device build has the host build's features. It lies in `cuda-builder` in the target folder, where every crate, profile and
/// feature shares the compiled `core`.
///
/// A kernel that does not compile is an error at `KERNELS`, beside the host's own errors. On docs.rs (`DOCS_RS`) nothing is built and
/// `KERNELS` is empty.
///
/// A build script that does more than this, such as generating code that the kernels include, must run for the device too: leave
/// `links` out.
#[must_use = "nothing is built until `finish` is called"]
pub struct Embed {
    archs: Vec<NvvmArch>,
    configure: Box<dyn Fn(CudaBuilder) -> CudaBuilder + Sync>,
    cuda_std: Option<String>,
}

impl Embed {
    /// Adds an architecture. Without any: [`NvvmArch::Compute80`]. The environment variable `BLOCKWISE_ARCH` (`sm_80,sm_90a`)
    /// replaces them all.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.archs.push(arch);
        self
    }

    /// Adds several architectures. They are built side by side.
    pub fn archs(mut self, archs: impl IntoIterator<Item = NvvmArch>) -> Self {
        self.archs.extend(archs);
        self
    }

    /// Sets options of each build: `.options(|builder| builder.ftz(true))`.
    pub fn options(mut self, set: impl Fn(CudaBuilder) -> CudaBuilder + Sync + 'static) -> Self {
        self.configure = Box::new(set);
        self
    }

    /// Where the crate finds `cuda_std`, such as `::other::cuda_std`. Default: the dependency's name in the manifest.
    pub fn cuda_std(mut self, path: &str) -> Self {
        self.cuda_std = Some(path.to_owned());
        self
    }

    /// Builds, and writes `kernels.rs` to the build script's output folder.
    ///
    /// # Panics
    /// Outside a build script, and when the output folder cannot be written.
    pub fn finish(self) {
        let script = Script::new();
        if script.is_for_device {
            // Also the mark for cargo that nothing else is to be watched.
            println!("cargo::rerun-if-env-changed={ARCH}");
            return;
        }
        script.tell_cargo();
        let result = self.build(&script);
        if result.is_err() {
            // A file that is never there: what was missing may be installed without any change that cargo sees.
            println!(
                "cargo::rerun-if-changed={}",
                script.out.join("retry").display()
            );
        }
        let cuda_std = self.cuda_std.unwrap_or_else(|| script.cuda_std());
        let code = code(&cuda_std, &script.package, result);
        output::write_if_different(&script.out.join("kernels.rs"), code.as_bytes())
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// The architectures whose PTX lies in the output folder now, or why there is none.
    fn build(&self, script: &Script) -> Result<Vec<NvvmArch>, String> {
        if std::env::var_os("DOCS_RS").is_some() {
            return Ok(Vec::new());
        }
        let archs = self.chosen(std::env::var(ARCH).ok())?;
        let results: Vec<_> = std::thread::scope(|scope| {
            let build = |&arch| scope.spawn(move || self.build_for(arch, script));
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
        let mut failures = Vec::new();
        for (arch, result) in archs.iter().zip(results) {
            let text = result
                .err()
                .map(|error| readable(&error, &script.package, *arch));
            failures.extend(text);
        }
        if failures.is_empty() {
            Ok(archs)
        } else {
            failures.dedup();
            Err(failures.join("\n\n"))
        }
    }

    fn build_for(&self, arch: NvvmArch, script: &Script) -> Result<PathBuf, CudaBuilderError> {
        let builder = CudaBuilder::new(&script.folder).arch(arch);
        (self.configure)(builder)
            .build_args(&script.features())
            .copy_to(script.out.join(file_name(arch)))
            .build_compact()
    }

    /// Each architecture once, in the order given.
    fn chosen(&self, variable: Option<String>) -> Result<Vec<NvvmArch>, String> {
        let mut archs = self.archs.clone();
        if let Some(variable) = variable.filter(|variable| !variable.is_empty()) {
            archs = variable
                .split(',')
                .map(|name| name.trim().parse())
                .collect::<Result<_, _>>()
                .map_err(|error| format!("{ARCH}={variable}: {error}"))?;
        }
        if archs.is_empty() {
            archs.push(NvvmArch::default());
        }
        let mut seen = Vec::new();
        archs.retain(|arch| !seen.contains(arch) && (seen.push(*arch), true).1);
        Ok(archs)
    }
}

fn file_name(arch: NvvmArch) -> String {
    format!("kernels.{arch}.ptx")
}

/// What cargo says to the build script.
struct Script {
    folder: PathBuf,
    out: PathBuf,
    package: String,
    /// Enabled ones, divided by commas.
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

    /// The device build's files are named by [`CudaBuilder::build`].
    fn tell_cargo(&self) {
        // `#[kernel]` then connects each kernel with `crate::KERNELS`.
        println!("cargo::rustc-env=CUDA_STD_KERNELS=1");
        // Kernels may ask for any of these; only the device build sets them.
        let known: Vec<_> = NvvmArch::ALL
            .iter()
            .map(|arch| format!("\"{}\"", arch.target_feature()))
            .collect();
        println!(
            "cargo::rustc-check-cfg=cfg(target_feature, values({}))",
            known.join(", ")
        );
        let tools = [
            variables::RUSTC,
            variables::CARGO,
            variables::LLVM_BIN,
            variables::LIBDEVICE,
        ];
        for variable in [ARCH, "DOCS_RS"].into_iter().chain(tools) {
            println!("cargo::rerun-if-env-changed={variable}");
        }
    }

    fn features(&self) -> Vec<String> {
        let mut arguments = vec!["--no-default-features".to_owned()];
        if !self.features.is_empty() {
            arguments.push(format!("--features={}", self.features));
        }
        arguments
    }

    /// The name of the dependency in the manifest: it may be renamed there.
    fn cuda_std(&self) -> String {
        let manifest = std::fs::read_to_string(self.folder.join("Cargo.toml")).unwrap_or_default();
        format!("::{}", name_in_manifest(&manifest).unwrap_or("cuda_std"))
    }
}

/// The key of `key = { package = "cuda_std", … }` or of the table `[dependencies.key]` with such a line.
fn name_in_manifest(manifest: &str) -> Option<&str> {
    let mut table = "";
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_end_matches(']').rsplit('.').next()?;
        }
        let Some((before, after)) = line.split_once("package") else {
            continue;
        };
        let value = after.trim_start().strip_prefix('=').map(str::trim_start);
        if value.is_some_and(|value| value.starts_with("\"cuda_std\"")) {
            let key = before.split_once('=').map_or(table, |(key, _)| key.trim());
            return Some(key);
        }
    }
    None
}

/// The contents of `kernels.rs`.
fn code(cuda_std: &str, package: &str, result: Result<Vec<NvvmArch>, String>) -> String {
    let (archs, error) = match result {
        Ok(archs) => (archs, String::new()),
        Err(error) => (Vec::new(), format!("compile_error!({error:?});\n\n")),
    };
    let names: Vec<_> = archs.iter().map(|arch| format!("`{arch}`")).collect();
    let documentation = match names.as_slice() {
        [] => "/// Empty: this build holds no PTX.".to_owned(),
        names => format!(
            "/// The PTX of this crate's kernels, for {}.",
            names.join(", ")
        ),
    };
    let files: String = archs
        .iter()
        .map(|arch| {
            format!(
                "\n        {cuda_std}::launch::KernelsFile {{ arch: \"{arch}\", text: include_str!({:?}) }},",
                file_name(*arch)
            )
        })
        .collect();
    format!(
        "{error}{documentation}\n\
         pub static KERNELS: {cuda_std}::launch::Kernels = {cuda_std}::launch::Kernels {{\n    \
         package: {package:?},\n    files: &[{files}],\n}};\n"
    )
}

/// What a reader of `compile_error!` needs.
fn readable(error: &CudaBuilderError, package: &str, arch: NvvmArch) -> String {
    match error {
        CudaBuilderError::Compile { message, .. } => format!(
            "the kernels of `{package}` do not compile for the device ({arch}):\n\n{}",
            errors_of(message)
        ),
        other => format!("the kernels of `{package}` cannot be built for {arch}: {other}"),
    }
}

/// Of the compiler's messages, those that are errors; all if there are none.
fn errors_of(messages: &str) -> String {
    let starts = |line: &str| {
        ["error", "warning", "note", "help"]
            .iter()
            .any(|kind| line.starts_with(kind))
    };
    let (mut kept, mut is_error) = (String::new(), false);
    for line in messages.lines() {
        if starts(line) {
            is_error = line.starts_with("error");
        }
        // Every message of the compiler ends with an empty line.
        if is_error {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    let kept = if kept.is_empty() { messages } else { &kept };
    kept.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use NvvmArch::{Compute80, Compute90, Compute90a};

    #[test]
    fn architectures_come_from_the_script_or_the_variable() {
        let chosen =
            |embed: Embed, variable: Option<&str>| embed.chosen(variable.map(str::to_owned));
        assert_eq!(chosen(embed(), None), Ok(vec![Compute80]));
        let twice = || embed().arch(Compute90).archs([Compute80, Compute90]);
        assert_eq!(chosen(twice(), None), Ok(vec![Compute90, Compute80]));
        assert_eq!(chosen(twice(), Some("")), Ok(vec![Compute90, Compute80]));
        let variable = Some("sm_80, sm_90a");
        assert_eq!(chosen(embed(), variable), Ok(vec![Compute80, Compute90a]));
        let error = chosen(embed(), Some("sm_12")).unwrap_err();
        assert!(
            error.starts_with("BLOCKWISE_ARCH=sm_12: unknown architecture"),
            "{error}"
        );
    }

    #[test]
    fn the_code_defines_kernels_also_when_there_are_none() {
        let text = code("::cuda_std", "mine", Ok(vec![Compute80, Compute90a]));
        assert!(text.starts_with("/// The PTX of this crate's kernels, for `sm_80`, `sm_90a`.\npub static KERNELS: ::cuda_std::launch::Kernels ="), "{text}");
        assert!(
            text.contains(
                "KernelsFile { arch: \"sm_90a\", text: include_str!(\"kernels.sm_90a.ptx\") }"
            ),
            "{text}"
        );
        let text = code("::std2", "mine", Err("no \"tool\"".to_owned()));
        assert!(
            text.starts_with("compile_error!(\"no \\\"tool\\\"\");"),
            "{text}"
        );
        assert!(text.contains("files: &[],"), "{text}");
    }

    #[test]
    fn a_renamed_cuda_std_is_found() {
        let name =
            |line: &str| name_in_manifest(&format!("[dependencies]\n{line}\n")).map(str::to_owned);
        assert_eq!(
            name("gpu = { path = \"x\", package = \"cuda_std\" }").as_deref(),
            Some("gpu")
        );
        let table = "[dependencies.gpu]\npackage = \"cuda_std\"";
        assert_eq!(name(table).as_deref(), Some("gpu"));
        assert_eq!(name("cuda_std = { path = \"x\" }"), None);
    }

    #[test]
    fn warnings_are_left_out_of_an_error() {
        let messages = "warning: unused\n --> a\n\nerror[E1]: wrong\n --> b\n\nwarning: again\n\nerror: could not compile\n";
        assert_eq!(
            errors_of(messages),
            "error[E1]: wrong\n --> b\n\nerror: could not compile"
        );
        assert_eq!(errors_of("no network\n"), "no network");
    }
}
