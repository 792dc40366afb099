//! The PTX that a build script embedded: kernels know it, and say so when the crate's root has none.

#[test]
fn kernels_know_the_embedded_ptx() {
    // SAFETY: the only test of this program.
    unsafe { std::env::set_var("CUDA_STD_KERNELS", "1") };
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/embedded/not_in_the_root.rs");
    cases.pass("tests/embedded/in_the_root.rs");
}
