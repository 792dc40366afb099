//! How much memory the command takes for programs of many basic blocks: this test binary counts
//! what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; what is counted changes nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        TAKEN.fetch_add(layout.size(), Relaxed);
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

/// A kernel of N blocks: the lanes part and meet again.
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

/// The number of small kernels.
fn kernels(count: usize) -> String {
    let kernel = |at: usize| {
        format!(
            ".visible .entry k{at}() {{ .shared .align 4 .b8 tile{at}[64]; .reg .b32 %r<4>; mov.u32 %r1, tile{at}; st.shared.u32 [%r1], 1; ret; }}\n"
        )
    };
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    (0..count)
        .map(kernel)
        .fold(header, |text, kernel| text + &kernel)
}

/// What the command allocates for a PTX text: the most bytes that it held, and all that it ever
/// took.
fn memory(ptx: &str, words: &[&str]) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, ptx).unwrap();
    let file = file.to_string_lossy().into_owned();
    let (before, taken) = (HELD.load(Relaxed), TAKEN.load(Relaxed));
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
    (MOST.load(Relaxed) - before, TAKEN.load(Relaxed) - taken)
}

/// One test, for what it counts is the process's.
#[test]
fn memory_grows_with_the_text() {
    const INSIDE: &str = "BLOCKWISE_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // Again in a process of its own, whose reports are not shown. Without ptxas the memory is
        // the command's own.
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory_grows_with_the_text"])
            .env(INSIDE, "1")
            .env("BLOCKWISE_PTXAS", "/nonexistent/ptxas")
            .stdout(Stdio::null())
            .status();
        assert!(
            again.unwrap().success(),
            "run it with {INSIDE}=1 to see why"
        );
        return;
    }
    for (words, limit) in [
        (&["profile", "ptx", "FILE"][..], 2000),
        (&["profile", "ptx", "FILE", "--json"], 7000),
        (&["check", "FILE"], 2000),
    ] {
        let [few, many] = [1000, 5000].map(|blocks| memory(&ptx(blocks), words).0);
        let each = many.saturating_sub(few) / 4000;
        assert!(each < limit, "{words:?}: {each} bytes a block");
    }
    // Twice as many kernels beside the one that is checked: twice the work.
    let words = ["check", "FILE", "--kernel", "k7", "--block", "1"];
    let taken = [400, 800, 1600].map(|count| memory(&kernels(count), &words).1);
    let more = [taken[1] - taken[0], taken[2] - taken[1]];
    assert!(more[1] < 3 * more[0], "{taken:?} bytes");
}
