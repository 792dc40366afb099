//! The PTX that a build script embedded: kernels know it, and take no other.

#[test]
fn kernels_know_the_embedded_ptx_and_take_no_other() {
    let out = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded/out");
    // SAFETY: the only test of this program.
    unsafe {
        std::env::set_var("CUDA_STD_KERNELS", "1");
        std::env::set_var("OUT_DIR", out);
    }
    let cases = trybuild::TestCases::new();
    // With a program that is linked, all dependencies are compiled from nothing.
    if std::env::var_os("BLOCKWISE_TEST_ALL").is_some() {
        cases.pass("tests/embedded/in_the_root.rs");
    } else {
        println!(
            "left to `cargo xtask test --all`: a program outside of this workspace that embeds its PTX"
        );
    }
    cases.compile_fail("tests/embedded/not_in_the_root.rs");
    cases.compile_fail("tests/embedded/by_hand.rs");
    cases.compile_fail("tests/embedded/of_another_crate.rs");
    drop(cases);

    // An error of the device's compiler, of which the host's may have its own.
    let late = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedded/late");
    // SAFETY: the cases above have run.
    unsafe { std::env::set_var("OUT_DIR", late) };
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/embedded/of_the_device.rs");
    cases.compile_fail("tests/embedded/of_both.rs");
}
