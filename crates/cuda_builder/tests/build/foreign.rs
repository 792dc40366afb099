//! Code that was written for rust-cuda: what its older compilers had, and what only OptiX or its
//! own backend can mean.

use std::fs;

use cuda_builder::{CudaBuilder, CudaBuilderError};
use ptx_emulator::testing::Launch;

use crate::common::{member, text, whole_sweeps};

/// The attributes that every kernel crate for the published versions begins with, and a feature
/// that has gone since.
const OLD: &str = "#![cfg_attr(
    target_os = \"cuda\",
    no_std,
    feature(register_attr, stdsimd, abi_ptx),
    register_attr(nvvm_internal)
)]
#![allow(improper_ctypes_definitions)]

extern crate alloc;

mod part;

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn double(input: &[u32], output: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        unsafe { *output.add(i) = part::twice(input[i]) + alloc::vec::Vec::<u32>::new().len() as u32 };
    }
}
";

#[test]
fn a_crate_of_the_published_versions_builds_with_its_own_paths_and_lines() {
    if !whole_sweeps("a crate for rust-cuda 0.2") {
        return;
    }
    let folder = member("old", "", OLD);
    let part = folder.join("src/part.rs");
    fs::write(
        &part,
        "#![register_attr(nvvm_internal)]\n#[inline(never)]\npub fn twice(x: u32) -> u32 { x.checked_mul(2).unwrap() }\n",
    )
    .unwrap();
    let build = || text(CudaBuilder::new(&folder).build().unwrap());
    let ptx = build();
    assert!(ptx.contains(".entry double("), "{ptx}");
    // Positions are those of the user's files: the slice is indexed in line 19.
    assert!(!ptx.contains("wrapper/copies"), "{ptx}");
    assert!(
        ptx.contains("old/src/lib.rs") || ptx.contains("src/lib.rs"),
        "{ptx}"
    );
    assert_eq!(
        text(folder.join("src/lib.rs")),
        OLD,
        "the sources stay as they are"
    );
    // A change is seen, in the first file and in others.
    fs::write(
        &part,
        "#[inline(never)]\npub fn twice(x: u32) -> u32 { x ^ 0x1234 }\n",
    )
    .unwrap();
    let second = build();
    assert_ne!(second, ptx);
    fs::write(
        folder.join("src/lib.rs"),
        OLD.replace("fn double", "fn again"),
    )
    .unwrap();
    assert!(build().contains(".entry again("));
    // A crate that is brought up to date needs no copy any more.
    let modern = OLD.replace(
        "feature(register_attr, stdsimd, abi_ptx),\n    register_attr(nvvm_internal)\n",
        "allow(unused)\n",
    );
    fs::write(
        folder.join("src/lib.rs"),
        modern.replace("fn double", "fn modern"),
    )
    .unwrap();
    assert!(build().contains(".entry modern("));
}

/// Code of 0.2.2 names their types and calls their methods.
#[test]
fn positions_are_veks_vectors_when_the_feature_asks_for_them() {
    if !whole_sweeps("the feature `vek_indices`") {
        return;
    }
    let source = "use cuda_std::{prelude::*, vek::{Vec2, Vec3}};
        #[kernel] pub unsafe fn place(places: &mut [u32]) {
            let (at, extent): (Vec2<u32>, Vec3<u32>) = (thread::index_2d(), thread::block_dim());
            places[(at.yx() * Vec2::new(extent.x * 2, 1)).sum() as usize] = thread::index_3d().xy().reduce_max();
        }";
    let folder = member("vectors", "", source);
    let ptx = CudaBuilder::new(folder)
        .build_args(&["--features", "cuda_std/vek_indices"])
        .build()
        .unwrap();
    let mut places = [0_u32; 48];
    Launch::of(&text(ptx))
        .unwrap()
        .kernel("place")
        .grid((2, 2))
        .block((4, 3))
        .slice_mut(&mut places)
        .check()
        .unwrap()
        .assert_clean();
    let expected: Vec<u32> = (0..6).flat_map(|y| (0..8).map(move |x| x.max(y))).collect();
    assert_eq!(places.as_slice(), expected);
}

/// Each names what is used and says who supplies it.
#[test]
fn what_only_optix_or_the_other_backend_can_mean_is_said() {
    let build = |source: &str| {
        let folder = member("elsewhere", "", source);
        CudaBuilder::new(folder).build().unwrap_err()
    };
    let supplied = |source: &str, name: &str| {
        let error = build(source);
        assert!(
            matches!(&error, CudaBuilderError::SuppliedElsewhere { symbol, kernel, .. } if symbol == name && kernel == "entry"),
            "{error}"
        );
    };
    let parameters = "unsafe extern \"C\" { #[cfg_attr(target_os = \"cuda\", nvvm_internal::addrspace(4))] static PARAMS: u32; }";
    let uses = |body: &str| {
        format!(
            "use cuda_std::prelude::*;\n{parameters}\n#[kernel] pub unsafe fn entry(x: *mut u32) {{ unsafe {{ {body} }} }}"
        )
    };
    supplied(&uses("*x = PARAMS"), "PARAMS");
    let call = "let i: u32; core::arch::asm!(\"call ({}), _optix_get_launch_index_x, ();\", out(reg32) i); *x = i";
    supplied(
        &format!("#![feature(asm_experimental_arch)]\n{}", uses(call)),
        "_optix_get_launch_index_x",
    );
    let trap = "unsafe extern \"C\" { fn __nvvm_trap() -> !; } if *x > 3 { __nvvm_trap() }";
    supplied(&uses(trap), "__nvvm_trap");

    let error = build(
        "use cuda_std::prelude::*;\n#[nvvm_internal::addrspace(3)]\nstatic mut TILE: [u32; 4] = [0; 4];\n#[kernel] pub unsafe fn entry(x: *mut u32) { unsafe { TILE[1] = 4; *x = TILE[1] } }",
    );
    assert!(
        matches!(&error, CudaBuilderError::BackendAttribute { line: 2, .. }),
        "{error}"
    );
    let error = build("use cuda_std::prelude::*;\n#[kernel] pub unsafe fn __raygen__render() {}");
    assert!(
        error
            .to_string()
            .contains("`__raygen__render` names a program of OptiX"),
        "{error}"
    );
    // Declared and not used, as in a crate that is built for OptiX too, it is no matter.
    let folder = member("elsewhere", "", &uses("*x = 1"));
    CudaBuilder::new(folder).build().unwrap();
}
