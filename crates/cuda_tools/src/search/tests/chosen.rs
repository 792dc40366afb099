//! Programs that variables name, and the files of CUDA.

use super::*;

#[test]
fn the_environment_comes_first() {
    let mut machine = MadeUp::new()
        .rustup()
        .rustup_source()
        .rustup_llvm()
        .debian();
    machine.compiler("own", "1.97.0", "22.1.9");
    machine.source("own");
    machine.llvm("own-llvm", "-23", "23.0.0");
    machine.set(RUSTC, "own/bin/rustc");
    machine.set(LLVM_BIN, "own-llvm");
    machine.check_found(Origin::Environment, "own/bin/rustc", "own-llvm/llc-23");
    assert_eq!(machine.found().cargo, machine.path("own/bin/cargo"));
}

#[test]
fn each_half_of_the_environment_completes_itself() {
    let mut machine = MadeUp::new().rustup().debian();
    machine.set(CARGO, "usr/bin/cargo");
    machine.check_found(Origin::Environment, "usr/bin/rustc", "usr/bin/llc-22");

    // The rustup toolchain has no source, so the LLVM tools are used with the system's compiler.
    let mut machine = MadeUp::new().rustup().debian();
    machine.llvm("own-llvm", "", "22.1.8");
    machine.set(LLVM_BIN, "own-llvm");
    machine.check_found(Origin::Environment, "usr/bin/rustc", "own-llvm/llc");
    machine
        .rustup_source()
        .check_found(Origin::Environment, "toolchain/bin/rustc", "own-llvm/llc");
}

#[test]
fn a_variable_that_points_nowhere_is_an_error_even_if_another_place_would_do() {
    let mut machine = MadeUp::new().debian();
    machine.set(RUSTC, "nowhere/rustc");
    machine.set(LLVM_BIN, "nowhere");
    let reasons = machine.reasons(Origin::Environment);
    assert_eq!(
        reasons,
        [
            Rejection::Variable {
                variable: RUSTC,
                path: machine.path("nowhere/rustc")
            },
            Rejection::Variable {
                variable: LLVM_BIN,
                path: machine.path("nowhere")
            }
        ]
    );
    let text = search(&machine).into_toolchain().unwrap_err().to_string();
    assert!(text.contains("BLOCKWISE_RUSTC="), "{text}");
    assert!(text.contains("correct or unset the variable"), "{text}");
    assert!(!text.contains("apt-get"), "{text}");
}

#[test]
fn a_compiler_chosen_by_hand_is_held_to_the_same_rules() {
    let mut machine = MadeUp::new().rustup().debian();
    machine.set(RUSTC, "toolchain/bin/rustc");
    let reasons = machine.reasons(Origin::Environment);
    assert!(
        matches!(reasons[..], [Rejection::NoSource { .. }]),
        "{reasons:?}"
    );
}

fn ptxas_text(version: &str) -> String {
    format!(
        "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V{version}\nBuild cuda_13.0\n"
    )
}

#[test]
fn ptxas_is_taken_from_variable_toolkit_path_and_cache_in_this_order() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    let cached = format!(
        "cache/{}-{}/{}",
        ptxas::WHEEL.package,
        ptxas::WHEEL.version,
        ptxas::WHEEL.file
    );
    let places = [
        cached.as_str(),
        "usr/local/cuda/bin/ptxas",
        "path/ptxas",
        "toolkit/bin/ptxas",
        "own/ptxas",
    ];
    machine.set("PATH", "path");
    machine.set("CUDA_HOME", "toolkit");
    for (number, place) in places.into_iter().enumerate() {
        machine.program(place, "--version", ptxas_text(&format!("13.0.{number}")));
        if place == "own/ptxas" {
            machine.set(PTXAS, place);
        }
        let found = ptxas::find(&machine, &cache).unwrap();
        assert_eq!(
            found,
            Ptxas {
                path: machine.path(place),
                version: Version::new(13, 0, number as u32)
            }
        );
    }
}

#[test]
fn a_ptxas_that_does_not_run_is_passed_over_but_not_one_chosen_by_hand() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    machine.file("usr/local/cuda/bin/ptxas", "");
    let error = ptxas::find(&machine, &cache).unwrap_err().to_string();
    assert!(
        error.contains("cuda/bin/ptxas does not run: exec format error"),
        "{error}"
    );
    assert!(error.contains("blockwise setup"), "{error}");

    machine.set("CUDA_PATH", "toolkit");
    machine.program("toolkit/bin/ptxas", "--version", ptxas_text("12.9.86"));
    assert_eq!(
        ptxas::find(&machine, &cache).unwrap().version,
        Version::new(12, 9, 86)
    );

    machine.set(PTXAS, "nowhere/ptxas");
    let error = ptxas::find(&machine, &cache).unwrap_err().to_string();
    assert!(error.contains("BLOCKWISE_PTXAS: "), "{error}");
    assert!(error.contains("nowhere/ptxas is not there"), "{error}");
}

#[test]
fn nvdisasm_is_taken_from_beside_ptxas_path_and_cache_unless_it_is_older() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    let assembler = Ptxas {
        path: machine.path("toolkit/bin/ptxas"),
        version: Version::new(13, 0, 1),
    };
    let cached = format!("cache/{}", nvdisasm::WHEEL.place(Path::new("")).display());
    machine.set("PATH", "path");
    let found = |machine: &MadeUp| nvdisasm::find_on(machine, &assembler, &cache);
    for place in [&*cached, "path/nvdisasm", "toolkit/bin/nvdisasm"] {
        let before = found(&machine);
        machine.program(place, "--version", ptxas_text("13.0.0"));
        assert_eq!(found(&machine), before);
        machine.program(place, "--version", ptxas_text("13.0.1"));
        assert_eq!(found(&machine), Some(machine.path(place)));
    }
}

#[test]
fn libdevice_is_taken_from_variable_toolkit_and_cache_in_this_order() {
    let mut machine = MadeUp::new();
    let cache = machine.path("cache");
    let error = libdevice::find_on(&machine, &cache)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("none in CUDA_HOME") && error.contains("blockwise setup"),
        "{error}"
    );
    let wheel = libdevice::WHEEL;
    let cached = format!("cache/{}-{}/{}", wheel.package, wheel.version, wheel.file);
    let users = format!("home/.cache/blockwise/tools/{}", &cached["cache/".len()..]);
    let places = [
        users.as_str(),
        cached.as_str(),
        "usr/local/cuda/nvvm/libdevice/libdevice.10.bc",
        "toolkit/nvvm/libdevice/libdevice.10.bc",
        "own.bc",
    ];
    machine.set("CUDA_PATH", "toolkit");
    for place in places {
        machine.file(place, "");
        if place == "own.bc" {
            machine.set(LIBDEVICE, place);
        }
        assert_eq!(
            libdevice::find_on(&machine, &cache).unwrap(),
            machine.path(place)
        );
    }
    machine.set(LIBDEVICE, "nowhere.bc");
    let error = libdevice::find_on(&machine, &cache)
        .unwrap_err()
        .to_string();
    assert!(error.contains("nowhere.bc does not exist"), "{error}");
}
