//! Helpers for the tests of passes.

use super::module::Module;
use crate::error::CudaBuilderError;

/// The module's text after a pass.
#[track_caller]
pub(crate) fn rewritten(
    ir: &str,
    pass: impl FnOnce(&mut Module<'_>) -> Result<(), CudaBuilderError>,
) -> String {
    let mut module = Module::parse(ir).unwrap();
    pass(&mut module).unwrap();
    module.to_string()
}

/// A function with these instructions and a return.
pub(crate) fn function(body: &str) -> String {
    format!("define void @test(ptr %p) {{\n{body}  ret void\n}}\n")
}

/// Asserts that a pass turns a function with these instructions into one with those; returns what
/// it appended to the module.
#[track_caller]
pub(crate) fn check_body(
    pass: impl FnOnce(&mut Module<'_>) -> Result<(), CudaBuilderError>,
    body: &str,
    expected: &str,
) -> String {
    let found = rewritten(&function(body), pass);
    let expected = function(expected);
    let appended = found.strip_prefix(&expected);
    assert!(appended.is_some(), "{found}\nis not\n{expected}");
    appended.unwrap_or_default().to_owned()
}
