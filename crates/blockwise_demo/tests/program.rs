//! The program as a process.

use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockwise_demo"));
    command.args(arguments).output().expect("it starts")
}

#[test]
fn a_demo_prints_its_checks_and_the_verdict() {
    let output = demo(&["shared"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("device: "), "{text}");
    assert_eq!(text.matches("  pass").count(), 10, "{text}");
    assert!(text.ends_with("all 10 checks passed\n"), "{text}");
}

#[test]
fn what_is_no_demo_is_refused_with_the_names() {
    for (arguments, part) in [
        (&["convolve"][..], "conv, reduce, tiling, shared, all"),
        (&["conv", "reduce"], "one demo at a time"),
    ] {
        let output = demo(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(part), "{text}");
    }
}
