//! What kernels print, on every device that is there, against the host's own `format!`.

use std::process::Command;

use blockwise::{Device, DeviceChoice};
use blockwise_tests::Arguments;
use blockwise_tests::bench::{Bench, threads};
use device_prints::{Printed, conversions, long_line, several_lines};

/// Names the job of a child process: device, what to print, length, threads.
const CHILD: &str = "BLOCKWISE_TEST_PRINTS";

/// What `prints` writes to standard output. A GPU writes to that of its process, so it is one of
/// its own: this very test.
fn printed(device: DeviceChoice, what: Printed, length: u64, count: u32) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "prints::printed_text_is_that_of_the_host",
            "--nocapture",
        ])
        .env(CHILD, format!("{device} {} {length} {count}", what as u32))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn print_as_child(job: &str) {
    let words: Vec<_> = job.split(' ').collect();
    let device = Device::open(words[0].parse().unwrap()).unwrap();
    let arguments = Arguments::new()
        .value(words[1].parse::<u32>().unwrap())
        .value(words[2].parse::<u64>().unwrap());
    let count = words[3].parse().unwrap();
    Bench::of("device_prints", device)
        .launch("prints", threads(count), &arguments)
        .unwrap();
}

#[test]
fn printed_text_is_that_of_the_host() {
    if let Ok(job) = std::env::var(CHILD) {
        return print_as_child(&job);
    }
    let mut devices = vec![DeviceChoice::Emulator];
    if Device::gpu(0).is_ok() {
        devices.push(DeviceChoice::Gpu(0));
    }
    let whole = |lines: Vec<String>| lines.into_iter().map(|line| line + "\n").collect();
    for device in devices {
        check(device, Printed::Conversions, 0, 5, &|t| {
            whole(conversions(t as i32))
        });
        check(device, Printed::SeveralLines, 0, 70, &|t| {
            vec![several_lines(t)]
        });
        for length in [10, 4095, 4096, 20_000] {
            check(device, Printed::LongLine, length, 3, &|t| {
                whole(vec![long_line(t, length as usize)])
            });
        }
        check(device, Printed::Directly, 0, 200, &|t| {
            let (half, letter) = (t as f32 / 2.0, char::from(b'a' + (t % 26) as u8));
            vec![format!("thread {t}: {half:.1} is 50% of it, {letter}\n")]
        });
        check(device, Printed::Edges, 0, 2, &|_| {
            vec!["beforeafter\n".to_owned()]
        });
    }
}

/// The output holds each thread's texts, in their order and each in one piece, and nothing else.
fn check(
    device: DeviceChoice,
    what: Printed,
    length: u64,
    count: u32,
    expected: &dyn Fn(u32) -> Vec<String>,
) {
    let mut rest = printed(device, what, length, count);
    for t in 0..count {
        let mut end_of_last = 0;
        for text in expected(t) {
            let at = rest.find(&text);
            let at = at.unwrap_or_else(|| panic!("{device}, {what:?}, no {text:?} in {rest}"));
            assert!(at >= end_of_last, "{device}: {text:?} comes too early");
            rest.replace_range(at..at + text.len(), "");
            end_of_last = at;
        }
    }
    let of_the_harness = |line: &str| {
        ["running 1 test", "test ", "ok"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let left: Vec<_> = rest
        .lines()
        .filter(|line| !line.is_empty() && !of_the_harness(line))
        .collect();
    assert!(left.is_empty(), "{device}, {what:?}: {left:?}");
}
