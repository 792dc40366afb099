//! `blockwise profile`: the lessons that the kernels are there for must be in the figures.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::command::{Run, blockwise, program};

/// Runs `profile` with these words, without a ptxas.
fn profile(line: &str) -> Run {
    let words = format!("profile {line}");
    Run::of(without_ptxas(&mut blockwise(words.split_whitespace())))
}

fn without_ptxas(command: &mut Command) -> &mut Command {
    command.env("BLOCKWISE_PTXAS", "/no/such/ptxas")
}

/// The kernel of that name in a report.
#[track_caller]
fn kernel<'a>(report: &'a Value, name: &str) -> &'a Value {
    let kernels = report["kernels"].as_array().expect("a list");
    kernels
        .iter()
        .find(|kernel| kernel["name"] == name)
        .expect("it ran")
}

#[test]
fn the_transposes_differ_in_what_they_are_made_for() {
    // 256 × 256 words: 2,048 warps' accesses on either side.
    let report = profile("transpose --rows 256 --cols 256 --json")
        .ends(0)
        .json();
    let total = |name| &kernel(&report, name)["total"];
    for name in ["naive", "tiled", "padded"] {
        assert_eq!(total(name)["global_loads"]["requests"], 2048);
        assert_eq!(
            total(name)["global_loads"]["sectors"],
            4 * 2048,
            "{name} reads rows"
        );
    }
    assert_eq!(
        total("naive")["global_stores"]["sectors"],
        32 * 2048,
        "it writes columns"
    );
    assert_eq!(total("naive")["shared_loads"]["requests"], 0);
    for (name, wavefronts) in [("tiled", 32), ("padded", 1)] {
        assert_eq!(total(name)["global_stores"]["sectors"], 4 * 2048);
        assert_eq!(total(name)["shared_stores"]["wavefronts"], 2048);
        assert_eq!(
            total(name)["shared_loads"]["wavefronts"],
            wavefronts * 2048,
            "{name}"
        );
        // The barrier after the loads of each of the 64 tiles, for 8 warps; a block's first tile
        // needs none before them.
        assert_eq!(total(name)["barriers"], 64 * 8);
    }
    // Each word once: nothing is computed, so the memory is what bounds it.
    let padded = kernel(&report, "padded");
    assert_eq!(padded["footprint"]["read_bytes"], 256 * 256 * 4);
    assert_eq!(padded["footprint"]["written_bytes"], 256 * 256 * 4);
    assert_eq!(padded["roofline"]["bound_by"], "memory");
    assert_eq!(padded["shared_bytes"], 33 * 32 * 4);
}

#[test]
fn lines_add_up_to_the_whole() {
    let report = profile("sum --len 5000 --json").ends(0).json();
    for name in ["tree", "shuffle"] {
        let kernel = kernel(&report, name);
        let lines = kernel["lines"].as_array().expect("a list");
        let sum: u64 = lines
            .iter()
            .filter_map(|line| line["warp_instructions"].as_u64())
            .sum();
        assert!(sum > 0);
        assert_eq!(kernel["total"]["warp_instructions"], sum);
    }
}

#[test]
fn a_product_through_tiles_asks_for_less() {
    let report = profile("matmul --rows 64 --inner 64 --cols 64 --json")
        .ends(0)
        .json();
    let flops = |name| {
        kernel(&report, name)["total"]["flops"]["f32"]
            .as_u64()
            .expect("a count")
    };
    let sectors = |name| {
        kernel(&report, name)["total"]["global_loads"]["sectors"]
            .as_u64()
            .expect("a count")
    };
    assert_eq!(
        (flops("naive"), flops("tiled")),
        (2 * 64 * 64 * 64, 2 * 64 * 64 * 64)
    );
    // Each element of a tile serves 16 threads.
    assert!(
        sectors("naive") > 4 * sectors("tiled"),
        "{} {}",
        sectors("naive"),
        sectors("tiled")
    );
}

#[test]
fn one_kernel_of_a_family_and_its_source() {
    let run =
        profile("transpose --rows 64 --cols 32 --kernel tiled --listing --device-model sm_86")
            .ends(0);
    assert!(run.stdout.contains("GeForce RTX 3090 (sm_86)"), "{run:?}");
    assert!(run.stdout.contains("32.0-way bank conflict"), "{run:?}");
    assert!(!run.stdout.contains("padded"), "{run:?}");
    // The embedded PTX knows its Rust lines.
    assert!(run.stdout.contains("left.start() + col"), "{run:?}");
}

#[test]
fn without_ptxas_the_registers_are_unknown() {
    let run = profile("reverse --len 1000").ends(0);
    assert!(
        run.stderr.contains("registers are unknown") && run.stderr.contains("blockwise setup"),
        "{run:?}"
    );
    let registers = run
        .stdout
        .lines()
        .find(|line| line.starts_with("registers"))
        .expect("a row");
    assert!(registers.ends_with('?'), "{registers}");
}

#[cfg(unix)]
#[test]
fn registers_limit_the_occupancy() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let ptxas = folder.path().join("ptxas");
    // What ptxas prints, for a kernel of 72 registers.
    let script = "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; fi
[ \"$1\" = -arch=sm_80 ] || exit 1
echo \"ptxas info    : Compiling entry function '$3' for 'sm_80'\" >&2
echo 'ptxas info    : Used 72 registers, used 1 barriers, 1024 bytes smem' >&2
";
    std::fs::write(&ptxas, script).expect("a file");
    std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).expect("it is mine");
    let words = "profile sum --len 1000 --kernel shuffle --device-model sm_80 --json";
    let report = Run::of(blockwise(words.split(' ')).env("BLOCKWISE_PTXAS", &ptxas))
        .ends(0)
        .json();
    let kernel = kernel(&report, "shuffle");
    assert_eq!(kernel["resources"]["registers"], 72);
    // 72 · 32 registers are 7 warps a partition, 28 in all: 3 blocks of 8 warps.
    assert_eq!(kernel["occupancy"]["blocks"], 3);
    assert_eq!(
        kernel["occupancy"]["limited_by"],
        serde_json::json!(["registers"])
    );
}

#[test]
fn what_cannot_be_profiled_is_said() {
    profile("matmul --type i64").refused("there are no `matmul` kernels for i64");
    profile("transpose --rows 99999999999 --cols 99999999999").refused("too large to be emulated");
    profile("transpose --rows 0").refused("nothing to launch");
    // Not what the last kernel lacks.
    profile("matmul --rows 0 --inner 3 --cols 5").refused("nothing to launch");
    profile("conv --kernel block-per-output --taps 3 --len 10").refused("works on f64 only");
    let gpu = Run::of(program().args(["profile", "reverse", "--device", "gpu"]));
    gpu.refused("profiles are made on the emulator");
    // A kernel that cannot do it is left out when others can.
    let run = profile("conv --len 100 --taps 3").ends(0);
    assert!(
        run.stderr.contains("without `block-per-output`: "),
        "{run:?}"
    );
    let unknown = Run::line(Path::new("."), "profile reverse --device-model sm_20").ends(2);
    assert!(
        unknown.stderr.contains("sm_20") && unknown.stderr.contains("sm_90"),
        "{unknown:?}"
    );
}

/// Each lane of 64 threads stores to its own sector, two warps.
const STRIDED: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry strided(.param .u64 out)
{
    .reg .b64 %at; .reg .b32 %t;
    ld.param.u64 %at, [out];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %at, %t, 32, %at;
    st.global.u32 [%at], %t;
    ret;
}
";

#[test]
fn a_kernel_of_any_ptx() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.ptx"), STRIDED).expect("a file");
    let run = |words: &str| {
        let mut command = blockwise(words.split(' '));
        Run::of(without_ptxas(&mut command).current_dir(folder.path()))
    };
    let report = run("profile ptx k.ptx --block 64 --arg u32[512] --json")
        .ends(0)
        .json();
    let stores = &kernel(&report, "strided")["total"]["global_stores"];
    assert_eq!(
        (&stores["requests"], &stores["sectors"]),
        (&2.into(), &64.into())
    );
    let text = run("profile ptx k.ptx --block 64 --arg u32[512] --listing")
        .ends(0)
        .stdout;
    assert!(
        text.contains("st.global.u32") && text.contains("4.0 sectors a request would do"),
        "{text}"
    );
    run("profile ptx k.ptx --block 64").refused("strided");
    let fault = run("profile ptx k.ptx --block 64 --arg u32[8]").ends(2);
    assert!(
        fault.stderr.starts_with("error: out of bounds"),
        "{fault:?}"
    );
    let endless = STRIDED.replace("    ret;", "LOOP: bra LOOP;");
    std::fs::write(folder.path().join("k.ptx"), endless).expect("a file");
    let endless = run("profile ptx k.ptx --block 64 --arg u32[512] --steps 1000").ends(2);
    assert!(
        endless.stderr.starts_with("error: step limit"),
        "{endless:?}"
    );
}

#[test]
fn a_plot_has_the_kernels_under_the_roof_and_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |line: &str| {
        let words = format!("profile {line}");
        let mut command = blockwise(words.split_whitespace());
        Run::of(without_ptxas(&mut command).current_dir(folder.path()))
    };
    let line = "matmul --rows 32 --inner 32 --cols 32 --kernel naive,tiled --plot plots";
    let said = run(line).ends(0).stdout;
    let files = crate::command::names(&folder.path().join("plots"));
    let names = ["lines_naive", "lines_tiled", "roofline"];
    let expected: Vec<_> = names
        .iter()
        .flat_map(|name| ["png", "svg"].map(|kind| format!("{name}.{kind}")))
        .collect();
    assert_eq!(files, expected);
    assert!(files.iter().all(|file| said.contains(file)), "{said}");
    let text = |file: &str| {
        let bytes = std::fs::read(folder.path().join("plots").join(file)).expect("a file");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let roof = text("roofline.svg");
    for label in ["Roofline of", ">naive<", ">tiled<", " TFLOP/s<", " TB/s<"] {
        assert!(roof.contains(label), "{label}");
    }
    // A kernel has two marks on the roof: without caches, and with perfect ones.
    assert_eq!(roof.matches("<circle").count(), 4);
    let lines = text("lines_tiled.svg");
    for label in [
        "Cost of each line of tiled",
        ">shared wavefronts<",
        "kernels/src/matmul/",
    ] {
        assert!(lines.contains(label), "{label}");
    }
    assert!(text("roofline.png").starts_with("\u{fffd}PNG"));

    // Without arithmetic there is no place under the roof, and the picture says so.
    let report = run("transpose --rows 32 --cols 32 --kernel padded --plot t --json")
        .ends(0)
        .json();
    assert_eq!(report["plots"].as_array().map(Vec::len), Some(4));
    let roof = std::fs::read_to_string(folder.path().join("t/roofline.svg")).expect("a file");
    assert!(roof.contains(">padded<") && roof.contains(">no arithmetic<"));
    assert_eq!(roof.matches("<circle").count(), 0);
    let refused = run("transpose --rows 32 --cols 32 --plot /dev/null/plots").ends(2);
    assert!(
        refused
            .stderr
            .contains("cannot make the folder /dev/null/plots"),
        "{refused:?}"
    );
}
