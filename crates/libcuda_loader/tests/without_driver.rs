//! What `cust` gets when no driver can be loaded. Each case is a separate process, because the
//! first call decides.

use std::process::Command;

use libcuda_loader::{LIBRARY_VARIABLE, LoadError, last_failure, status};

/// Runs the test `name` again in a fresh process with the variable set to `library`.
#[track_caller]
fn in_fresh_process(name: &str, library: &str) {
    let this = std::env::current_exe().expect("a test knows its own file");
    let output = Command::new(this)
        .args([name, "--exact", "--nocapture"])
        .env(LIBRARY_VARIABLE, library)
        .output()
        .expect("a test can start its own file");
    let told = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
}

fn chosen() -> Option<String> {
    std::env::var(LIBRARY_VARIABLE).ok()
}

#[test]
fn without_a_driver_every_call_is_an_error() {
    let absent = "/absent/libcuda.so.1";
    if chosen().as_deref() != Some(absent) {
        return in_fresh_process("without_a_driver_every_call_is_an_error", absent);
    }
    assert_eq!(
        cust::init(cust::CudaFlags::empty()),
        Err(cust::error::CudaError::NoDevice)
    );
    assert_eq!(last_failure().map(|failure| failure.call), Some("cuInit"));
    assert!(cust::device::Device::num_devices().is_err());
    assert!(cust::context::CurrentContext::synchronize().is_err());
    // cust asks the driver for this text and panics without one.
    assert!(
        cust::error::CudaError::NoDevice
            .to_string()
            .contains("no CUDA driver")
    );
    assert!(matches!(status(), Err(LoadError::NotFound { attempts }) if attempts[0].0 == absent));
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_is_no_driver_is_an_error() {
    let other = "libc.so.6";
    if chosen().as_deref() != Some(other) {
        return in_fresh_process("a_library_that_is_no_driver_is_an_error", other);
    }
    assert_eq!(
        cust::init(cust::CudaFlags::empty()),
        Err(cust::error::CudaError::NoDevice)
    );
    let expected = LoadError::MissingSymbol {
        library: other.into(),
        symbol: "cuInit".into(),
    };
    assert_eq!(status(), Err(expected));
}
