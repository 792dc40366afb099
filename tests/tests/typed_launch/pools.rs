//! Programs whose own threads are those of a pool. What deadlocks hangs.

use blockwise::{Device, Module, Shape};
use device_api::stamped;
use rayon::prelude::*;

use super::benches;

/// Blocks for several threads of the emulator.
fn launch(device: &Device, module: &Module, value: u32) {
    let mut data = device.zeros::<u32>(4096).unwrap();
    let stamp = stamped::<u32>::on(module).unwrap().shape(Shape::new(8, 64));
    stamp.launch(value, &mut data).unwrap();
    assert_eq!(data.to_vec().unwrap(), [value; 4096]);
}

#[test]
fn jobs_of_a_pool_share_a_device() {
    for (device, module) in benches() {
        let jobs = (0..200_u32).into_par_iter();
        jobs.for_each(|job| launch(device, &module, job));
    }
}

#[test]
fn jobs_of_a_pool_wait_for_threads_that_launch() {
    for (device, module) in benches() {
        (0..200_u32).into_par_iter().for_each(|job| {
            std::thread::scope(|scope| {
                scope.spawn(|| launch(device, &module, job));
            });
        });
    }
}
