//! Parses PTX files and lists their kernels:
//! `cargo run -p ptx_emulator --example check_ptx -- FILE…`

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        match std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| ptx_emulator::Module::parse(&text).map_err(|error| error.to_string()))
        {
            Ok(module) => {
                println!("{path}: {} PTX {:?}", module.target(), module.ptx_version());
                for entry in module.entries() {
                    println!(
                        "  {}: {} parameters, {} shared bytes",
                        entry.name(),
                        entry.params().len(),
                        entry.static_shared_bytes()
                    );
                    if let Some(reason) = entry.unsupported() {
                        println!("    cannot run here: {reason}");
                    }
                }
            }
            Err(error) => {
                eprintln!("{path}: {error}");
                failed = true;
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
