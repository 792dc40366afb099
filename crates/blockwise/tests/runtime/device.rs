//! Ways to a device, and memory on it.

use crate::common::devices;
use blockwise::{Device, DeviceChoice, DeviceKind, EmulatorLimits, Error, StagedBuffer, Watch};

#[test]
fn the_automatic_choice_always_opens_and_says_why_it_took_the_emulator() {
    let device = Device::any().expect("there is the emulator at least");
    let is_emulator = device.properties().kind == DeviceKind::Emulator;
    assert_eq!(device.fallback().is_some(), is_emulator);
    if let Some(reason) = device.fallback() {
        assert!(
            !reason.contains('\n') && reason.starts_with("no CUDA GPU can be used: "),
            "{reason}"
        );
        let error = Device::open(DeviceChoice::Gpu(0)).expect_err("there is no GPU");
        assert_eq!(error.to_string(), reason);
        let hint = error.hint().expect("what to do");
        assert!(hint.contains("driver"), "{hint}");
    }
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    for ordinal in [Device::gpu_count(), 1000, usize::MAX] {
        let error = Device::gpu(ordinal).expect_err("no such GPU");
        assert!(matches!(error, Error::NoGpu { .. }), "{error}");
    }
}

#[test]
fn the_emulator_is_what_was_asked_for_and_has_an_h200s_limits() {
    let device = Device::open(DeviceChoice::Emulator).expect("the emulator is always there");
    assert_eq!(device.fallback(), None);
    let properties = device.properties();
    assert_eq!(properties.compute_capability, (9, 0));
    assert_eq!(properties.shared_bytes_per_block, 48 * 1024);
    assert_eq!(properties.shared_bytes_opt_in, 227 * 1024);
    assert_eq!(properties.shared_bytes_per_multiprocessor, 228 * 1024);
    assert_eq!(properties.max_threads_per_block, 1024);
}

#[test]
fn memory_comes_back_as_it_was_sent_for_every_plain_type() {
    for device in devices() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.5).collect();
        let mut buffer = device.upload(&values).expect("memory");
        assert_eq!(buffer.to_vec().expect("a copy"), values);
        buffer.fill_bytes(0xFF).expect("a fill");
        let filled = buffer.to_vec().expect("a copy");
        assert!(filled.iter().all(|value| value.to_bits() == u64::MAX));
        let bytes = device.upload(&[1_u8, 2, 3]).expect("memory");
        assert_eq!(bytes.to_vec().expect("a copy"), [1, 2, 3]);
        let wide = device.upload(&[u128::MAX, 7]).expect("memory");
        assert_eq!(wide.to_vec().expect("a copy"), [u128::MAX, 7]);
    }
}

#[test]
fn nothing_has_a_buffer_too() {
    for device in devices() {
        let mut buffer = device.upload::<f32>(&[]).expect("no memory at all");
        assert_ne!(buffer.address().address, 0);
        buffer.fill_bytes(1).expect("nothing to do");
        assert_eq!(buffer.to_vec().expect("nothing to do"), Vec::<f32>::new());
    }
}

#[test]
fn too_much_memory_is_an_error() {
    for device in devices() {
        let error = device.zeros::<f64>(usize::MAX).expect_err("too many");
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let error = device.zeros::<f64>(isize::MAX as usize / 8);
        let error = error.expect_err("too many");
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    let limits = EmulatorLimits {
        memory_bytes: 1024,
        ..EmulatorLimits::default()
    };
    let small = Device::emulator_with(limits, Watch::Nothing);
    let error = small.zeros::<f32>(257).expect_err("one element too many");
    assert_eq!(
        error.to_string(),
        "PTX emulator has no room for 1028 more bytes: 1024 bytes of 1024 bytes are free, this program has 0 bytes"
    );
}

#[test]
fn memory_can_be_limited() {
    let device = Device::emulator();
    let before = device.zeros::<u8>(100).expect("memory");
    device.limit_memory(1000);
    let error = device.zeros::<u8>(901).expect_err("one too many");
    assert_eq!(
        error.to_string(),
        "PTX emulator has no room for 901 more bytes: 900 bytes of 1000 bytes are free, this program has 100 bytes"
    );
    // Neither a refused buffer nor a freed one counts.
    let most = device.upload(&[1_u8; 900]).expect("just fits");
    assert!(device.filled::<u8>(1, 0).is_err());
    assert!(most.as_view().to_vec().is_ok());
    drop((before, most));
    device.zeros::<f64>(125).expect("all of it");
    // What is there stays when the limit falls below it.
    let kept = device.zeros::<u8>(500).expect("memory");
    device.limit_memory(10);
    assert!(device.zeros::<u8>(1).is_err());
    assert_eq!(kept.to_vec().expect("it stays").len(), 500);
    let failed = isize::MAX as usize / 8;
    device.limit_memory(u64::MAX);
    assert!(device.zeros::<f64>(failed).is_err());
    device.limit_memory(501);
    device.zeros::<u8>(1).expect("what failed is not counted");
}

#[test]
fn a_slice_must_fit_its_buffer() {
    let device = Device::emulator();
    let mut buffer = device.zeros::<i64>(3).expect("memory");
    let error = buffer.copy_from_slice(&[1, 2]).expect_err("one is missing");
    assert_eq!(error.to_string(), "a buffer of 3 elements cannot take 2");
    let two = device.upload(&[1_i64, 2]).expect("memory");
    assert!(buffer.copy_from_buffer(&two).is_err());
    let foreign = Device::emulator().upload(&[1_i64, 2, 3]).expect("memory");
    let error = buffer
        .copy_from_buffer(&foreign)
        .expect_err("a foreign one");
    assert!(matches!(error, Error::ForeignBuffer { .. }), "{error}");
}

/// What a library's failed transfer leaves is never read: every later use of the device says why.
#[test]
fn a_spoilt_device_refuses_everything_with_the_first_cause() {
    for device in devices() {
        let (mut buffer, other) = (device.upload(&[1_u32, 2]), device.upload(&[3_u32, 4]));
        let stream = device.stream().expect("a stream");
        device.spoil("rank 3 is gone");
        device.spoil("something that follows from it");
        let (buffer, other) = (buffer.as_mut().expect("memory"), other.expect("memory"));
        let errors = [
            device.synchronize().expect_err("a wait"),
            stream.synchronize().expect_err("a wait for a stream"),
            buffer.to_vec().expect_err("a read"),
            buffer.copy_from_slice(&[5, 6]).expect_err("a write"),
            buffer.copy_from_buffer(&other).expect_err("a copy"),
            buffer.fill_bytes(0).expect_err("a fill"),
        ];
        for error in errors {
            assert!(matches!(error, Error::Spoiled { .. }), "{error}");
            assert!(error.to_string().ends_with("rank 3 is gone"), "{error}");
        }
    }
}

#[test]
fn views_are_the_parts_that_they_name() {
    for device in devices() {
        let mut buffer = device.upload(&[1_u32, 2, 3, 4, 5]).expect("memory");
        assert_eq!(buffer.view(1..=2).to_vec().expect("a copy"), [2, 3]);
        assert!(buffer.view(5..).to_vec().expect("a copy").is_empty());
        let floats = buffer.view(..1).cast::<f32>().expect("the same size");
        assert_eq!(floats.to_vec().expect("a copy"), [f32::from_bits(1)]);
        let error = buffer.view(..).cast::<u64>().expect_err("another size");
        assert!(error.to_string().contains("u32"), "{error}");
        let (mut low, mut high) = buffer.split_at_mut(2);
        low.copy_from_slice(&[7, 8]).expect("a copy");
        high.copy_from_slice(&[9, 10, 11]).expect("a copy");
        high.as_view_mut()
            .into_view_mut(..2)
            .copy_from(low.as_view())
            .expect("a copy");
        assert_eq!(buffer.to_vec().expect("a copy"), [7, 8, 7, 8, 11]);
    }
}

#[test]
fn rows_are_copied_between_pitches() {
    for device in devices() {
        let from = device.upload(&[1_u16, 2, 3, 4, 5, 6]).expect("memory");
        let mut to = device.upload(&[0_u16; 8]).expect("memory");
        let mut copy = |pitch, from_pitch, shape| {
            let copied = (to.view_mut(1..)).copy_rows(pitch, from.view(1..), from_pitch, shape);
            copied.map(|()| to.to_vec().expect("a copy"))
        };
        assert_eq!(copy(4, 3, [2, 2]).unwrap(), [0, 2, 3, 0, 0, 5, 6, 0]);
        assert_eq!(copy(0, 0, [1, 1]).unwrap(), [0, 2, 3, 0, 0, 5, 6, 0]);
        assert_eq!(copy(2, 2, [2, 2]).unwrap(), [0, 2, 3, 4, 5, 5, 6, 0]);
        assert_eq!(copy(1, 1, [0, 9]).unwrap(), [0, 2, 3, 4, 5, 5, 6, 0]);
        // A row has no next one, wherever that would begin.
        for pitch in [usize::MAX, usize::MAX / 2 + 1, 1 << 63] {
            let copied = copy(pitch, pitch, [1, 2]).unwrap();
            assert_eq!(copied, [0, 2, 3, 4, 5, 5, 6, 0]);
            let error = copy(pitch, 2, [2, 2]).expect_err("no room");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
            let error = copy(2, pitch, [2, 2]).expect_err("no room");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
        for shape in [[1, usize::MAX], [usize::MAX, 1], [usize::MAX, usize::MAX]] {
            for pitch in [0, 1, 3, usize::MAX] {
                let error = copy(pitch, pitch, shape).expect_err("no room");
                assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
            }
        }
        for (pitch, from_pitch, shape) in [
            (6, 2, [2, 2]),
            (2, 4, [2, 2]),
            (1, 2, [2, 2]),
            (usize::MAX, 2, [3, 2]),
        ] {
            let error = copy(pitch, from_pitch, shape).expect_err("no room");
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
        }
    }
}

/// Elements without bytes have nothing to allocate, fill, copy or overflow.
#[test]
fn elements_without_bytes_are_only_counted() {
    for device in devices() {
        let most = isize::MAX as usize;
        let mut buffer = device.zeros::<[f32; 0]>(most).expect("no memory");
        let from = device.upload(&[[0.0_f32; 0]; 9]).expect("no memory");
        let part = buffer.view_mut(most - 9..);
        assert_eq!(part.len(), 9);
        buffer
            .view_mut(..9)
            .copy_from(from.as_view())
            .expect("nothing");
        for shape in [[1, 9], [3, 3], [9, 1], [1 << 40, 1 << 22]] {
            let [rows, width] = shape;
            let copied = (buffer.as_view_mut()).copy_rows(width, from.as_view(), width, shape);
            assert_eq!(copied.is_ok(), rows * width == 9, "{shape:?}");
        }
        let copied = (buffer.as_view_mut()).copy_rows(
            usize::MAX,
            from.as_view(),
            usize::MAX,
            [1 << 40, 1 << 40],
        );
        copied.expect_err("no room");
        assert_eq!(from.to_vec().expect("nothing"), [[0.0_f32; 0]; 9]);
        let error = device.zeros::<[f32; 0]>(most + 1).expect_err("too many");
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}

/// What safe code allocates was written, on memory that held something else before too.
#[test]
fn safe_memory_is_written() {
    for device in devices() {
        for _ in 0..3 {
            drop(device.filled::<u8>(1 << 16, 0xA5).expect("memory"));
            let zeros = device.zeros::<u64>(1 << 13).expect("memory");
            assert_eq!(zeros.to_vec().expect("a copy"), [0; 1 << 13]);
            let stream = device.stream().expect("a stream");
            let mut staged = StagedBuffer::<u32>::new(&stream, 1 << 14).expect("memory");
            assert_eq!(staged.device().to_vec().expect("a copy"), [0; 1 << 14]);
            staged.host().expect("no copy").fill(7);
            staged.download().expect("a copy");
            assert_eq!(staged.host().expect("a copy"), [0; 1 << 14]);
        }
    }
}

#[test]
fn a_range_outside_panics_as_a_slices_does() {
    let device = Device::emulator();
    let buffer = device.zeros::<u32>(3).expect("memory");
    for (start, end) in [(0, 4), (4, 4), (2, 1), (0, usize::MAX)] {
        let view = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            buffer.view(start..end).len()
        }));
        assert!(view.is_err(), "{start}..{end}");
    }
}

#[test]
fn staged_memory_goes_there_and_back() {
    for device in devices() {
        let stream = device.stream().expect("a stream");
        let mut staged = StagedBuffer::<u16>::new(&stream, 5).expect("memory");
        staged
            .host()
            .expect("nothing to wait for")
            .copy_from_slice(&[1, 2, 3, 4, 5]);
        staged.upload().expect("a copy");
        staged.host().expect("a copy").fill(0);
        staged.download().expect("a copy");
        assert_eq!(staged.host().expect("a copy"), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn times_of_different_devices_are_not_compared() {
    let device = Device::emulator();
    let (start, end) = (device.record(), device.record());
    let seconds = end
        .expect("an event")
        .seconds_since(&start.expect("an event"));
    assert!(seconds.expect("one device") >= 0.0);
}

#[test]
fn elements_that_memory_cannot_align_are_refused() {
    #[derive(Clone, Copy)]
    #[repr(C, align(512))]
    struct Wide([u8; 512]);
    // SAFETY: bytes, without padding.
    unsafe impl blockwise::Plain for Wide {
        const NAME: &'static str = "Wide";
    }
    for device in devices() {
        let error = device.zeros::<Wide>(1).expect_err("no such alignment");
        assert!(error.to_string().contains("512 bytes"), "{error}");
        let stream = device.stream().expect("a stream");
        let error = StagedBuffer::<Wide>::new(&stream, 1).expect_err("no such alignment");
        assert!(matches!(error, Error::Alignment { .. }), "{error}");
        assert_eq!(Wide([7; 512]).0[511], 7);
    }
}
