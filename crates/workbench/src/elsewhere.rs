//! `cargo xtask elsewhere`: what holds on other machines than x86-64 with Linux.
//!
//! - aarch64 with Linux, under qemu: the course's tests, and commands whose outputs must be those of
//!   this machine, byte for byte. Compiled here, PTX included.
//! - Windows and macOS: what compiles. Nothing runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Error, Result, bail};
use cuda_tools::Toolchain;
use cuda_tools::install::{Means, Output, is_on_path};

use crate::{setup, workspace};

const ARM: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: [&str; 3] = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"];
/// Debian's packages of these programs, and of the tool that Windows' standard library asks for.
const PACKAGES: [&str; 4] = [
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user",
    "binutils-mingw-w64-x86-64",
];

/// Targets for which this is checked only.
const CHECKED: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];
/// The crates that a kernel project is made of, and the operations.
const LIBRARIES: [&str; 5] = [
    "ptx_emulator",
    "blockwise",
    "blockwise_ops",
    "blockwise_builder",
    "blockwise_std",
];

/// Command lines whose output must not depend on the machine. `OUT` is the file that they write.
const LINES: [&str; 9] = [
    "conv x.npy t.npy -o OUT",
    "scan x.npy -o OUT",
    "scan x.npy --exclusive -o OUT",
    "sum m.npy --axis 1 -o OUT",
    "transpose m.npy -o OUT",
    "matmul m.npy n.npy -o OUT",
    "reverse m.npy --axis 1 -o OUT",
    "trace -o OUT sum --len 300",
    "check k.ptx --block 64 --format sarif --output OUT",
];

/// A race on a shared word, for the detectors.
const RACE: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() {\n\
    .shared .align 4 .b8 s[4];\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid.x;\nst.shared.u32 [s], %r1;\n\
    ld.shared.u32 %r2, [s];\nret;\n}\n";

pub(crate) fn run() -> Result<ExitCode> {
    let toolchain = setup::toolchain()?;
    if ![LINKER, EMULATOR[0], "x86_64-w64-mingw32-dlltool"]
        .iter()
        .all(|name| is_on_path(name))
    {
        let packages = Means::here().packages(&PACKAGES);
        let installed = packages.and_then(|packages| packages.run(Output::Shown));
        installed.map_err(Error::msg)?;
    }
    workspace::step("aarch64: the course's tests", || {
        workspace::check(cargo(&toolchain, ARM)?.args(["test", "--package", "course", "--lib"]))
    })?;
    workspace::step("aarch64: outputs, beside this machine's", || {
        let command = ["build", "--package", "blockwise_cli", "--features", "tools"];
        workspace::check(cargo(&toolchain, ARM)?.args(command))?;
        compare(&folder()?.join(ARM).join("debug/blockwise"))
    })?;
    for target in CHECKED {
        workspace::step(&format!("{target}: libraries compile"), || {
            let mut check = cargo(&toolchain, target)?;
            check.arg("check");
            check.args(LIBRARIES.iter().flat_map(|name| ["--package", name]));
            workspace::check(&mut check)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of what is built for other machines.
fn folder() -> Result<PathBuf> {
    Ok(workspace::target()?.join("elsewhere"))
}

/// cargo for another target, whose standard library it compiles: there is no prebuilt one beside
/// this compiler. The subcommand follows.
fn cargo(toolchain: &Toolchain, target: &str) -> Result<Command> {
    let mut command = toolchain.command();
    command.current_dir(workspace::root());
    // build-std is unstable.
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0");
    command.env("CARGO_TARGET_DIR", folder()?);
    command.env("CARGO_BUILD_TARGET", target);
    command
        .arg("--config")
        .arg(format!("target.{ARM}.linker={LINKER:?}"));
    command
        .arg("--config")
        .arg(format!("target.{ARM}.runner={EMULATOR:?}"));
    // An argument, not a variable: build scripts run another cargo.
    command.args(["-Zbuild-std=std,panic_unwind,test", "--locked"]);
    Ok(command)
}

/// Runs each line by this machine's program and by that of the other one.
fn compare(other: &Path) -> Result<()> {
    workspace::check(workspace::cargo().args([
        "build",
        "--locked",
        "--package",
        "blockwise_cli",
        "--features",
        "tools",
    ]))?;
    let own = workspace::target()?.join("debug/blockwise");
    let inputs = folder()?.join("inputs");
    fs::create_dir_all(&inputs)?;
    for (name, shape) in [
        ("x", "(5000,)"),
        ("t", "(301,)"),
        ("m", "(65, 129)"),
        ("n", "(129, 33)"),
    ] {
        fs::write(inputs.join(name).with_extension("npy"), array(shape))?;
    }
    fs::write(inputs.join("k.ptx"), RACE)?;
    for (number, line) in LINES.iter().enumerate() {
        let result = |program: &mut Command, machine: &str| -> Result<(Option<i32>, Vec<u8>)> {
            let output = inputs.join(format!("{machine}{number}.{}", ending(line)));
            let _ = fs::remove_file(&output);
            let words = line.split(' ').map(|word| match word {
                "OUT" => output.as_os_str(),
                word => word.as_ref(),
            });
            program
                .args(["--device", "emulator", "--quiet"])
                .args(words);
            let ended = program
                .current_dir(&inputs)
                .output()
                .context("cannot run it")?;
            let written = fs::read(&output).with_context(|| {
                format!(
                    "{machine}: {line}: {}",
                    String::from_utf8_lossy(&ended.stderr)
                )
            })?;
            Ok((ended.status.code(), written))
        };
        let here = result(&mut Command::new(&own), "here")?;
        let there = result(
            Command::new(EMULATOR[0]).args(&EMULATOR[1..]).arg(other),
            "there",
        )?;
        if here != there {
            bail!(
                "`{line}` has another result on aarch64: there{number} beside here{number} in {}",
                inputs.display()
            );
        }
        say!("  the same {} bytes: {line}", here.1.len());
    }
    Ok(())
}

/// What the file that a line writes is called.
fn ending(line: &str) -> &'static str {
    match line.split(' ').next() {
        Some("trace") => "html",
        Some("check") => "sarif",
        _ => "npy",
    }
}

/// A `.npy` file of float32 of many magnitudes and both signs.
fn array(shape: &str) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let count: usize = shape
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse::<usize>().ok())
        .product();
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let mut state = 1_u32;
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Exponents from 2^-16 to 2^15.
        let exponent = 111 + (state >> 9) % 32;
        bytes.extend((state & 0x807f_ffff | exponent << 23).to_le_bytes());
    }
    bytes
}
