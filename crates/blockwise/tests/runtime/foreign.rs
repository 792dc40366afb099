//! Other libraries' work in a stream, our work in theirs, and their memory.

use std::panic::{AssertUnwindSafe, catch_unwind};

use blockwise::{Columns, Device, DevicePointer, Error, Permutation};
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

#[test]
fn work_within_another_librarys_stream_gives_its_result_or_its_error() {
    let device = Device::emulator();
    let stream = device.stream().unwrap();
    let within = |work: &dyn Fn() -> Result<u32, Error>| {
        // SAFETY: the default stream.
        unsafe { stream.within(std::ptr::null_mut(), |_| work()) }
    };
    assert_eq!(within(&|| Ok(7)).unwrap(), 7);
    let failed = within(&|| Err(Error::ForeignEvent));
    assert!(matches!(failed, Err(Error::ForeignEvent)));
    let panicked = catch_unwind(AssertUnwindSafe(|| within(&|| panic!("as the work does"))));
    assert!(panicked.is_err());
    let recorded = device.graph(|stream| {
        // SAFETY: as above.
        unsafe { stream.within(std::ptr::null_mut(), |_| Ok(())) }
    });
    assert!(matches!(recorded.err(), Some(Error::NotRecordable { .. })));
    assert!(device.context().is_null());
}

#[test]
fn anothers_memory_is_used_in_place_and_not_freed() {
    let device = Device::emulator();
    let theirs = device.upload(&[1_u32, 2, 3, 4]).unwrap();
    let second = DevicePointer::new(theirs.address().address + 4);
    // SAFETY: three elements from the second one on, used by nothing else meanwhile.
    let mut ours = unsafe { device.foreign::<u32>(second, 3) }.unwrap();
    assert_eq!(ours.to_vec().unwrap(), [2, 3, 4]);
    ours.copy_from_slice(&[5, 6, 7]).unwrap();
    drop(ours);
    assert_eq!(theirs.to_vec().unwrap(), [1, 5, 6, 7]);
    // SAFETY: nothing is used.
    let none = unsafe { device.foreign::<u64>(DevicePointer::NULL, 0) }.unwrap();
    assert!(none.to_vec().unwrap().is_empty());
}

#[test]
fn anothers_memory_is_aligned_and_of_a_length_that_there_is() {
    let device = Device::emulator();
    let theirs = device.upload(&[0_u32; 8]).unwrap();
    let odd = DevicePointer::new(theirs.address().address + 4);
    // SAFETY: refused; nothing is used.
    let refused = unsafe { device.foreign::<u64>(odd, 1) };
    let error = refused.expect_err("four bytes beside a multiple of eight");
    assert!(
        matches!(
            error,
            Error::Alignment {
                needed: 8,
                given: 4,
                ..
            }
        ),
        "{error}"
    );
    for len in [usize::MAX, usize::MAX / 4 + 1, isize::MAX as usize / 4 + 1] {
        // SAFETY: refused; nothing is used.
        let refused = unsafe { device.foreign::<u32>(theirs.address(), len) };
        assert!(
            matches!(refused.err(), Some(Error::TooLarge { .. })),
            "{len}"
        );
    }
}

/// A checked permutation must not change, and the other library can write to its memory.
#[test]
fn a_permutation_in_anothers_memory_is_a_copy() {
    let device = Device::emulator();
    let mut theirs = device.upload(&[2_u32, 0, 1]).unwrap();
    // SAFETY: nothing else uses them until the permutation has its own.
    let numbers = unsafe { device.foreign::<u32>(theirs.address(), 3) }.unwrap();
    let permutation = Permutation::new(numbers).unwrap();
    theirs.copy_from_slice(&[9, 9, 9]).unwrap();
    assert_eq!(permutation.as_view().to_vec().unwrap(), [2, 0, 1]);
}

#[test]
fn a_device_copies_what_another_one_has_lent() {
    let (one, other) = (Device::emulator(), Device::emulator());
    let mut from = one.upload(&[1_u16, 2, 3, 4, 5]).unwrap();
    let lent = from.view(1..4).lend().unwrap();
    let mut to = other.zeros::<u16>(4).unwrap();
    let stream = other.stream().unwrap();
    (to.view_mut(1..).copy_from_peer(&stream, &lent)).unwrap();
    assert_eq!(to.to_vec().unwrap(), [0, 2, 3, 4]);
    // What is lent stays, and stays this device's to write.
    from.copy_from_slice(&[9; 5]).unwrap();
    drop(from);
    (to.view_mut(..3).copy_from_peer(&stream, &lent)).unwrap();
    assert_eq!(to.to_vec().unwrap(), [9, 9, 9, 4]);
    // Its own memory, as other memory of the same device.
    let mut back = one.zeros::<u16>(3).unwrap();
    (back.as_view_mut().copy_from_peer(&one.own_stream(), &lent)).unwrap();
    assert_eq!(back.to_vec().unwrap(), [9; 3]);
}

#[test]
fn columns_of_several_devices_are_put_next_to_each_other() {
    let devices = [(); 3].map(|()| Device::emulator());
    let own = devices[0].upload(&[1_u16, 2]).unwrap();
    let wide = devices[1].upload(&[3_u16, 4, 5, 6]).unwrap();
    let late = devices[2].upload(&[0_u16, 7, 8]).unwrap();
    let lent = [wide.as_view(), late.view(1..)].map(|view| view.lend().unwrap());
    let [wide, late] = lent.each_ref().map(|lent| Columns::Lent(lent.clone()));
    let streams = [devices[0].own_stream(), devices[0].stream().unwrap()];
    let streams = streams.each_ref();
    let mut to = devices[0].upload(&[9_u16; 10]).unwrap();
    let parts = [(1, wide), (0, Columns::Own(own.as_view())), (4, late)];
    (to.as_view_mut().gather_columns(streams, 5, &parts)).unwrap();
    assert_eq!(to.to_vec().unwrap(), [1, 3, 4, 9, 7, 2, 5, 6, 9, 8]);
    // Nothing, of nothing and in something.
    let none: [(usize, Columns<'_, u16>); 0] = [];
    (to.view_mut(..0).gather_columns(streams, 0, &none)).unwrap();
    let nothing = [(2, Columns::Own(own.view(..0)))];
    (to.as_view_mut().gather_columns(streams, 5, &nothing)).unwrap();
    assert_eq!(to.to_vec().unwrap(), [1, 3, 4, 9, 7, 2, 5, 6, 9, 8]);
}

#[test]
fn columns_that_do_not_fit_are_refused_before_anything_is_copied() {
    let (one, other) = (Device::emulator(), Device::emulator());
    let from = other.upload(&[1_u8, 2, 3, 4, 5]).unwrap();
    let mut to = one.zeros::<u8>(6).unwrap();
    let (stream, beside) = (one.own_stream(), one.stream().unwrap());
    let lent = |len| Columns::Lent(from.view(..len).lend().unwrap());
    let mut gather = |cols, parts: &[(usize, Columns<'_, u8>)]| {
        (to.as_view_mut()).gather_columns([&stream, &beside], cols, parts)
    };
    // Rows of 4 in 6; a part of half a row, of too many columns, and beyond the last one.
    let cases = [
        (4, 0, 0),
        (3, 0, 3),
        (2, 0, 5),
        (3, 2, 4),
        (3, usize::MAX, 2),
    ];
    for (cols, first, len) in cases {
        let refused = gather(cols, &[(first, lent(len))]);
        let refused_by_length = matches!(refused, Err(Error::LengthMismatch { .. }));
        assert!(refused_by_length, "{cols} {first} {len}: {refused:?}");
    }
    let overlap = gather(3, &[(0, lent(4)), (1, lent(2))]);
    assert!(matches!(overlap, Err(Error::Overlap)), "{overlap:?}");
    let foreign = gather(3, &[(0, Columns::Own(from.view(..2)))]);
    assert!(matches!(foreign, Err(Error::ForeignBuffer { .. })));
    let theirs = other.own_stream();
    for streams in [[&theirs, &beside], [&stream, &theirs]] {
        let elsewhere = (to.as_view_mut()).gather_columns(streams, 3, &[(0, lent(2))]);
        assert!(matches!(elsewhere, Err(Error::ForeignBuffer { .. })));
    }
    let recorded = one
        .graph(|stream| (to.as_view_mut()).gather_columns([stream, &beside], 3, &[(0, lent(2))]));
    assert!(matches!(recorded.err(), Some(Error::NotRecordable { .. })));
    // Memory that is lent and written here.
    let own = to.view(..2).lend().unwrap();
    let within =
        (to.view_mut(2..)).gather_columns([&stream, &beside], 2, &[(0, Columns::Lent(own))]);
    assert!(matches!(within, Err(Error::Overlap)), "{within:?}");
    assert_eq!(to.to_vec().unwrap(), [0; 6]);
}

#[test]
fn a_copy_from_another_device_is_refused_before_anything_is_copied() {
    let (one, other) = (Device::emulator(), Device::emulator());
    let mut from = one.upload(&[1_u32, 2, 3]).unwrap();
    let lent = from.as_view().lend().unwrap();
    let mut to = other.zeros::<u32>(3).unwrap();
    let stream = other.own_stream();
    let short = to.view_mut(..2).copy_from_peer(&stream, &lent);
    assert!(matches!(
        short,
        Err(Error::LengthMismatch {
            buffer: 2,
            given: 3
        })
    ));
    let elsewhere = to.as_view_mut().copy_from_peer(&one.own_stream(), &lent);
    assert!(matches!(elsewhere, Err(Error::ForeignBuffer { .. })));
    let recorded = other.graph(|stream| to.as_view_mut().copy_from_peer(stream, &lent));
    assert!(matches!(recorded.err(), Some(Error::NotRecordable { .. })));
    for range in [0..3, 1..3] {
        let lent = from.view(..range.len()).lend().unwrap();
        let overlap = (from.view_mut(range)).copy_from_peer(&one.own_stream(), &lent);
        assert!(matches!(overlap, Err(Error::Overlap)));
    }
    let lent_first = from.view(..1).lend().unwrap();
    (from
        .view_mut(2..)
        .copy_from_peer(&one.own_stream(), &lent_first))
    .unwrap();
    assert_eq!(from.to_vec().unwrap(), [1, 2, 1]);
    one.spoil("a test");
    let spoiled = to.as_view_mut().copy_from_peer(&stream, &lent);
    assert!(matches!(spoiled, Err(Error::Spoiled { .. })));
    assert_eq!(to.to_vec().unwrap(), [0; 3]);
}

#[test]
fn memory_of_another_library_is_not_lent() {
    let device = Device::emulator();
    let owner = device.upload(&[1_u32, 2]).unwrap();
    // SAFETY: the owner lives longer.
    let foreign = unsafe { device.foreign(owner.address(), 2) }.unwrap();
    let refused = foreign.as_view().lend();
    assert!(matches!(refused, Err(Error::ForeignBuffer { .. })));
}
