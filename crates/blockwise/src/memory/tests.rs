//! Reuse and order of memory, on a device that only records its calls.

use std::ffi::c_void;

use super::*;
use crate::DeviceProperties;
use crate::backend::{Arrival, HostMemory, Program, Replay, Rows, Step, Timestamp};
use crate::progress::Progress;

type Log = Arc<Mutex<Vec<String>>>;

struct Paper {
    log: Log,
    properties: DeviceProperties,
    /// The allocated bytes.
    used: AtomicU64,
    next: AtomicU64,
}

struct Line {
    name: &'static str,
    log: Log,
    progress: Progress,
}

impl Backend for Paper {
    fn properties(&self) -> &DeviceProperties {
        &self.properties
    }

    fn alloc(&self, bytes: u64) -> Result<u64> {
        if self.used.load(Ordering::Relaxed) + bytes > self.properties.memory_bytes {
            return Err(Error::OutOfMemory {
                device: "paper".into(),
                bytes,
                room: None,
            });
        }
        self.used.fetch_add(bytes, Ordering::Relaxed);
        // The address contains the size.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.log).push(format!("alloc {bytes}"));
        Ok((bytes << 8) | number)
    }

    fn keeps_memory(&self) -> bool {
        true
    }

    unsafe fn free(&self, address: u64) {
        let bytes = address >> 8;
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        lock(&self.log).push(format!("free {bytes}"));
    }

    unsafe fn write(&self, _: u64, _: &[u8]) -> Result<()> {
        lock(&self.log).push("foreign write".into());
        Ok(())
    }

    unsafe fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
        lock(&self.log).push("foreign read".into());
        Ok(())
    }

    fn queue(&self, _: bool) -> Result<Arc<dyn Queue>> {
        unreachable!("no test here calls it")
    }

    fn pin(&self, _: usize) -> Result<Box<dyn HostMemory>> {
        unreachable!("no test here calls it")
    }

    fn load(&self, _: &str, _: &str) -> Result<Arc<dyn Program>> {
        unreachable!("no test here calls it")
    }

    fn graph(&self, _: Vec<Step>) -> Result<Box<dyn Replay>> {
        unreachable!("no test here calls it")
    }

    fn context(&self) -> *mut c_void {
        std::ptr::null_mut()
    }

    fn stack_bytes(&self) -> Result<usize> {
        unreachable!("no test here calls it")
    }

    fn set_stack_bytes(&self, _: usize) -> Result<()> {
        unreachable!("no test here calls it")
    }
}

impl Queue for Line {
    fn progress(&self) -> &Progress {
        &self.progress
    }

    unsafe fn upload(&self, _: u64, _: &[u8]) -> Result<()> {
        lock(&self.log).push(format!("{} uploads", self.name));
        Ok(())
    }

    unsafe fn download(&self, _: u64, _: &mut [u8]) -> Result<Option<Box<dyn Arrival>>> {
        lock(&self.log).push(format!("{} downloads", self.name));
        Ok(None)
    }

    unsafe fn write(&self, _: u64, _: &[u8]) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn read(&self, _: u64, _: &mut [u8]) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn fill(&self, _: u64, _: usize, _: u8) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn copy_rows(&self, _: Rows, _: Rows, _: usize, _: usize) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn copy_from_peer(
        &self,
        _: &dyn Queue,
        _: Rows,
        _: Rows,
        _: usize,
        _: usize,
    ) -> Result<()> {
        lock(&self.log).push(format!("{} copies", self.name));
        Ok(())
    }

    fn wait_for(&self, other: &dyn Queue) -> Result<()> {
        let other: &dyn std::any::Any = other;
        let other = other.downcast_ref::<Line>().expect("a line").name;
        if self.name == "broken" {
            return Err(Error::ForeignEvent);
        }
        lock(&self.log).push(format!("{} after {other}", self.name));
        Ok(())
    }

    unsafe fn wait_for_foreign(&self, _: *mut c_void) -> Result<()> {
        unreachable!("no test here calls it")
    }

    unsafe fn hold_foreign(&self, _: *mut c_void) -> Result<()> {
        unreachable!("no test here calls it")
    }

    fn record(&self) -> Result<Box<dyn Timestamp>> {
        unreachable!("no test here calls it")
    }

    fn wait(&self, _: std::time::Duration) -> Result<()> {
        self.progress.end(self.progress.latest());
        lock(&self.log).push(format!("{} waited for", self.name));
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.synchronize()
    }

    fn handle(&self) -> Result<*mut c_void> {
        Ok(std::ptr::null_mut())
    }
}

/// A device with a given amount of memory.
struct Test {
    core: Arc<Core>,
    log: Log,
}

impl Test {
    fn new(memory_bytes: u64) -> Self {
        let log = Log::default();
        let backend = Paper {
            log: Arc::clone(&log),
            properties: DeviceProperties {
                memory_bytes,
                ..DeviceProperties::for_tests()
            },
            used: AtomicU64::new(0),
            next: AtomicU64::new(0),
        };
        let queue = line("own", &log);
        Self {
            core: Arc::new(Core::new(Arc::new(backend), queue)),
            log,
        }
    }

    fn line(&self, name: &'static str) -> Arc<dyn Queue> {
        line(name, &self.log)
    }

    fn memory(&self, bytes: usize) -> Allocation {
        Allocation::of(&self.core, bytes).expect("memory")
    }

    fn uses(&self, queue: &Arc<dyn Queue>, memory: &Allocation, written: bool) {
        let uses = [(memory, written)].into_iter();
        (self.core.enqueue(queue, uses, |_| Ok(()))).expect("nothing fails");
    }

    fn reads(&self, queue: &Arc<dyn Queue>, memory: &Allocation) {
        self.uses(queue, memory, false);
    }

    fn writes(&self, queue: &Arc<dyn Queue>, memory: &Allocation) {
        self.uses(queue, memory, true);
    }

    /// The calls that were recorded since the last call of this.
    #[track_caller]
    fn says(&self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut *lock(&self.log)), expected);
    }
}

fn line(name: &'static str, log: &Log) -> Arc<dyn Queue> {
    Arc::new(Line {
        name,
        log: Arc::clone(log),
        progress: Progress::default(),
    })
}

const GIB: u64 = 1 << 30;

#[test]
fn a_step_after_the_first_asks_the_driver_for_nothing() {
    let test = Test::new(GIB);
    let step = || {
        let (x, y) = (test.memory(4000), test.memory(4000));
        let own = &test.core.queue;
        // SAFETY: nothing is copied.
        unsafe { test.core.write(&x, x.address, &[0; 4000]) }.expect("a copy");
        test.reads(own, &x);
        test.writes(own, &y);
        // SAFETY: as above.
        unsafe { test.core.read(&y, y.address, &mut [0; 4000]) }.expect("a copy");
    };
    step();
    test.says(&["alloc 4000", "alloc 4000", "own uploads", "own downloads"]);
    step();
    test.says(&["own uploads", "own downloads"]);
}

#[test]
fn memory_that_another_stream_still_uses_is_written_after_that() {
    let test = Test::new(GIB);
    let (a, b, c) = (test.line("a"), test.line("b"), test.line("c"));
    let memory = test.memory(100);
    test.writes(&a, &memory);
    test.reads(&b, &memory);
    test.says(&["alloc 100", "b after a"]);
    drop(memory);
    let memory = test.memory(100);
    test.writes(&c, &memory);
    test.says(&["c after b", "c after a"]);
    // The next owner waits for `c` alone, which has waited for the others.
    drop(memory);
    let memory = test.memory(100);
    test.writes(&a, &memory);
    test.says(&["a after c"]);
}

#[test]
fn what_the_host_has_waited_for_is_waited_for_no_more() {
    let test = Test::new(GIB);
    let (a, b) = (test.line("a"), test.line("b"));
    let memory = test.memory(100);
    test.writes(&a, &memory);
    a.synchronize().expect("a wait");
    test.reads(&b, &memory);
    test.says(&["alloc 100", "a waited for"]);
    b.synchronize().expect("a wait");
    // A use after the wait counts again, by the memory's next owner too.
    test.reads(&b, &memory);
    drop(memory);
    let memory = test.memory(100);
    test.writes(&a, &memory);
    test.says(&["b waited for", "a after b"]);
}

/// Another device reads: its stream waits for this one's, later writes and the memory's next owner
/// for it, and what frees the memory waits on the host.
#[test]
fn copies_of_another_device_are_ordered_in_both_and_end_before_memory_is_freed() {
    let (one, mut other) = (Test::new(GIB), Test::new(GIB));
    other.log = Arc::clone(&one.log);
    let (a, b) = (one.line("a"), other.line("b"));
    let (from, to) = (one.memory(100), other.memory(100));
    one.says(&["alloc 100"]);
    let copies = |to: &Allocation| {
        let copied = (other.core).enqueue_from(&b, to, &[&from], |_| Ok(()));
        copied.expect("nothing fails");
    };
    one.writes(&a, &from);
    copies(&to);
    one.says(&["b after a"]);
    // The first copy has waited for the write already.
    copies(&to);
    one.says(&[]);
    one.writes(&a, &from);
    one.says(&["a after b"]);
    copies(&to);
    one.says(&["b after a"]);
    drop(from);
    let from = one.memory(100);
    one.writes(&a, &from);
    one.says(&["a after b"]);
    let copied = (other.core).enqueue_from(&b, &to, &[&from], |_| Ok(()));
    copied.expect("nothing fails");
    drop(from);
    assert!(one.core.release(0));
    one.says(&["b after a", "b waited for", "free 100"]);
    // What has ended is not waited for.
    let from = one.memory(100);
    let copied = (other.core).enqueue_from(&b, &to, &[&from], |_| Ok(()));
    copied.expect("nothing fails");
    b.synchronize().expect("a wait");
    drop(from);
    assert!(one.core.release(0));
    one.says(&["alloc 100", "b waited for", "free 100"]);
}

/// What runs in a second queue lies between the first one's work before and after it, also if it
/// fails.
#[test]
fn copies_beside_others_begin_after_them_and_are_waited_for() {
    let (one, mut other) = (Test::new(GIB), Test::new(GIB));
    other.log = Arc::clone(&one.log);
    let (a, b, beside) = (one.line("a"), other.line("b"), other.line("beside"));
    let (from, own, to) = (one.memory(100), other.memory(100), other.memory(100));
    one.says(&["alloc 100"]);
    one.writes(&a, &from);
    for fails in [false, true] {
        let copied = (other.core).enqueue_beside([&b, &beside], &to, &[&own, &from], |_| {
            lock(&one.log).push("copies".to_owned());
            if fails { Err(Error::Overlap) } else { Ok(()) }
        });
        assert_eq!(copied.is_err(), fails);
        let waits: &[&str] = if fails { &[] } else { &["b after a"] };
        let all = [waits, &["beside after b", "copies", "b after beside"]].concat();
        one.says(&all);
    }
    // They are the first queue's uses.
    other.writes(&beside, &own);
    other.says(&["beside after b"]);
    one.writes(&a, &from);
    one.says(&["a after b"]);
}

/// Devices that copy from each other at the same time take the same lock first.
#[test]
fn devices_that_copy_from_each_other_do_not_wait_for_each_other_forever() {
    let tests = [Test::new(GIB), Test::new(GIB)];
    let memory = tests.each_ref().map(|test| test.memory(100));
    let copied = |to: usize| {
        let (test, from) = (&tests[to], 1 - to);
        let line = test.line("copies");
        for _ in 0..2000 {
            let copied = (test.core).enqueue_from(&line, &memory[to], &[&memory[from]], |_| Ok(()));
            copied.expect("nothing fails");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| copied(0));
        copied(1);
    });
}

#[test]
fn a_read_on_the_host_waits_for_the_writers_stream_alone() {
    let test = Test::new(GIB);
    let (a, b) = (test.line("a"), test.line("b"));
    let (x, y) = (test.memory(100), test.memory(1 << 20));
    test.writes(&a, &x);
    test.writes(&b, &y);
    test.says(&["alloc 100", "alloc 1048576"]);
    // SAFETY: nothing is copied.
    unsafe { test.core.read(&x, x.address, &mut [0; 100]) }.expect("a copy");
    test.says(&["a downloads"]);
    // It has ended now, for other streams too.
    test.writes(&b, &x);
    test.says(&[]);
    // A long copy waits for the kernels before it takes the lock.
    let mut bytes = vec![0; 1 << 20];
    // SAFETY: as above.
    unsafe { test.core.read(&y, y.address, &mut bytes) }.expect("a copy");
    test.says(&["b waited for", "b downloads"]);
    // SAFETY: as above.
    unsafe { test.core.write(&y, y.address, &bytes) }.expect("a copy");
    test.says(&["b waited for", "b uploads"]);
}

#[test]
fn a_second_read_by_a_stream_waits_no_more() {
    let test = Test::new(GIB);
    let (a, b) = (test.line("a"), test.line("b"));
    let memory = test.memory(100);
    test.writes(&a, &memory);
    test.reads(&b, &memory);
    test.reads(&b, &memory);
    test.says(&["alloc 100", "b after a"]);
    test.writes(&a, &memory);
    test.reads(&b, &memory);
    test.says(&["a after b", "b after a"]);
}

#[test]
fn an_order_that_failed_is_asked_for_again() {
    let test = Test::new(GIB);
    let (a, broken) = (test.line("a"), test.line("broken"));
    let memory = test.memory(100);
    test.writes(&a, &memory);
    for _ in 0..2 {
        let uses = [(&memory, false)].into_iter();
        let started = test.core.enqueue(&broken, uses, |_| panic!("not ordered"));
        assert!(started.is_err());
    }
    // Work of which a part may run counts as a use.
    let b = test.line("b");
    let uses = [(&memory, false)].into_iter();
    let started = (test.core).enqueue(&b, uses, |_| Err(Error::ForeignEvent));
    assert!(started.is_err());
    test.writes(&a, &memory);
    test.says(&["alloc 100", "b after a", "a after b"]);
}

#[test]
fn unused_memory_above_64_mib_goes_back_at_the_next_wait() {
    let test = Test::new(8 * GIB);
    let sizes = [10 << 20, 40 << 20, 30 << 20];
    let buffers = sizes.map(|bytes| test.memory(bytes));
    drop(buffers);
    test.says(&["alloc 10485760", "alloc 41943040", "alloc 31457280"]);
    test.core.waited().expect("a wait");
    test.says(&["free 10485760", "free 41943040"]);
    test.core.waited().expect("a wait");
    drop(test.memory(30 << 20));
    test.says(&[]);
}

#[test]
fn no_wait_is_needed_where_an_eighth_of_the_memory_is_unused() {
    let test = Test::new(4 * GIB);
    for _ in 0..2 {
        drop([300 << 20, 200 << 20].map(|bytes| test.memory(bytes)));
    }
    test.says(&["alloc 314572800", "alloc 209715200"]);
    drop(test.memory(100 << 20));
    test.says(&["alloc 104857600", "free 314572800"]);
}

#[test]
fn unused_memory_goes_back_before_there_is_too_little() {
    let test = Test::new(100 << 20);
    drop(test.memory(60 << 20));
    let most = test.memory(90 << 20);
    test.says(&["alloc 62914560", "free 62914560", "alloc 94371840"]);
    let error = Allocation::of(&test.core, 20 << 20).err();
    assert!(matches!(error, Some(Error::OutOfMemory { bytes, .. }) if bytes == 20 << 20));
    test.says(&[]);
    drop(most);
    drop(test.memory(1));
    let loaded = test.core.with_room(|| {
        let used = lock(&test.core.unused).excess(0);
        match used.is_empty() {
            true => Ok(()),
            false => {
                used.into_iter()
                    .for_each(|block| lock(&test.core.unused).give(block));
                Err(Error::Driver {
                    doing: "loading".into(),
                    failure: "CUDA_ERROR_OUT_OF_MEMORY".into(),
                    code: 2,
                })
            }
        }
    });
    loaded.expect("there is room without unused memory");
}

#[test]
fn a_limit_counts_what_buffers_have_and_not_what_is_unused() {
    let test = Test::new(GIB);
    test.core.budget.limit(100);
    for _ in 0..3 {
        drop(test.memory(100));
    }
    // The block has 100 bytes, and 90 count.
    let most = test.memory(90);
    test.says(&["alloc 100"]);
    assert!(Allocation::of(&test.core, 11).is_err());
    test.memory(10);
    drop(most);
    test.memory(100);
}

#[test]
fn the_device_frees_everything_when_it_goes() {
    let test = Test::new(GIB);
    let kept = test.memory(7);
    drop(test.memory(5000));
    let Test { core, log } = test;
    drop(core);
    assert_eq!(lock(&log).len(), 2, "a buffer keeps its device");
    drop(kept);
    assert_eq!(
        *lock(&log),
        ["alloc 7", "alloc 5000", "free 5000", "free 7"]
    );
}

#[test]
fn nothing_and_foreign_memory_are_neither_kept_nor_freed() {
    let test = Test::new(GIB);
    drop(test.memory(0));
    // SAFETY: nothing uses it.
    let foreign = unsafe { Allocation::foreign(&test.core, 4096, 10) };
    // SAFETY: nothing is copied.
    unsafe {
        test.core.write(&foreign, 4096, &[0; 10]).expect("a copy");
        test.core
            .read(&foreign, 4096, &mut [0; 10])
            .expect("a copy");
    }
    drop(foreign);
    assert!(lock(&test.core.unused).take(0).is_none());
    test.says(&["foreign write", "foreign read"]);
}

#[test]
fn a_streams_end_does_not_wait_for_memory_it_once_used() {
    let test = Test::new(GIB);
    let stream = test.line("a");
    let memory = test.memory(100);
    test.writes(&stream, &memory);
    stream.synchronize().expect("a wait");
    drop(memory);
    assert_eq!(Arc::strong_count(&stream), 1, "unused memory keeps it");
    // Nor does memory that many streams read.
    let memory = test.memory(100);
    test.writes(&test.core.queue, &memory);
    for _ in 0..10 {
        let reader = test.line("reader");
        test.reads(&reader, &memory);
        reader.synchronize().expect("a wait");
    }
    assert_eq!(lock(&memory.uses).readers.len(), 1);
}
