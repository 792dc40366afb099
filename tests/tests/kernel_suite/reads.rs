//! What a launch reads of global memory.

use std::num::NonZeroU32;

use blockwise::{Device, EmulatorLimits, Watch};
use blockwise_ops::matmul::SLICED;
use blockwise_ops::{Options, matmul};
use blockwise_tests::data::matrix;
use kernels::matmul::slices::Cut;

/// Two warps copy a row of B's tile, 32 columns each. With 17 or 31 columns the second warp has
/// none, with 63 it lacks one. What does not exist is not read.
#[test]
fn a_tile_reads_no_column_beyond_the_matrix() {
    let device = Device::emulator_with(EmulatorLimits::default(), Watch::Profile);
    for (cut, rows) in [(Cut::Tall, 128), (Cut::Square, 64), (Cut::Flat, 32)] {
        for (inner, cols) in [(48, 17), (50, 31), (7, 31), (80, 63)] {
            let (a, b) = (
                matrix::<f32>(31, rows, inner),
                matrix::<f32>(32, inner, cols),
            );
            let options = Options {
                instance: Some(cut as u8),
                count: NonZeroU32::new(1),
                ..Options::of(&SLICED)
            };
            matmul(&device, a.view(), b.view(), &options).expect("a launch");
            let profile = device.take_profiles().pop().expect("the launch's profile");
            let read = profile.total().global_loads.bytes;
            let once = 4 * (rows * inner + inner * cols);
            assert_eq!(read, once as u64, "{cut:?} {inner} {cols}");
        }
    }
}
