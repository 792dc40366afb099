//! What is declared and defined nowhere is an error of the build, reached or not.

use cuda_builder::CudaBuilderError;

use crate::common::build;

#[test]
fn each_undefined_function_and_static_is_named_with_kernel_and_line() {
    let error = build(
        "undefined",
        "unsafe extern \"C\" {
            fn nobody_defines_this(x: u32) -> u32;
            fn nor_this(x: u32) -> u32;
            fn called_in_dead_code(x: u32);
            static ELSEWHERE: u32;
        }
        #[kernel] pub unsafe fn calls_it_rarely(x: u32, out: *mut u32) {
            unsafe { *out = if x > 1_000_000 { nobody_defines_this(x) } else { x } };
            if false { unsafe { called_in_dead_code(x) } }
        }
        fn helper(x: u32) -> u32 { unsafe { nobody_defines_this(x) + ELSEWHERE } }
        #[kernel] pub unsafe fn through_a_helper(x: u32, out: *mut u32) { unsafe { *out = helper(x) } }
        #[kernel] pub unsafe fn also_through_it(x: u32, out: *mut u32) { unsafe { *out = helper(x) } }
        #[kernel] pub unsafe fn by_address(which: usize, out: *mut u32) {
            const TABLE: [unsafe extern \"C\" fn(u32) -> u32; 2] = [nor_this, nor_this];
            unsafe { *out = TABLE[which](3) }
        }
        #[kernel] pub unsafe fn fine(out: *mut u32) { println!(\"{}\", unsafe { *out }); }",
    )
    .unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::Undefined { .. }),
        "{error}"
    );
    let reports = error.to_string();
    let reason = "is declared but defined nowhere, and no GPU loads a kernel that lacks it; define it in Rust";
    for start in [
        "kernel `calls_it_rarely`: the function `nobody_defines_this`, used at members/undefined/src/lib.rs:9:48, ",
        "kernel `through_a_helper`: the function `nobody_defines_this`, used at members/undefined/src/lib.rs:13:",
        "kernel `also_through_it`: the function `nobody_defines_this`, used at members/undefined/src/lib.rs:14:",
        "kernel `through_a_helper`: the static `ELSEWHERE`, used at members/undefined/src/lib.rs:13:",
        "kernel `by_address`: the function `nor_this`, used at members/undefined/src/lib.rs:17:29, ",
    ] {
        let line = reports.lines().find(|line| line.starts_with(start));
        assert!(
            line.is_some_and(|line| line.contains(reason)),
            "{start}\n{reports}"
        );
    }
    assert_eq!(reports.lines().count(), 6, "{reports}");
}
