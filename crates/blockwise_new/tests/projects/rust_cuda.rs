//! Projects that were written for rust-cuda: what becomes of their manifests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use blockwise_new::{Error, FromRustCuda, Given, Init, Outcome};
use tempfile::TempDir;

use crate::place::Place;
use crate::{read, repository, whole_sweeps};

const KERNEL: &str = "#![cfg_attr(target_os = \"cuda\", no_std, feature(register_attr), register_attr(nvvm_internal))]\n\
    use cuda_std::prelude::*;\n\n#[kernel]\npub unsafe fn add(a: &[f32], b: &[f32], c: *mut f32) {\n    \
    let i = thread::index_1d() as usize;\n    if i < a.len() {\n        unsafe { *c.add(i) = a[i] + b[i] };\n    }\n}\n";

const SCRIPT: &str = "use cuda_builder::CudaBuilder;\n\nfn main() {\n    CudaBuilder::new(\"../gpu\")\n        \
    .copy_to(\"../resources/add.ptx\")\n        .build()\n        .unwrap();\n}\n";

const HOST: &str = "use cust::prelude::*;\n\nstatic PTX: &str = include_str!(\"../../resources/add.ptx\");\n\n\
    fn main() {\n    println!(\"kernel: {}\", PTX.contains(\".entry add(\"));\n    match run() {\n        \
    Ok(sums) => assert_eq!(sums, [11.0, 22.0, 33.0]),\n        Err(error) => println!(\"no GPU: {error:?}\"),\n    }\n}\n\n\
    fn run() -> Result<Vec<f32>, cust::error::CudaError> {\n    let _context = cust::quick_init()?;\n    \
    let module = Module::from_ptx(PTX, &[])?;\n    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;\n    \
    let (a, b) = ([1.0_f32, 2.0, 3.0].as_dbuf()?, [10.0_f32, 20.0, 30.0].as_dbuf()?);\n    \
    let mut sums = vec![0.0_f32; 3];\n    let c = sums.as_slice().as_dbuf()?;\n    let add = module.get_function(\"add\")?;\n    \
    unsafe {\n        launch!(add<<<1, 32, 0, stream>>>(\n            a.as_device_ptr(),\n            a.len(),\n            \
    b.as_device_ptr(),\n            b.len(),\n            c.as_device_ptr(),\n        ))?;\n    }\n    \
    stream.synchronize()?;\n    c.copy_to(&mut sums)?;\n    Ok(sums)\n}\n";

/// A project as the published versions' template has it.
const PUBLISHED: [(&str, &str); 8] = [
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"cpu\", \"gpu\"]\n\n# The backend is slow otherwise.\n[profile.dev.package.rustc_codegen_nvvm]\nopt-level = 3\n",
    ),
    (
        "cpu/Cargo.toml",
        "[package]\nname = \"add-cpu\"\nversion = \"0.1.0\"\nedition = \"2021\"\nrust-version = \"1.56\"\n\n[dependencies]\ncust = \"0.3\" # the driver\n\n[build-dependencies]\ncuda_builder = \"0.3\"\n",
    ),
    ("cpu/build.rs", SCRIPT),
    ("cpu/src/main.rs", HOST),
    (
        "gpu/Cargo.toml",
        "[package]\nname = \"add-gpu\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\ncuda_std = \"0.2.2\"\n",
    ),
    ("gpu/src/lib.rs", KERNEL),
    (
        "rust-toolchain.toml",
        "[toolchain]\nchannel = \"nightly-2021-12-04\"\ncomponents = [\"rust-src\", \"rustc-dev\", \"llvm-tools-preview\"]\n",
    ),
    (".gitignore", "target\nresources\n"),
];

const GIT: &str = "git = \"https://github.com/Rust-GPU/rust-cuda\", rev = \"7fa76f3d\"";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[track_caller]
fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    for setting in [
        "user.name=Test",
        "user.email=test@localhost",
        "core.autocrlf=false",
        "commit.gpgsign=false",
    ] {
        git.args(["-c", setting]);
    }
    let output = git.arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn commit(folder: &Path) {
    git(folder, &["init", "--quiet"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "as it was"]);
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    commit(folder.path());
    folder
}

fn run(folder: &Path, apply: bool) -> Result<Outcome, Error> {
    let init = Init {
        folder: folder.to_owned(),
        source: Given::default(),
        moving: FromRustCuda {
            from_rust_cuda: true,
            apply,
        },
    };
    init.run()
}

fn ours(text: &str) -> String {
    text.replace(repository().to_str().unwrap(), "…")
}

/// Applies the changes and returns what is said. The sources stay, and a second call has nothing
/// to change.
#[track_caller]
fn apply(folder: &Path) -> String {
    let shown = run(folder, false).unwrap();
    let outcome = run(folder, true).unwrap();
    assert_eq!(shown.files, outcome.files);
    let of_rust = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    assert_eq!(outcome.files.iter().find(of_rust), None);
    let again = run(folder, true).unwrap();
    assert!(again.text.contains(": nothing to change"), "{}", again.text);
    ours(&outcome.text)
}

#[test]
fn a_project_of_the_published_versions_moves() {
    let folder = project(&PUBLISHED);
    let folder = folder.path();
    let said = ours(&run(folder, false).unwrap().text);
    let manifest = "--- a/gpu/Cargo.toml\n+++ b/gpu/Cargo.toml\n@@ -7,4 +7,4 @@\n crate-type = [\"cdylib\", \"rlib\"]\n \n [dependencies]\n-cuda_std = \"0.2.2\"\n+cuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\n";
    assert!(said.contains(manifest), "{said}");
    assert!(
        said.contains("nothing is written yet") && !said.contains("to do by hand"),
        "{said}"
    );
    assert!(
        said.contains("cpu/build.rs: the calls of `CudaBuilder` work as they are"),
        "{said}"
    );
    for (file, text) in PUBLISHED {
        assert_eq!(read(folder.join(file)), text, "{file}");
    }

    let said = apply(folder);
    assert!(
        said.starts_with("changed: Cargo.toml cpu/Cargo.toml gpu/Cargo.toml rust-toolchain.toml\n"),
        "{said}"
    );
    assert!(
        said.contains("restore Cargo.toml cpu/Cargo.toml "),
        "{said}"
    );
    for (file, expected) in [
        (
            "Cargo.toml",
            "[workspace]\nresolver = \"2\"\nmembers = [\"cpu\", \"gpu\"]\n\n[patch.crates-io]\nfind_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\n",
        ),
        (
            "cpu/Cargo.toml",
            "[package]\nname = \"add-cpu\"\nversion = \"0.1.0\"\nedition = \"2021\"\nrust-version = \"1.56\"\n\n[dependencies]\ncust = { package = \"blockwise_cust\", path = \"…/crates/blockwise_cust\" } # the driver\n\n[build-dependencies]\ncuda_builder = { package = \"blockwise_builder\", path = \"…/crates/cuda_builder\" }\n",
        ),
        (
            "rust-toolchain.toml",
            "[toolchain]\nchannel = \"1.95.0\"\ncomponents = [\"rust-src\", \"llvm-tools\"]\n",
        ),
        ("cpu/build.rs", SCRIPT),
        ("cpu/src/main.rs", HOST),
        ("gpu/src/lib.rs", KERNEL),
    ] {
        assert_eq!(ours(&read(folder.join(file))), expected, "{file}");
    }
    // What it says undoes it.
    git(
        folder,
        &[
            "restore",
            "Cargo.toml",
            "cpu/Cargo.toml",
            "gpu/Cargo.toml",
            "rust-toolchain.toml",
        ],
    );
    for (file, text) in PUBLISHED {
        assert_eq!(read(folder.join(file)), text, "{file}");
    }
}

#[test]
fn each_form_of_a_dependency_moves() {
    let cases = [
        (
            format!("[dependencies]\ncuda_std = {{ {GIT}, default-features = false }}\n"),
            "[dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\n",
        ),
        (
            "[dependencies.cuda_std]\n# Ours.\npath = \"../rust-cuda/crates/cuda_std\"\noptional = true\n\n[features]\ngpu = [\"dep:cuda_std\"]\n".to_owned(),
            "[dependencies.cuda_std]\n# Ours.\npackage = \"blockwise_std\"\npath = \"…/crates/cuda_std\"\noptional = true\n\n[features]\ngpu = [\"dep:cuda_std\"]\n",
        ),
        (
            "[dependencies]\ndevice = { package = \"cuda_std\", version = \"0.2\" }\nserde = \"1\"\n".to_owned(),
            "[dependencies]\ndevice = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\nserde = \"1\"\n",
        ),
        (
            format!("[target.'cfg(target_os = \"cuda\")'.dependencies]\ncuda_std = {{ {GIT} }}\n\n[target.'cfg(unix)'.build-dependencies]\ncuda_builder = {{ {GIT}, features = [\"rustc_codegen_nvvm\", \"llvm19\"] }}\n"),
            "[target.'cfg(target_os = \"cuda\")'.dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\n\n[target.'cfg(unix)'.build-dependencies]\ncuda_builder = { package = \"blockwise_builder\", path = \"…/crates/cuda_builder\", features = [\"rustc_codegen_nvvm\", \"llvm19\"] }\n",
        ),
        (
            format!("[dependencies]\ncust_core = {{ {GIT}, features = [\"half\"] }}\ncust_derive = {{ {GIT} }}\ncuda_std.version = \"0.2\"\n\n[build-dependencies]\nrustc_codegen_nvvm = \"0.3\"\nnvvm = \"0.1\"\n"),
            "[dependencies]\ncust_core = { version = \"0.1.1\", features = [\"half\"] }\ncust_derive = \"0.2\"\ncuda_std.package = \"blockwise_std\"\ncuda_std.path = \"…/crates/cuda_std\"\n\n[build-dependencies]\n",
        ),
        (
            "[dependencies]\ncuda_std = \"0.2\"\ngpu_rand = \"0.1\"\n".to_owned(),
            "[dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\ngpu_rand = \"0.1\"\n\n[patch.crates-io]\ncuda_std = { path = \"…/rust_cuda/cuda_std\" }\n",
        ),
        (
            format!("[dependencies]\ngpu_rand = {{ {GIT} }}\n"),
            "[dependencies]\ngpu_rand = { git = \"https://github.com/Rust-GPU/rust-cuda\", rev = \"7fa76f3d\" }\n\n[patch.\"https://github.com/Rust-GPU/rust-cuda\"]\ncuda_std = { path = \"…/rust_cuda/cuda_std\" }\n",
        ),
        (
            format!("[dependencies]\ncust = {{ {GIT}, optional = true }}\ncust_raw = {{ {GIT}, features = [\"driver\"] }}\n\n[patch.crates-io]\nrustc_codegen_nvvm = {{ path = \"vendor/backend\" }}\nlog = {{ path = \"log\" }}\n"),
            "[dependencies]\ncust = { package = \"blockwise_cust\", path = \"…/crates/blockwise_cust\", optional = true }\ncust_raw = \"0.11.3\"\n\n[patch.crates-io]\nlog = { path = \"log\" }\nfind_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\n",
        ),
        (
            "[dependencies]\ncuda_std = \"0.2\"\n# For rust-cuda's compiler.\nlibc = { version = \"= 0.2.139\", optional = true }\nproc-macro2 = \"=1.0.106\"\nquote = \"=1.0.23\" # old\nsyn = \"=1.0.107\"\n".to_owned(),
            "[dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\" }\n# For rust-cuda's compiler.\nlibc = { version = \"0.2.139\", optional = true }\nproc-macro2 = \"=1.0.106\"\nquote = \"1.0.23\" # old\nsyn = \"=1.0.107\"\n",
        ),
    ];
    let head = |at: usize| format!("[package]\nname = \"p{at}\"\nversion = \"0.1.0\"\n\n");
    let manifest = |at: usize| format!("p{at}/Cargo.toml");
    let folder = tempfile::tempdir().unwrap();
    for (at, (before, _)) in cases.iter().enumerate() {
        write(
            folder.path(),
            &[(&manifest(at), &format!("{}{before}", head(at)))],
        );
    }
    commit(folder.path());
    let said = apply(folder.path());
    assert!(!said.contains("to do by hand"), "{said}");
    for pinned in [
        "`libc` was pinned to 0.2.139",
        "`quote` was pinned to 1.0.23",
    ] {
        assert!(said.contains(&format!("p8/Cargo.toml: {pinned}")), "{said}");
    }
    for (at, (_, after)) in cases.iter().enumerate() {
        let changed = ours(&read(folder.path().join(manifest(at))));
        assert_eq!(changed, format!("{}{after}", head(at)));
    }
}

#[test]
fn a_workspaces_dependencies_move_for_its_members() {
    let folder = project(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"host\", \"kernels\"]\nexclude = [\"apart\"]\n\n[workspace.dependencies]\ncuda_std = { version = \"0.2\", default-features = false }\ncust = \"0.3.2\"\ncuda_builder = { version = \"=0.3.0\", default-features = false }\nglam = \"0.30\"\n",
        ),
        (
            "host/Cargo.toml",
            "[package]\nname = \"host\"\n[dependencies]\ncust = { workspace = true, features = [\"impl_glam\"] }\n[build-dependencies]\ncuda_builder.workspace = true\n",
        ),
        (
            "kernels/Cargo.toml",
            "[package]\nname = \"kernels\"\n[dependencies]\ncuda_std = { workspace = true, default-features = false }\n",
        ),
        (
            "kernels/src/lib.rs",
            "use cuda_std::prelude::*;\nfn at() -> u32 { thread::index_2d().x }\n",
        ),
        (
            "apart/Cargo.toml",
            "[package]\nname = \"apart\"\n[dependencies]\ncuda_std = \"0.2\"\nglam = \"0.30.1\"\n[workspace]\n",
        ),
        (
            "apart/src/lib.rs",
            "// vek\nfn at() -> u32 { cuda_std::thread::index_1d() }\n",
        ),
    ]);
    let folder = folder.path();
    apply(&folder.join("kernels"));
    for (file, expected) in [
        // Vectors of the published versions are vek's.
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"host\", \"kernels\"]\nexclude = [\"apart\"]\n\n[workspace.dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\", features = [\"vek_indices\"] }\ncust = { package = \"blockwise_cust\", path = \"…/crates/blockwise_cust\" }\ncuda_builder = { package = \"blockwise_builder\", path = \"…/crates/cuda_builder\", default-features = false }\nglam = \"0.30\"\n\n[patch.crates-io]\nfind_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\n",
        ),
        (
            "host/Cargo.toml",
            "[package]\nname = \"host\"\n[dependencies]\ncust = { workspace = true, features = [\"impl_glam\"] }\n[build-dependencies]\ncuda_builder.workspace = true\n",
        ),
        (
            "kernels/Cargo.toml",
            "[package]\nname = \"kernels\"\n[dependencies]\ncuda_std = { workspace = true }\n",
        ),
        // It has a workspace of its own, and uses no vectors.
        (
            "apart/Cargo.toml",
            "[package]\nname = \"apart\"\n[dependencies]\ncuda_std = { package = \"blockwise_std\", path = \"…/crates/cuda_std\", features = [\"glam_0_22\"] }\nglam = \"0.30.1\"\n[workspace]\n",
        ),
    ] {
        assert_eq!(ours(&read(folder.join(file))), expected, "{file}");
    }
}

#[test]
fn a_kernel_crate_beside_the_host_moves_with_it() {
    let files: Vec<_> = PUBLISHED
        .into_iter()
        .filter(|(file, _)| *file != "Cargo.toml")
        .collect();
    let folder = project(&files);
    let said = apply(&folder.path().join("cpu"));
    assert!(
        said.starts_with("changed: Cargo.toml ../gpu/Cargo.toml ../rust-toolchain.toml\n"),
        "{said}"
    );
    assert!(
        read(folder.path().join("cpu/Cargo.toml")).contains("[patch.crates-io]\nfind_cuda_helper")
    );
    assert!(!read(folder.path().join("gpu/Cargo.toml")).contains("[patch"));
    assert!(said.contains("\nto build: cargo build\n"), "{said}");

    // From above both: cargo builds nothing there.
    let folder = project(&files);
    let said = apply(folder.path());
    let build = "\nto build: (cd cpu && cargo build)\n";
    assert!(said.contains(build), "{said}");
}

#[test]
fn the_main_branchs_vectors_are_glams_also_where_vek_is_used() {
    let source =
        "use cuda_std::vek::num_traits::Num;\nfn at() -> u32 { cuda_std::thread::index_2d().x }\n";
    for (dependencies, feature) in [
        (
            format!("cuda_std = {{ {GIT} }}\nglam = \"0.30\"\n"),
            "glam_0_22",
        ),
        (format!("cuda_std = {{ {GIT} }}\n"), "vek_indices"),
        (
            "cuda_std = \"0.2\"\nglam = \"0.30\"\n".to_owned(),
            "vek_indices",
        ),
    ] {
        let manifest = format!("[package]\nname = \"k\"\n[dependencies]\n{dependencies}");
        let folder = project(&[("Cargo.toml", &manifest), ("src/lib.rs", source)]);
        apply(folder.path());
        let changed = read(folder.path().join("Cargo.toml"));
        assert!(
            changed.contains(&format!("features = [\"{feature}\"]")),
            "{changed}"
        );
    }
}

#[test]
fn a_copy_of_rust_cuda_in_the_workspace_collides_with_what_replaces_it() {
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.2.2\"\n");
    let kernels = package("kernels") + "[dependencies]\ncuda_std = \"0.2\"\ngpu_rand = \"0.1\"\n";
    let said_of = |workspace: &str| {
        let folder = project(&[
            ("Cargo.toml", workspace),
            ("kernels/Cargo.toml", &kernels),
            ("crates/cuda_std/Cargo.toml", &package("cuda_std")),
        ]);
        apply(folder.path())
    };
    let todo = "\n  Cargo.toml: cargo takes only one folder with a `cuda_std` of this version: leave crates/cuda_std out";
    let said = said_of("[workspace]\nmembers = [\"kernels\", \"crates/*\"]\n");
    assert!(said.contains(todo), "{said}");
    let said = said_of("[workspace]\nmembers = [\"kernels\"]\n");
    assert!(!said.contains("only one folder"), "{said}");
}

#[test]
fn a_lock_file_keeps_what_is_not_replaced() {
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let package = |name: &str, version: &str, rest: &str| {
        format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{rest}")
    };
    let before = ["# Written by cargo.\nversion = 3\n".to_owned()];
    let kept = [
        package("cuda_builder", "0.3.0", registry),
        package(
            "noise",
            "0.4.0",
            &format!("{registry}dependencies = [\n \"cuda_std\",\n]\n"),
        ),
        package("p", "0.1.0", "dependencies = [\n \"noise\",\n]\n"),
    ];
    let dropped = [
        package("cuda_std", "0.2.2", registry),
        package("cust_raw", "0.11.2", registry),
        package("find_cuda_helper", "0.1.0", registry),
        package("find_cuda_helper", "0.2.0", registry),
    ];
    let manifest = "[package]\nname = \"p\"\n[dependencies]\ncust = \"0.3\"\nnoise = \"0.4\"\n";
    let lock = [&before[..], &dropped, &kept].concat().concat();
    let folder = project(&[("Cargo.toml", manifest), ("Cargo.lock", &lock)]);
    let said = apply(folder.path());
    assert!(
        said.starts_with("changed: Cargo.toml Cargo.lock\n"),
        "{said}"
    );
    assert_eq!(
        read(folder.path().join("Cargo.lock")),
        [&before[..], &kept].concat().concat()
    );
    // A crate of others that needs cuda_std gets ours.
    let manifest = ours(&read(folder.path().join("Cargo.toml")));
    assert!(manifest.ends_with("[patch.crates-io]\nfind_cuda_helper = { path = \"…/crates/find_cuda_helper\" }\ncuda_std = { path = \"…/rust_cuda/cuda_std\" }\n"), "{manifest}");
}

#[test]
fn what_cannot_be_moved_is_said_with_what_to_do() {
    let folder = project(&[
        (
            "Cargo.toml",
            "[package]\nname = \"p\"\n[dependencies]\ncust = { path = \"../rust-cuda/crates/cust\", features = [\"impl_new\"] }\nblastoff = { path = \"../rust-cuda/crates/blastoff\" }\noptix = \"0.1\"\nold = { package = \"cust\", version = \"0.2\" }\n[build-dependencies]\ncuda_builder = { version = \"0.3\", features = [\"llvm21\"] }\n",
        ),
        (
            "build.rs",
            "fn main() {\n    cuda_builder::CudaBuilder::new(\"kernels\").optix(true).build().unwrap();\n}\n",
        ),
        (
            "src/main.rs",
            "static PTX: &str = include_str!(\"../old.ptx\");\nfn main() {}\n",
        ),
        ("rust-toolchain", "my-own\n"),
        (
            ".cargo/config.toml",
            "[env]\nLLVM_CONFIG = \"llvm-config-7\"\n[build]\nrustflags = [\"-Zcodegen-backend=x\"]\ntarget = \"nvptx64-nvidia-cuda\"\n[unstable]\nbuild-std = [\"core\"]\n",
        ),
        (
            "vendor/cuda_std/Cargo.toml",
            "[package]\nname = \"cuda_std\"\n[dependencies]\ncuda_std_macros = \"0.2\"\n",
        ),
    ]);
    let said = apply(folder.path());
    for expected in [
        "Cargo.toml: `cust` stays rust-cuda's because of `blastoff`",
        "Cargo.toml: `blastoff` links libraries of the CUDA toolkit",
        "Cargo.toml: `optix` needs OptiX, which is not supported",
        "Cargo.toml: cust 0.2 has another interface",
        "Cargo.toml: `cuda_builder` has no feature `llvm21` here",
        "build.rs:2: `optix(true)`: only OptiX",
        "src/main.rs:1: no build script here writes `old.ptx`",
        "rust-toolchain: my-own: check that it is Rust 1.95.0 or newer",
        ".cargo/config.toml: `LLVM_CONFIG` has no effect here",
        ".cargo/config.toml: remove `-Zcodegen-backend`",
        ".cargo/config.toml: remove the target",
        ".cargo/config.toml: `build-std` has no effect on kernels",
        "vendor/cuda_std: a copy of rust-cuda",
    ] {
        assert!(
            said.contains(&format!("\n  {expected}")),
            "{expected}\n{said}"
        );
    }
    assert!(!said.contains("work as they are"), "{said}");
    let manifest = ours(&read(folder.path().join("Cargo.toml")));
    assert!(
        manifest
            .contains("cust = { path = \"../rust-cuda/crates/cust\", features = [\"impl_new\"] }"),
        "{manifest}"
    );
    assert!(
        manifest.ends_with(
            "cuda_builder = { package = \"blockwise_builder\", path = \"…/crates/cuda_builder\" }\n"
        ),
        "{manifest}"
    );
}

#[test]
fn nothing_is_written_that_git_could_not_undo() {
    let refused = |folder: &Path, message: &str| {
        let before = read(folder.join("cpu/Cargo.toml"));
        let error = run(folder, true).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            error.hint().is_some_and(|hint| hint.contains("patch -p1")),
            "{error:?}"
        );
        assert_eq!(read(folder.join("cpu/Cargo.toml")), before);
        run(folder, false).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &PUBLISHED);
    refused(folder, "is not in a git repository");
    git(folder, &["init", "--quiet"]);
    refused(folder, "not committed: ");
    commit(folder);
    let manifest = folder.join("gpu/Cargo.toml");
    fs::write(&manifest, read(&manifest) + "# mine\n").unwrap();
    refused(folder, "gpu/Cargo.toml");
    git(folder, &["add", "--all"]);
    refused(folder, "gpu/Cargo.toml");
    git(folder, &["commit", "--quiet", "--message", "mine"]);
    // A link to a file that is in no repository.
    let apart = tempfile::tempdir().unwrap();
    let file = apart.path().join("Cargo.toml");
    fs::rename(&manifest, &file).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&file, &manifest).unwrap();
    git(
        folder,
        &["commit", "--quiet", "--all", "--message", "linked"],
    );
    #[cfg(unix)]
    refused(folder, "gpu/Cargo.toml");
    fs::remove_file(&manifest).unwrap();
    fs::rename(&file, &manifest).unwrap();
    git(
        folder,
        &["commit", "--quiet", "--all", "--message", "mine again"],
    );
    // Other changes do not matter.
    fs::write(folder.join("gpu/src/lib.rs"), "// mine\n").unwrap();
    fs::write(folder.join("notes"), "").unwrap();
    apply(folder);
    assert_eq!(read(folder.join("gpu/src/lib.rs")), "// mine\n");
}

#[test]
fn what_is_no_project_for_rust_cuda_is_refused() {
    let folder = project(&[
        (
            "Cargo.toml",
            "[package]\nname = \"p\"\n[dependencies]\nserde = \"1\"\n",
        ),
        ("template/Cargo.toml", "{{ name }}"),
        ("file", ""),
    ]);
    let error = run(folder.path(), false).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(": no manifest names a crate of rust-cuda"),
        "{error}"
    );
    let error = run(&folder.path().join("missing"), false).unwrap_err();
    assert!(error.to_string().starts_with("cannot read"), "{error}");
    let error = run(&folder.path().join("file"), false).unwrap_err();
    assert!(error.to_string().ends_with("is no folder"), "{error}");
    fs::write(
        folder.path().join("Cargo.toml"),
        "[dependencies\ncust = \"0.3\"\n",
    )
    .unwrap();
    let error = run(folder.path(), false).unwrap_err();
    assert!(error.to_string().contains("Cargo.toml:1: "), "{error}");
}

#[test]
fn line_ends_stay() {
    let text =
        "[package]\nname = \"p\"\n\n[build-dependencies]\ncuda_builder = \"0.3\"\nlog = \"1\"";
    let folder = project(&[("Cargo.toml", text)]);
    apply(folder.path());
    assert!(read(folder.path().join("Cargo.toml")).ends_with("log = \"1\""));
    let folder = project(&[(
        "Cargo.toml",
        "\u{feff}[package]\r\nname = \"p\"\r\n\r\n[dependencies]\r\ncust = \"0.3\"\r\n",
    )]);
    apply(folder.path());
    let manifest = read(folder.path().join("Cargo.toml"));
    assert_eq!(
        manifest.matches('\n').count(),
        manifest.matches("\r\n").count(),
        "{manifest:?}"
    );
    assert!(
        manifest
            .starts_with("\u{feff}[package]\r\nname = \"p\"\r\n\r\n[dependencies]\r\ncust = { "),
        "{manifest:?}"
    );
}

/// Slow: it compiles cust and the builder. On a machine without a GPU the host says so.
#[test]
fn a_moved_project_builds_and_runs() {
    if !whole_sweeps() {
        return;
    }
    let place = Place::new(&["moved"]);
    let folder = place.folder.join("moved");
    let files = PUBLISHED
        .into_iter()
        .filter(|(file, _)| *file != "rust-toolchain.toml");
    write(&folder, &files.collect::<Vec<_>>());
    // The test needs no network: versions that are here.
    fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    commit(&folder);
    run(&folder, true).unwrap();
    let output = place.cargo(&folder, &["run"]);
    let said = crate::place::text(&output);
    assert!(
        output.status.success() && said.contains("kernel: true"),
        "{said}"
    );
}
