//! Crates from crates.io that were written for CPUs, in kernels: the same results.

use cuda_builder::CudaBuilder;
use half::{bf16, f16};
use micromath::F32Ext;
use ptx_emulator::testing::Launch;
use sha2::{Digest, Sha256};

use crate::common::{member, text, whole_sweeps};

const SOURCE: &str = "
use cuda_std::prelude::*;
use half::{bf16, f16};
use micromath::F32Ext;
use sha2::{Digest, Sha256};

#[kernel]
pub unsafe fn hash(text: &[u8], digest: *mut u8) {
    for (at, byte) in Sha256::digest(text).iter().enumerate() {
        unsafe { *digest.add(at) = *byte };
    }
}

#[kernel]
pub unsafe fn rotate(angle: f32, vector: &mut [f32]) {
    let turned = glam::Quat::from_rotation_z(angle) * glam::Vec3::from_slice(vector);
    vector.copy_from_slice(&turned.to_array());
}

// The program's glam and the one of `thread` are one crate.
#[kernel]
pub unsafe fn place(at: *mut u32) {
    let index: glam::UVec2 = thread::index_2d();
    unsafe { *at = index.x + index.y };
}

#[kernel]
pub unsafe fn round(values: &[f32], halves: *mut u16) {
    let i = thread::index_1d() as usize;
    unsafe {
        *halves.add(2 * i) = f16::from_f32(values[i]).to_bits();
        *halves.add(2 * i + 1) = bf16::from_f32(values[i]).to_bits();
    }
}

#[kernel]
pub unsafe fn functions(values: &mut [f64]) {
    values[0] = libm::tgamma(values[0]);
    values[1] = libm::cosh(values[1]) + libm::cos(values[1]);
    values[2] = f64::from((values[2] as f32).invsqrt().sqrt());
}
";

#[test]
fn sha2_glam_half_libm_and_micromath_give_the_cpus_results() {
    if !whole_sweeps("crates from crates.io in kernels") {
        return;
    }
    let dependencies =
        "glam = { version = \"0.34\", default-features = false, features = [\"libm\"] }
half = { version = \"2\", default-features = false }
libm = \"0.2\"
micromath = \"2\"
sha2 = { version = \"0.10\", default-features = false }";
    let folder = member("borrowing", dependencies, SOURCE);
    let builder = CudaBuilder::new(folder).build_args(&["--features", "cuda_std/glam"]);
    let ptx = text(builder.build().unwrap());
    let launch = |kernel: &str| Launch::of(&ptx).unwrap().kernel(kernel);

    let message: Vec<u8> = (0..200_u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut digest = [0_u8; 32];
    launch("hash")
        .slice(&message)
        .output(&mut digest)
        .check()
        .unwrap()
        .assert_clean();
    assert_eq!(digest, <[u8; 32]>::from(Sha256::digest(&message)));

    let mut vector = [1.0_f32, -2.0, 0.5];
    let expected = glam::Quat::from_rotation_z(0.7) * glam::Vec3::from_slice(&vector);
    launch("rotate")
        .value(0.7_f32)
        .slice_mut(&mut vector)
        .check()
        .unwrap()
        .assert_clean();
    assert!(
        expected.abs_diff_eq(glam::Vec3::from_slice(&vector), 4.0 * f32::EPSILON),
        "{expected} {vector:?}"
    );

    let values: Vec<f32> = (0..64)
        .map(|i| (i as f32 - 31.3) * 1.7_f32.powi(i / 2))
        .collect();
    let mut halves = vec![0_u16; 128];
    launch("round")
        .block(64)
        .slice(&values)
        .output(&mut halves)
        .check()
        .unwrap()
        .assert_clean();
    let expected = |value: &f32| {
        [
            f16::from_f32(*value).to_bits(),
            bf16::from_f32(*value).to_bits(),
        ]
    };
    assert_eq!(halves, values.iter().flat_map(expected).collect::<Vec<_>>());

    let mut values = [4.5_f64, 1.25, 2.0];
    let expected = [
        libm::tgamma(4.5),
        libm::cosh(1.25) + libm::cos(1.25),
        f64::from(F32Ext::sqrt(2.0_f32.invsqrt())),
    ];
    launch("functions")
        .slice_mut(&mut values)
        .check()
        .unwrap()
        .assert_clean();
    for (value, expected) in values.iter().zip(expected) {
        // libdevice's functions instead of libm's: a few units in the last place.
        assert!(
            (value - expected).abs() <= 16.0 * f64::EPSILON * expected.abs(),
            "{value} {expected}"
        );
    }
}
