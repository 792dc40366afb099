//! The devices that the tests run on.

use std::io::Write;
use std::sync::LazyLock;

use blockwise::{Device, DeviceChoice};

/// Environment variable that names one device for all tests, `gpu` or `emulator`. A GPU asked for
/// like that must be there.
pub const DEVICE_VARIABLE: &str = "BLOCKWISE_DEVICE";

/// The emulator and, where there is one, the GPU. A test goes through all of them with the same
/// code.
///
/// That there is no GPU is said once, on stderr, also when the test harness captures output.
pub fn devices() -> &'static [Device] {
    static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
        let mut choices = vec![DeviceChoice::Emulator];
        match std::env::var(DEVICE_VARIABLE) {
            Ok(name) => choices = vec![name.parse().unwrap_or_else(|error| panic!("{error}"))],
            Err(_) => match Device::gpu(0) {
                Ok(_) => choices.push(DeviceChoice::Gpu(0)),
                Err(error) => skip(&format!("the tests on a GPU: {error}")),
            },
        }
        choices.into_iter().map(open).collect()
    });
    &DEVICES
}

/// The emulator and the GPU, for tests that compare the two. `None` is a skip that has been said.
pub fn emulator_and_gpu() -> Option<&'static (Device, Device)> {
    static BOTH: LazyLock<Option<(Device, Device)>> = LazyLock::new(|| match Device::gpu(0) {
        Ok(gpu) => Some((Device::emulator(), gpu)),
        Err(error) => {
            skip(&format!("emulator against GPU, bit by bit: {error}"));
            None
        }
    });
    BOTH.as_ref()
}

fn open(choice: DeviceChoice) -> Device {
    Device::open(choice)
        .unwrap_or_else(|error| panic!("{error}; {}", error.hint().unwrap_or("no hint")))
}

/// The handle, not `eprintln!`: the harness captures the latter in tests that pass.
fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}
