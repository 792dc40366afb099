//! NCCL's functions, loaded on first use. All of the crate's `unsafe` is here.
//!
//! The binary does not link to libnccl. The library is the system's `libnccl.so.2`, or the one that
//! [`LIBRARY_VARIABLE`] names, such as the one in PyPI's wheel `nvidia-nccl-cu13`. The declarations
//! are those of NVIDIA's header `nccl.h`, unchanged since 2.7.
#![allow(unsafe_code, reason = "NCCL is a C library")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use blockwise::Stream;
use libloading::Library as Shared;

use super::Span;

/// The library to load instead of the system's: a path or a file name.
pub const LIBRARY_VARIABLE: &str = "BLOCKWISE_LIBNCCL";

/// The oldest version with all functions used here, in NCCL's numbering: 2.18.0.
const OLDEST: c_int = 21_800;

/// `ncclUint8`.
const BYTES: c_int = 1;

/// `ncclInProgress`.
const IN_PROGRESS: c_int = 7;

/// How long an abort waits for another thread's call to return.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UniqueId([u8; 128]);

impl Default for UniqueId {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl UniqueId {
    /// As words, to be sent.
    pub(super) fn words(&self) -> Vec<u32> {
        let words = self.0.as_chunks().0.iter();
        words.map(|&word| u32::from_le_bytes(word)).collect()
    }

    pub(super) fn of(words: &[u32]) -> Self {
        let mut id = Self::default();
        for (to, word) in id.0.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        id
    }
}

/// An `ncclComm_t`.
type Handle = *mut c_void;

/// The functions; a result of 0 is success.
pub(super) struct Library {
    get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    comm_init_rank: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int) -> c_int,
    comm_destroy: unsafe extern "C" fn(Handle) -> c_int,
    comm_abort: unsafe extern "C" fn(Handle) -> c_int,
    comm_get_async_error: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Handle, *mut c_void) -> c_int,
    recv: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> c_int,
    group_start: unsafe extern "C" fn() -> c_int,
    group_end: unsafe extern "C" fn() -> c_int,
    get_error_string: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Library {
    /// The library, loaded once for the whole process.
    pub(super) fn get() -> Result<&'static Self, &'static str> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let library = LIBRARY.get_or_init(|| {
            let chosen = std::env::var(LIBRARY_VARIABLE).ok();
            let chosen = chosen.filter(|name| !name.is_empty());
            Self::open(chosen.as_deref().unwrap_or("libnccl.so.2"))
        });
        library.as_ref().map_err(String::as_str)
    }

    fn open(name: &str) -> Result<Self, String> {
        // SAFETY: loading runs the library's initialisers. The user asked for NCCL, by its
        // system-wide name or by a path of their own, and trusts it as every program that links to
        // it does.
        let shared = unsafe { Shared::new(name) }.map_err(|error| {
            format!(
                "NCCL cannot be loaded from {name} ({error}); install NVIDIA's package libnccl2, or `pip install nvidia-nccl-cu13` and set {LIBRARY_VARIABLE} to its libnccl.so.2 (`cargo xtask setup --nccl` does both)"
            )
        })?;
        // It stays loaded while its functions may be called: until the process ends.
        let shared: &'static Shared = Box::leak(Box::new(shared));
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field that receives it has the type that `nccl.h` declares for the
                // name.
                *unsafe { shared.get($name) }
                    .map_err(|_| format!("{name} has no {}", $name.escape_ascii()))?
            };
        }
        let get_version: unsafe extern "C" fn(*mut c_int) -> c_int = function!(b"ncclGetVersion");
        let mut version = 0;
        // SAFETY: the pointer for the answer is valid.
        unsafe { get_version(&mut version) };
        if version < OLDEST {
            return Err(format!(
                "{name} is NCCL {}.{}.{}, and 2.18 is the oldest that is used here",
                version / 10_000,
                version / 100 % 100,
                version % 100
            ));
        }
        Ok(Self {
            get_unique_id: function!(b"ncclGetUniqueId"),
            comm_init_rank: function!(b"ncclCommInitRank"),
            comm_destroy: function!(b"ncclCommDestroy"),
            comm_abort: function!(b"ncclCommAbort"),
            comm_get_async_error: function!(b"ncclCommGetAsyncError"),
            send: function!(b"ncclSend"),
            recv: function!(b"ncclRecv"),
            group_start: function!(b"ncclGroupStart"),
            group_end: function!(b"ncclGroupEnd"),
            get_error_string: function!(b"ncclGetErrorString"),
        })
    }

    pub(super) fn unique_id(&self) -> Result<UniqueId, String> {
        let mut id = UniqueId::default();
        // SAFETY: the pointer for the id is valid.
        self.answer("ncclGetUniqueId", unsafe { (self.get_unique_id)(&mut id) })?;
        Ok(id)
    }

    /// Waits for all ranks. The device is that of the thread's current context.
    pub(super) fn join(
        &'static self,
        id: &UniqueId,
        rank: usize,
        ranks: usize,
    ) -> Result<Communicator, String> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer for the handle is valid, and the id is rank 0's.
        let joined =
            unsafe { (self.comm_init_rank)(&mut handle, ranks as c_int, *id, rank as c_int) };
        self.answer("ncclCommInitRank", joined)?;
        Ok(Communicator {
            library: self,
            handle,
            calling: Mutex::default(),
            aborted: AtomicBool::new(false),
        })
    }

    fn answer(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: NCCL has a text for every code, which lives as long as the library.
        let text = unsafe { CStr::from_ptr((self.get_error_string)(code)) };
        Err(format!("{call}: {}", text.to_string_lossy()))
    }
}

/// A rank's communicator.
pub(super) struct Communicator {
    library: &'static Library,
    handle: Handle,
    /// Serialises calls: NCCL allows one thread at a time.
    calling: Mutex<()>,
    /// Set once the handle is no longer used.
    aborted: AtomicBool,
}

// SAFETY: NCCL lets any thread use a communicator, one at a time, which `calling` ensures; an abort
// may come from another thread during a call.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// Starts transfers in a stream for which their memory was [ordered](Stream::order).
    pub(super) fn exchange(
        &self,
        stream: &Stream,
        sends: &[(usize, Span)],
        receives: &[(usize, Span)],
    ) -> Result<(), String> {
        let _calling = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        if self.aborted.load(Ordering::Acquire) {
            return Err("NCCL's transfers were aborted".to_owned());
        }
        let mut started = Ok(());
        // SAFETY: the group's transfers use only the spans' memory, which the caller has ordered.
        let enqueued = unsafe {
            stream.enqueue_foreign(&[], |stream| {
                started = self.group(stream, sends, receives);
                Ok::<_, blockwise::Error>(())
            })
        };
        enqueued.map_err(|error| error.to_string()).and(started)
    }

    fn group(
        &self,
        stream: *mut c_void,
        sends: &[(usize, Span)],
        receives: &[(usize, Span)],
    ) -> Result<(), String> {
        let Self {
            library, handle, ..
        } = self;
        // SAFETY: the group starts and ends in this function.
        library.answer("ncclGroupStart", unsafe { (library.group_start)() })?;
        let mut started = Ok(());
        for (to, Span { address, bytes }) in sends {
            let from = *address as *const c_void;
            // SAFETY: the span is allocated, and freeing waits for all work of the device.
            let sent =
                unsafe { (library.send)(from, *bytes, BYTES, *to as c_int, *handle, stream) };
            started = started.and(library.answer("ncclSend", sent));
        }
        for (from, Span { address, bytes }) in receives {
            let into = *address as *mut c_void;
            // SAFETY: as above; the span was borrowed to be written.
            let received =
                unsafe { (library.recv)(into, *bytes, BYTES, *from as c_int, *handle, stream) };
            started = started.and(library.answer("ncclRecv", received));
        }
        // SAFETY: as above.
        let ended = library.answer("ncclGroupEnd", unsafe { (library.group_end)() });
        started.and(ended)
    }

    /// The error of transfers that have been started.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.aborted.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut code = 0;
        // SAFETY: the handle is alive: only the thread that calls this aborts. The pointer for the
        // answer is valid.
        let asked = unsafe { (self.library.comm_get_async_error)(self.handle, &mut code) };
        self.library.answer("ncclCommGetAsyncError", asked)?;
        match code {
            IN_PROGRESS => Ok(()),
            code => self.library.answer("a transfer of NCCL", code),
        }
    }

    /// Ends all transfers, whatever the other ranks do, so that threads waiting for them continue.
    pub(super) fn abort(&self) {
        if self.aborted.swap(true, Ordering::AcqRel) {
            return;
        }
        let begin = Instant::now();
        // A call that never returns waits for a dead rank: the abort ends it.
        let _calling = loop {
            match self.calling.try_lock() {
                Ok(calling) => break Some(calling),
                Err(TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
                Err(_) if begin.elapsed() > ABORT_GRACE => break None,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        // SAFETY: the handle is not used after this: calls look at `aborted` first.
        let _ = unsafe { (self.library.comm_abort)(self.handle) };
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if !self.aborted.load(Ordering::Acquire) {
            // SAFETY: only this value has the handle. A failure is ignored: a drop cannot return
            // it.
            let _ = unsafe { (self.library.comm_destroy)(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_is_one_line_that_says_where_it_comes_from() {
        let reason = Library::open("libabsent.so.2")
            .err()
            .expect("no such library");
        assert!(
            reason.contains("libabsent.so.2") && reason.contains("nvidia-nccl-cu13"),
            "{reason}"
        );
        assert_eq!(reason.lines().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_without_the_functions_is_told_by_name() {
        let reason = Library::open("libc.so.6").err().expect("no NCCL");
        assert_eq!(reason, "libc.so.6 has no ncclGetVersion");
    }

    #[test]
    fn an_id_survives_the_way_to_the_others() {
        let mut id = UniqueId::default();
        id.0.iter_mut()
            .enumerate()
            .for_each(|(i, byte)| *byte = i as u8);
        assert_eq!(UniqueId::of(&id.words()).0, id.0);
    }
}
