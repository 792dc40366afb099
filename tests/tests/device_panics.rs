//! Panics and failed assertions in kernels, on every device that is there: the host hears what it
//! would hear of its own.

use std::cell::RefCell;
use std::panic::{catch_unwind, set_hook, take_hook};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};

use blockwise::{Buffer, Device, Error};
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, benches_of, blocks, threads};
use cuda_std::panic::MESSAGE_BYTES;
use device_heap::failing::{CASES, fail};

const CRATE: &str = "device_heap";

/// One test at a time: a panic is reported to the next caller that waits.
fn devices() -> MutexGuard<'static, Vec<Bench>> {
    static BENCHES: LazyLock<Mutex<Vec<Bench>>> = LazyLock::new(|| Mutex::new(benches_of(CRATE)));
    BENCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a panic says of itself.
#[derive(Clone, Debug, PartialEq)]
struct Said {
    message: String,
    /// Without its folders, which differ between compilers.
    file: String,
    line: u32,
}

impl Said {
    fn new(message: &str, file: &str, line: u32) -> Self {
        let file = file.rsplit('/').next().unwrap_or(file);
        Said {
            message: message.to_owned(),
            file: file.to_owned(),
            // The standard library's lines are those of the compiler, and there may be two.
            line: if file == "failing.rs" { line } else { 0 },
        }
    }
}

/// What `fail` says on the host.
fn on_the_host(case: u32, n: usize) -> Said {
    thread_local! {
        static SAID: RefCell<Option<Said>> = const { RefCell::new(None) };
        static LISTENING: RefCell<bool> = const { RefCell::new(false) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !LISTENING.with_borrow(|listening| *listening) {
                return usual(info);
            }
            let message = info.payload_as_str().unwrap_or_default();
            let place = info.location().unwrap();
            SAID.set(Some(Said::new(message, place.file(), place.line())));
        }));
    });
    LISTENING.set(true);
    let outcome = catch_unwind(|| fail(case, n));
    LISTENING.set(false);
    assert!(outcome.is_err(), "case {case} does not fail");
    SAID.take().unwrap()
}

/// Launches `fails` with 3 blocks of 40 threads; the error, and how many threads reached the end.
fn launch(bench: &Bench, case: u32, at: u32) -> (Result<(), Error>, u32) {
    let mut out = bench.device.upload(&[0_u32]).unwrap();
    let arguments = Arguments::new().value(case).value(at).value(7_u64);
    let result = bench.launch("fails", blocks(3, 40), &arguments.pointer(&mut out));
    (result, out.to_vec().unwrap()[0])
}

#[test]
fn every_panic_says_what_it_says_on_the_host() {
    for bench in devices().iter() {
        for case in 0..CASES {
            let mut expected = on_the_host(case, 7);
            let fits = expected.message.floor_char_boundary(MESSAGE_BYTES);
            expected.message.truncate(fits);
            let (result, _) = launch(bench, case, 95);
            let error = result.unwrap_err();
            let Error::Panicked {
                kernel,
                message,
                file,
                line,
                block,
                thread,
            } = &error
            else {
                panic!("case {case}: {error}");
            };
            assert_eq!(Said::new(message, file, *line), expected, "case {case}");
            assert_eq!(
                (kernel.as_str(), *block, *thread),
                ("fails", [2, 0, 0], [15, 0, 0]),
                "case {case}"
            );
        }
    }
}

#[test]
fn the_error_reads_alike_on_both_devices() {
    for bench in devices().iter() {
        let error = launch(bench, 2, 41).0.unwrap_err().to_string();
        let (head, rest) = error.split_once(".rs:").unwrap();
        assert!(
            head.starts_with("kernel `fails` panicked at ") && head.ends_with("failing"),
            "{error}"
        );
        let (_, place) = rest.split_once(", ").unwrap();
        assert_eq!(
            place,
            "block (1, 0, 0), thread (1, 0, 0): index out of bounds: the len is 5 but the index is 7"
        );
    }
}

#[test]
fn the_next_launch_works_and_the_next_panic_is_told() {
    for bench in devices().iter() {
        for _ in 0..3 {
            assert!(matches!(launch(bench, 6, 0).0, Err(Error::Panicked { .. })));
            let (result, ended) = launch(bench, CASES, u32::MAX);
            result.unwrap();
            assert_eq!(ended, 120);
        }
        let error = launch(bench, 1, u32::MAX).0.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("with 7 arguments, 0xff and \"text\""),
            "{error}"
        );
        let mut two = bench.device.upload(&[0_u32, 1]).unwrap();
        bench
            .launch(
                "waits_for_a_panicked_thread",
                threads(1),
                &Arguments::new().value(0_u32).pointer(&mut two),
            )
            .unwrap();
        assert_eq!(two.to_vec().unwrap(), [1, 1]);
    }
}

/// Each launch, whichever worker was the fastest.
#[test]
fn of_many_panics_the_emulator_names_one_of_the_first_block() {
    let bench = Bench::of(CRATE, Device::emulator());
    for _ in 0..20 {
        let error = launch(&bench, 2, u32::MAX).0.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Panicked {
                    block: [0, 0, 0],
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn a_panic_is_the_only_finding_of_a_check() {
    let bench = Bench::of(CRATE, Device::checked());
    for case in [0, 1, 2, 5, 7] {
        let error = launch(&bench, case, u32::MAX).0.unwrap_err();
        let Error::Findings { report, .. } = &error else {
            panic!("case {case}: {error}");
        };
        let [finding] = report.findings.as_slice() else {
            panic!("case {case}: {error}");
        };
        let said = on_the_host(case, 7);
        assert!(finding.message.contains(&said.message), "{error}");
    }
}

#[test]
fn what_the_emulator_finds_leaves_it_working() {
    let bench = Bench::of(CRATE, Device::emulator());
    let error = bench
        .launch("writes_to", threads(1), &Arguments::new().value(16_u64))
        .unwrap_err();
    assert!(error.to_string().contains("out of bounds"), "{error}");
    let mut out = bench.device.upload(&[0_u32]).unwrap();
    let waits = Arguments::new().value(1_u32).pointer(&mut out);
    let error = bench
        .launch("waits_for_a_panicked_thread", threads(64), &waits)
        .unwrap_err();
    assert!(
        error.to_string().contains("the flag is never set"),
        "{error}"
    );
    launch(&bench, CASES, 0).0.unwrap();
}

/// Names the job of a child process: CUDA lets none use its GPU again after such an error.
const CHILD: &str = "BLOCKWISE_TEST_LOSES_CONTEXT";

#[test]
fn a_lost_context_is_told_at_every_later_call() {
    match std::env::var(CHILD).as_deref() {
        Ok("fault") => {
            return lose(
                "writes_to",
                |_| Arguments::new().value(16_u64),
                |error| matches!(error, Error::Driver { .. }),
            );
        }
        Ok("wait") => {
            return lose(
                "waits_for_a_panicked_thread",
                |out| Arguments::new().value(1_u32).pointer(out),
                |error| error.to_string().contains("the flag is never set"),
            );
        }
        _ => {}
    }
    if let Err(error) = Device::gpu(0) {
        eprintln!("skipped on the GPU: {error}");
        return;
    }
    for job in ["fault", "wait"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_lost_context_is_told_at_every_later_call",
                "--nocapture",
            ])
            .env(CHILD, job)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{job}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

fn lose(
    kernel: &str,
    arguments: impl for<'a> Fn(&'a mut Buffer<u32>) -> Arguments<'a>,
    is_cause: impl Fn(&Error) -> bool,
) {
    let bench = Bench::of(CRATE, Device::gpu(0).unwrap());
    let mut out = bench.device.upload(&[0_u32]).unwrap();
    let error = bench
        .launch(kernel, threads(64), &arguments(&mut out))
        .unwrap_err();
    assert!(is_cause(&error), "{error}");
    let lost = |error: Error| {
        assert!(matches!(error, Error::ContextLost { .. }), "{error}");
        assert!(error.hint().unwrap().contains("start the program again"));
    };
    lost(launch_once(&bench, &mut out).unwrap_err());
    lost(bench.device.synchronize().unwrap_err());
    lost(out.to_vec().unwrap_err());
    lost(out.copy_from_slice(&[1]).unwrap_err());
    lost(bench.device.zeros::<u32>(1).unwrap_err());
    lost(Device::gpu(0).unwrap_err());
}

fn launch_once(bench: &Bench, out: &mut Buffer<u32>) -> Result<(), Error> {
    let arguments = Arguments::new().value(0_u32).pointer(out);
    bench.launch("waits_for_a_panicked_thread", threads(1), &arguments)
}
