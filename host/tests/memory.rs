//! How much memory the command takes for programs of many basic blocks: this test binary counts what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; what is counted changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; the memory came from there.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A kernel of so many blocks: the lanes part and meet again.
fn ptx(blocks: usize) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %t; .reg .pred %p;\nmov.u32 %t, %tid.x;\n".to_owned();
    for at in 0..blocks {
        let lane = at % 32;
        let _ = writeln!(
            text,
            "setp.eq.u32 %p, %t, {lane};\n@%p bra L{at};\nadd.u32 %t, %t, 0;\nL{at}:"
        );
    }
    text + "ret;\n}\n"
}

/// The most bytes that the command held beside those from before, for a kernel of so many blocks.
fn most(blocks: usize, words: &[&str]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, ptx(blocks)).unwrap();
    let file = file.to_string_lossy().into_owned();
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let words = ["blockwise", "--quiet"].iter().chain(words);
    let words = words.map(|&word| {
        if word == "FILE" {
            file.clone()
        } else {
            word.to_owned()
        }
    });
    let code = blockwise_cli::cli::main(words.map(Into::into));
    assert_eq!(code, ExitCode::SUCCESS);
    MOST.load(Relaxed) - before
}

#[test]
fn a_profile_is_as_large_as_the_text() {
    // SAFETY: this test is alone in its process. Without ptxas the memory is the command's own.
    unsafe { std::env::set_var("BLOCKWISE_PTXAS", "/nonexistent/ptxas") };
    for (words, limit) in [
        (&["profile", "ptx", "FILE"][..], 2000),
        (&["profile", "ptx", "FILE", "--json"], 7000),
        (&["check", "FILE"], 2000),
    ] {
        let (few, many) = (most(1000, words), most(5000, words));
        let each = many.saturating_sub(few) / 4000;
        assert!(each < limit, "{words:?}: {each} bytes a block");
    }
}
