//! Kernel crates wherever they lie, with whatever they ask for, built by several at once. Each is
//! compiled from nothing, so only whole sweeps do it.

use std::fs;
use std::path::Path;
use std::process::Command;

use cuda_builder::{CudaBuilder, CudaBuilderError};

use crate::TILE;
use crate::common::{
    assert_success, child_folder, copy_lock_file, in_child, member, repository, text, whole_sweeps,
    workspace, write_member, write_package,
};

fn with_prelude(source: &str) -> String {
    format!("use cuda_std::prelude::*;\n{source}")
}

/// Below the workspace's folder, but no member: cargo wants such a crate to say so.
#[test]
fn a_crate_outside_a_workspace_is_built_in_the_build_scripts_folder() {
    if let Some(folder) = child_folder() {
        let ptx = CudaBuilder::new(folder)
            .generate_line_info(false)
            .build()
            .unwrap();
        assert!(text(ptx).contains(".visible .entry mirror"));
        return;
    }
    if !whole_sweeps("a crate outside of a workspace") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("alone");
    write_package(&folder, "alone", "\n[workspace]", &with_prelude(TILE));
    copy_lock_file(&folder);
    let name = "packages::a_crate_outside_a_workspace_is_built_in_the_build_scripts_folder";
    assert_success(&in_child(name, &folder, &[]));
    assert!(
        !folder.join("target").exists(),
        "nothing is left beside the sources"
    );
}

/// A stable cargo ignores the table, and the device's build has its own core.
#[test]
fn unstable_tables_of_settings_are_passed_over() {
    if !whole_sweeps("settings that a stable cargo ignores") {
        return;
    }
    let settings = workspace("unstable").join(".cargo");
    fs::create_dir_all(&settings).unwrap();
    let table = "[unstable]\nbuild-std = [\"std\"]\n";
    fs::write(settings.join("config.toml"), table).unwrap();
    let folder = member("unstable", "", &with_prelude(TILE));
    let ptx = CudaBuilder::new(folder).generate_line_info(false).build();
    assert!(text(ptx.unwrap()).contains(".visible .entry mirror"));
}

/// As with rust-cuda: a crate may gather the kernels of others, and have cuda_std through them,
/// without a dependency line.
#[test]
fn kernels_and_cuda_std_may_come_through_a_dependency() {
    if !whole_sweeps("kernels of a dependency") {
        return;
    }
    let below = "pub use cuda_std;
        use cuda_std::prelude::*;
        #[kernel] pub unsafe fn of_the_dependency(x: *mut u32) { unsafe { *x += 1 } }";
    let workspace = workspace("gathering");
    write_member(&workspace, "below", "", below);
    let source = "pub use below::*;
        use cuda_std::{address_space, externally_visible, gpu_only, prelude::*, shared_array};
        #[address_space(constant)] static TABLE: [u32; 2] = [3, 4];
        #[gpu_only] pub unsafe fn add(x: *mut u32, y: u32) { unsafe { *x += y } }
        #[externally_visible] #[unsafe(no_mangle)] pub unsafe fn visible(x: *mut u32) { unsafe { add(x, 2) } }
        #[kernel] pub unsafe fn own(x: *mut u32, table: &[u32; 2]) {
            let tile = shared_array![u32; 4];
            assert_eq!(table.len(), TABLE.len());
            println!(\"{}\", TABLE[1]);
            unsafe { *tile = table[0]; add(x, *tile) }
        }";
    let folder = write_member(&workspace, "above", "", source);
    let manifest = folder.join("Cargo.toml");
    let lines: String = text(&manifest)
        .lines()
        .filter(|line| !line.starts_with("cuda_std"))
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(manifest, lines + "below = { path = \"../below\" }\n").unwrap();
    let ptx = text(CudaBuilder::new(folder).build().unwrap());
    for name in ["own", "of_the_dependency"] {
        assert!(ptx.contains(&format!(".visible .entry {name}(")), "{ptx}");
    }
}

/// A crate that depends on rust-cuda's names, in every way that a manifest has: its kernels are those
/// of a crate with ours.
#[test]
fn packages_with_rust_cudas_names_are_the_same() {
    let source = with_prelude(
        "use cuda_std::{address_space, shared_array};
        #[address_space(constant)] static TABLE: [u32; 2] = [3, 4];
        #[derive(Clone, Copy, Plain)] #[repr(C)] pub struct Pair { a: u32, b: u32 }
        #[kernel] pub unsafe fn pairs(pair: Pair, out: *mut u32) {
            let tile = shared_array![u32; 4];
            assert!(pair.a > 0);
            println!(\"{}\", TABLE[1]);
            unsafe { *tile = pair.b; *out = *tile }
        }
        #[kernel] pub fn twice(x: &[u32], mut y: Out<u32>) {
            for (i, y) in y.mine() { *y = 2 * x[i]; }
        }",
    );
    let workspace = workspace("names");
    let entries = |name: &str, dependency: &str| {
        let folder = write_member(&workspace, name, "", &source);
        let manifest = folder.join("Cargo.toml");
        let lines = text(&manifest);
        let lines = lines.lines().filter(|line| !line.starts_with("cuda_std"));
        let lines: Vec<_> = lines.collect();
        let lines = lines.join("\n");
        let path = |place: &str| format!("{:?}", repository().join(place));
        let dependency = dependency.replace("OURS", &path("crates/cuda_std"));
        let dependency = dependency.replace("THEIRS", &path("rust_cuda/cuda_std"));
        fs::write(manifest, format!("{lines}\n{dependency}\n")).unwrap();
        let ptx = CudaBuilder::new(folder).generate_line_info(false).build();
        let ptx = text(ptx.unwrap());
        let entries = ptx.split(".visible .entry ").skip(1);
        let entries = entries.map(|entry| entry.split('(').next().unwrap().to_owned());
        let mut entries: Vec<_> = entries.collect();
        entries.sort();
        (
            entries,
            ptx.lines().filter(|line| line.starts_with('\t')).count(),
        )
    };
    let ours = entries(
        "own",
        "cuda_std = { package = \"blockwise_std\", path = OURS, default-features = false }",
    );
    assert_eq!(ours.0, ["pairs", "twice"]);
    for (name, dependency) in [
        (
            "library",
            "blockwise_std = { path = OURS, default-features = false }",
        ),
        (
            "theirs",
            "cuda_std = { path = THEIRS, default-features = false }",
        ),
        (
            "patched",
            "cuda_std = { version = \"0.2\", path = THEIRS, default-features = false, features = [\"vek_indices\"] }",
        ),
    ] {
        assert_eq!(entries(name, dependency), ours, "{name}");
    }
}

/// rust-cuda's template asks for both; a `cdylib` without a panic handler would not even link.
#[cfg(unix)]
#[test]
fn a_dependency_may_be_a_library_for_other_languages_too() {
    if !whole_sweeps("a dependency that is a `cdylib` too") {
        return;
    }
    let workspace = workspace("linked");
    let below = write_member(
        &workspace,
        "below",
        "",
        "pub fn twice(x: u32) -> u32 { x * 2 }",
    );
    let manifest = "[package]\nname = \"below\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
                    [lib]\ncrate-type = [\"cdylib\", \"rlib\", \"staticlib\"]\n";
    fs::write(below.join("Cargo.toml"), manifest).unwrap();
    let source = "#[kernel] pub unsafe fn twice(x: *mut u32) { unsafe { *x = below::twice(*x) } }";
    let dependency = "below = { path = \"../below\" }";
    let folder = write_member(&workspace, "above", dependency, &with_prelude(source));
    let ptx = text(CudaBuilder::new(folder).build().unwrap());
    assert!(ptx.contains(".visible .entry twice("), "{ptx}");
}

#[test]
fn features_are_chosen_as_on_cargos_command_line() {
    if !whole_sweeps("features and cfgs") {
        return;
    }
    let source = "use cuda_std::prelude::*;
        #[cfg(feature = \"first\")] #[kernel] pub unsafe fn one(x: *mut u32) { unsafe { *x = 1 } }
        #[cfg(feature = \"second\")] #[kernel] pub unsafe fn two(x: *mut u32) { unsafe { *x = 2 } }
        #[cfg(extra)] #[kernel] pub unsafe fn three(x: *mut u32) { unsafe { *x = 3 } }";
    let features = "\n[features]\ndefault = [\"first\"]\nfirst = []\nsecond = []";
    let folder = member("chosen", features, source);
    let kernels = |arguments: &[&str]| {
        let ptx = text(
            CudaBuilder::new(&folder)
                .build_args(arguments)
                .build()
                .unwrap(),
        );
        ["one", "two", "three"].map(|name| ptx.contains(&format!(".entry {name}(")))
    };
    assert_eq!(kernels(&[]), [true, false, false]);
    assert_eq!(kernels(&["--features=second"]), [true, true, false]);
    assert_eq!(
        kernels(&["--no-default-features", "--features", "second"]),
        [false, true, false]
    );
    assert_eq!(kernels(&["--", "--cfg", "extra"]), [true, false, true]);
    let error = CudaBuilder::new(&folder)
        .build_args(&["--no-default-features"])
        .build()
        .unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::NoKernels { .. }),
        "{error}"
    );
}

/// Several threads and processes that build one crate, each its own way, get each its own PTX.
#[test]
fn builds_at_the_same_time_do_not_mix() {
    let build = |folder: &std::path::Path, feature: &str| {
        let builder = CudaBuilder::new(folder).build_args(&["--features", feature]);
        let copy = workspace_of(folder).join(format!("copies/{feature}.ptx"));
        let ptx = text(builder.copy_to(copy).build().unwrap());
        assert!(
            ptx.contains(&format!(".entry {feature}(")),
            "{feature}\n{ptx}"
        );
        assert_eq!(ptx.matches(".entry").count(), 1, "{feature}\n{ptx}");
    };
    if let Some(folder) = child_folder() {
        build(&folder, "process");
        return;
    }
    if !whole_sweeps("builds at the same time") {
        return;
    }
    let kernel = |name| {
        format!(
            "#[cfg(feature = \"{name}\")] #[kernel] pub unsafe fn {name}(x: *mut f32) {{ unsafe {{ *x = 1.0 }} }}"
        )
    };
    let names = ["first", "second", "third", "process"];
    let source = with_prelude(&names.map(kernel).join("\n"));
    let features = format!(
        "\n[features]\n{}",
        names.map(|name| format!("{name} = []")).join("\n")
    );
    let folder = member("crowded", &features, &source);
    std::thread::scope(|scope| {
        for name in &names[..3] {
            scope.spawn(|| build(&folder, name));
        }
        scope.spawn(|| {
            let name = "packages::builds_at_the_same_time_do_not_mix";
            assert_success(&in_child(name, &folder, &[]));
        });
    });
}

/// Debian 12's cargo cannot fetch from Git.
#[test]
fn what_is_on_git_is_fetched_by_the_cargo_that_runs_the_build() {
    if let Some(folder) = child_folder() {
        let builder = CudaBuilder::new(folder).generate_line_info(false);
        println!("{}", text(builder.build().unwrap()));
        return;
    }
    // One place for all runs, whose copy cargo keeps in its home.
    let helper = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helper_by_git");
    let _ = fs::remove_dir_all(&helper);
    fs::create_dir_all(helper.join("src")).unwrap();
    let package = "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(helper.join("Cargo.toml"), package).unwrap();
    fs::write(helper.join("src/lib.rs"), "pub const ANSWER: u32 = 4242;\n").unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "helper"],
    ] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Test", "-c", "user.email=test@localhost"]);
        let status = git.arg("-C").arg(&helper).args(arguments).status();
        assert!(status.unwrap().success(), "git {arguments:?}");
    }
    let source = with_prelude(
        "#[kernel] pub unsafe fn answer(x: *mut u32) { unsafe { *x = helper::ANSWER } }",
    );
    let dependency = format!("helper = {{ git = \"file://{}\" }}", helper.display());
    let folder = member("by_git", &dependency, &source);
    let name = "packages::what_is_on_git_is_fetched_by_the_cargo_that_runs_the_build";
    let variables = [("CARGO", env!("CARGO")), ("CARGO_NET_OFFLINE", "false")];
    let ptx = assert_success(&in_child(name, &folder, &variables));
    assert!(ptx.contains("4242"), "{ptx}");
}

fn workspace_of(member: &Path) -> &Path {
    member.ancestors().nth(2).unwrap()
}
