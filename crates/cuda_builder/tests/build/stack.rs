//! Atomics on a thread's own stack, which PTX does not have.

use std::process::Command;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::*};

use cuda_builder::tools::ptxas;
use ptx_emulator::testing::Launch;

use crate::common::{SHARED, repository};

/// The same on both: `slots` is indexed by what only the launch knows, so that it is no register.
macro_rules! exercise {
    ($x:expr) => {{
        let x = $x;
        let slots = [const { AtomicU32::new(5) }; 4];
        let wide = [const { AtomicI64::new(-3) }; 2];
        let (a, b) = (x[0] as usize % 4, x[1] as usize % 4);
        let mut results = [
            slots[a].fetch_add(x[2], Relaxed),
            slots[b].swap(x[3], AcqRel),
            slots[a].fetch_max(x[4], Relaxed),
            slots[b]
                .compare_exchange(x[3], x[6], SeqCst, Relaxed)
                .is_ok() as u32,
            slots[b]
                .compare_exchange_weak(x[6] + 1, 7, AcqRel, Acquire)
                .unwrap_or_else(|old| old),
            slots[b].fetch_nand(x[7], Relaxed),
            slots[b].fetch_sub(3, Release),
            slots[b].fetch_and(0xff0, Acquire),
            slots[b].fetch_or(0x101, Relaxed),
            slots[b].fetch_xor(x[0], Relaxed),
            slots[a].fetch_min(x[1], Relaxed),
            wide[a % 2].fetch_min(-9, SeqCst) as u32,
            wide[a % 2].fetch_max(4, SeqCst) as u32,
            0,
            0,
        ];
        slots[a].store(x[8], Release);
        results[13] = slots[a].load(Acquire);
        results[14] = wide[a % 2].load(Relaxed) as u32;
        results
    }};
}

/// The same as a kernel.
pub(crate) fn source() -> String {
    let body = include_str!("stack.rs")
        .split("let x = $x;")
        .nth(1)
        .unwrap();
    let body = body.split("}};").next().unwrap();
    format!(
        "use core::sync::atomic::{{AtomicI64, AtomicU32, Ordering::*}};
        #[kernel] pub unsafe fn exercise(x: &[u32], out: *mut [u32; 15]) {{ unsafe {{ *out = {{ {body} }} }} }}"
    )
}

#[test]
fn atomics_of_one_thread_are_plain_and_right() {
    const INPUT: [u32; 9] = [9, 6, 1000, 77, 900, 0, 41, 0xabc, 12];
    let expected = exercise!(&INPUT);
    let assembler = ptxas::Ptxas::find_or_fetch(&repository().join("target/tools")).unwrap();
    let output = Command::new(&assembler.path)
        .args(["-arch=sm_80", "-o", "/dev/null"])
        .arg(&SHARED.path)
        .output()
        .unwrap();
    let ptx = &SHARED.ptx;
    assert!(
        output.status.success(),
        "{}\n{ptx}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut results = [0; 15];
    Launch::of(ptx)
        .unwrap()
        .kernel("exercise")
        .slice(&INPUT)
        .output(&mut results)
        .check()
        .unwrap()
        .assert_clean();
    assert_eq!(results, expected);
}
