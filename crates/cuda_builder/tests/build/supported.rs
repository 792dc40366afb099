//! docs/supported.md says what the code does.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use cuda_builder::NvvmArch;
use cuda_builder::tools::{Toolchain, tested};
use ptx_emulator::testing::Launch;

use crate::common::repository;

/// The rows of a page's tables, without heads.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells.filter(|cells| cells[0] != "---").collect()
}

fn page() -> String {
    fs::read_to_string(repository().join("docs/supported.md")).unwrap()
}

#[test]
fn the_compilers_of_the_table_are_those_of_the_code() {
    let page = page();
    let rows = rows(&page);
    let versions = |what: &str| {
        let row = rows.iter().find(|row| row[0].starts_with(what));
        row.unwrap_or_else(|| panic!("no row {what}"))[1].to_owned()
    };
    let rustc = tested::RUSTC.map(|minor| format!("1.{minor}")).join(", ");
    assert_eq!(versions("rustc"), rustc);
    assert_eq!(versions("LLVM tools"), tested::LLVM.to_string());
    let pinned = fs::read_to_string(repository().join("rust-toolchain.toml")).unwrap();
    let oldest = format!("\"1.{}.0\"", tested::RUSTC[0]);
    assert!(pinned.contains(&format!("channel = {oldest}")), "{pinned}");
    let command = format!("rustup toolchain install {} ", oldest.trim_matches('"'));
    assert!(page.contains(&command) && tested::advice().contains(&command));
}

#[test]
fn each_gpu_of_the_table_is_built_and_emulated_as_it_says() {
    let toolchain = Toolchain::find().unwrap();
    let page = page();
    let mut seen = BTreeSet::new();
    for row in rows(&page)
        .into_iter()
        .filter(|row| row[0].starts_with("sm_"))
    {
        let [name, built, emulated, _, ptx, ..] = row[..] else {
            panic!("{row:?}")
        };
        let name = name.split(' ').next().unwrap();
        let arch: NvvmArch = name.parse().unwrap();
        seen.insert(arch);
        assert_eq!(built, "yes", "{name}");
        let text = printed(&toolchain, arch);
        let version = text.split(".version ").nth(1).unwrap().split('\n').next();
        assert_eq!(version, Some(ptx), "{name}");
        assert!(text.contains(&format!(".target {name}\n")), "{text}");

        let launch = Launch::of(&text).unwrap().kernel("nothing");
        launch.check().unwrap().assert_clean();
        let modelled = name.parse::<ptx_emulator::metrics::DeviceModel>().is_ok();
        let expected = if modelled { "modelled" } else { "yes" };
        assert_eq!(emulated, expected, "{name}");
    }
    let whole = |arch: &NvvmArch| arch.is_base_variant() && arch.capability_value() >= 75;
    let others = NvvmArch::ALL.iter().copied().filter(whole);
    let missing: Vec<_> = others.filter(|arch| !seen.contains(arch)).collect();
    // No product has the one, and the other is sm_110 by its first name.
    assert_eq!(missing, [NvvmArch::Compute88, NvvmArch::Compute101]);
}

/// The PTX of an empty kernel.
fn printed(toolchain: &Toolchain, arch: NvvmArch) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("nothing.ll");
    fs::write(&source, "define ptx_kernel void @nothing() { ret void }\n").unwrap();
    let mut llc = Command::new(&toolchain.llc);
    llc.args(["-mtriple=nvptx64-nvidia-cuda", "-o", "-"]);
    llc.arg(format!("-mcpu={arch}"));
    if arch < NvvmArch::Compute80 {
        // As the builder asks for.
        llc.arg("-mattr=+ptx70");
    }
    let output = llc.arg(&source).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{arch}");
    String::from_utf8(output.stdout).unwrap()
}
