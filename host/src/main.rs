//! The command `blockwise`.

use std::process::ExitCode;

fn main() -> ExitCode {
    blockwise_cli::cli::main(std::env::args_os())
}
