//! Each rule of `#[kernel]` and `#[address_space]`, broken once: the compiler's message is the
//! `.stderr` beside the program.

#[test]
fn broken_rules_are_compile_errors() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
    cases.pass("tests/compile_pass/*.rs");
}
