//! What safe kernels with shared memory may not do: one wrong idea a program, and the compiler's
//! answer beside it.

#[test]
fn wrong_ideas_are_compile_errors() {
    // By themselves they are checked in one run of cargo.
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/safe/compile_fail/*.rs");
}

#[test]
fn wrong_constants_are_compile_errors() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/safe/generated/*.rs");
    // A program that is right makes trybuild generate code, without which constants of generic
    // types are not checked.
    cases.pass("tests/safe/compile_pass/*.rs");
}
