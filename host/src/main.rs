//! The command `blockwise`.

use std::process::ExitCode;

fn main() -> ExitCode {
    blockwise::cli::main(std::env::args_os())
}
