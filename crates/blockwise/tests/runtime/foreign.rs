//! Other libraries' work in a stream.

use blockwise::{Device, Error};
use cuda_std::launch::{Read, Write};

#[test]
fn work_gets_the_stream_and_memory_of_its_device_only() {
    let (device, other) = (Device::emulator(), Device::emulator());
    let stream = device.urgent_stream().unwrap();
    let mut own = device.upload(&[1_u32, 2]).unwrap();
    let foreign = other.upload(&[1_u32]).unwrap();
    let mut started = 0;
    let mut enqueue = |memory: &[_]| {
        // SAFETY: no work is enqueued.
        unsafe {
            stream.enqueue_foreign(memory, |handle| {
                assert!(handle.is_null(), "the emulator has no driver's stream");
                started += 1;
                Ok::<_, Error>(())
            })
        }
    };
    enqueue(&[Write::pass(own.as_view_mut())]).unwrap();
    let refused = enqueue(&[Read::pass(foreign.as_view())]).unwrap_err();
    assert!(matches!(refused, Error::ForeignBuffer { .. }), "{refused}");
    assert_eq!(started, 1);
    assert!(stream.record().unwrap().has_passed().unwrap());
}

#[test]
fn what_goes_wrong_in_starting_is_the_callers_error() {
    let device = Device::emulator();
    let stream = device.stream().unwrap();
    // SAFETY: no work is enqueued.
    let failed = unsafe { stream.enqueue_foreign(&[], |_| Err(Error::ForeignEvent)) };
    assert!(matches!(failed, Err(Error::ForeignEvent)));
    let recorded = device.graph(|stream| {
        // SAFETY: as above.
        unsafe { stream.enqueue_foreign(&[], |_| Ok(())) }
    });
    assert!(matches!(recorded.err(), Some(Error::NotRecordable { .. })));
}
