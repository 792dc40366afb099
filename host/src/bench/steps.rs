//! A user's step: upload 1,000 numbers, allocate an output, launch, read back, drop both. Its time
//! is that of calls, not of kernels, so it is the host's clock that counts, over all threads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use blockwise::{Device, Stream};
use kernels::reverse::direct::reverse_direct;
use serde::Deserialize;

use super::work::is_chosen;
use super::{OURS, Options, Row, Timing};

const NAME: &str = "step/f32/1000";
const LEN: usize = 1000;
/// One thread, and one for each core of a small server.
const THREADS: [usize; 2] = [1, 16];
const WINDOWS: usize = 5;
const WINDOW: Duration = Duration::from_millis(300);

/// The same in Python, where the interpreter runs one thread at a time.
const PEERS: &str = r#"
import json, sys, threading, time
import numpy as np
WINDOWS, WINDOW, LEN = 5, 0.3, 1000
def of_torch():
    import torch
    def on_a_stream(own):
        if own: torch.cuda.set_stream(torch.cuda.Stream())
        host = torch.arange(LEN, dtype=torch.float32)
        def step():
            x = host.cuda(); y = torch.empty_like(x); torch.neg(x, out=y); return y.cpu()[-1]
        return step
    return on_a_stream
def of_cupy():
    import cupy
    def on_a_stream(own):
        if own: cupy.cuda.Stream().use()
        host = np.arange(LEN, dtype=np.float32)
        def step():
            x = cupy.asarray(host); y = cupy.empty_like(x); cupy.negative(x, out=y); return y.get()[-1]
        return step
    return on_a_stream
def times(make, threads):
    steps, stop, begin = [0] * threads, threading.Event(), threading.Barrier(threads + 1)
    wrong = []
    def work(index):
        step = make(threads > 1)
        for _ in range(50): step()
        begin.wait()
        while not stop.is_set():
            if step() != 1 - LEN: wrong.append(index)
            steps[index] += 1
    running = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(threads)]
    for thread in running: thread.start()
    begin.wait(60)
    seconds = []
    for _ in range(WINDOWS):
        before, start = sum(steps), time.perf_counter()
        time.sleep(WINDOW)
        seconds.append((time.perf_counter() - start) / max(sum(steps) - before, 1))
    stop.set()
    for thread in running: thread.join()
    if wrong: raise RuntimeError("WRONG")
    return seconds
for name, load in (("torch", of_torch), ("cupy", of_cupy)):
    for threads in (1, 16):
        try: print(json.dumps({"by": name, "threads": threads, "seconds": times(load(), threads)}), flush=True)
        except Exception as error: print(json.dumps({"by": name, "threads": threads, "skipped": f"{type(error).__name__}: {error}"}), flush=True)
"#;

/// Whether the options choose it.
pub(super) fn are_chosen(options: &Options) -> bool {
    let sizes = options.sizes.pick(1, false, &[&[LEN]], &[&[LEN]]);
    !sizes.is_empty() && is_chosen(&options.filter, NAME)
}

/// Times it, by one thread and by many.
pub(super) fn rows(device: &Device) -> impl Iterator<Item = Row> {
    THREADS
        .map(|threads| row(OURS, threads, times(device, threads)))
        .into_iter()
}

/// Times others; `done` gets each row.
pub fn step_peers(options: &Options, python: &Path, mut done: impl FnMut(Row)) {
    if !are_chosen(options) {
        return;
    }
    let ran = (Command::new(python).arg("-c").arg(PEERS))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let printed = ran.map_or_else(
        |error| Err(format!("{}: {error}", python.display())),
        |ran| Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
    );
    match printed {
        Ok(printed) => {
            for line in printed.lines() {
                match serde_json::from_str::<Answer>(line) {
                    Ok(Answer {
                        by,
                        threads,
                        seconds,
                        skipped,
                    }) => {
                        let seconds = skipped.map_or(Ok(seconds), Err);
                        done(row(&by, threads, seconds));
                    }
                    Err(error) => done(row("peers", 1, Err(format!("{error}: {line}")))),
                }
            }
            if printed.is_empty() {
                done(row("peers", 1, Err("it printed nothing".into())));
            }
        }
        Err(reason) => done(row("peers", 1, Err(reason))),
    }
}

#[derive(Deserialize)]
struct Answer {
    by: String,
    threads: usize,
    #[serde(default)]
    seconds: Vec<f64>,
    skipped: Option<String>,
}

fn row(by: &str, threads: usize, seconds: Result<Vec<f64>, String>) -> Row {
    let noun = if threads == 1 { "thread" } else { "threads" };
    Row {
        work: NAME.to_owned(),
        implementation: by.to_owned(),
        rung: format!("{threads} {noun}"),
        passed: seconds.is_ok(),
        check: match &seconds {
            Ok(_) => "an element of each step, exactly".to_owned(),
            Err(reason) if reason.contains("WRONG") => reason.clone(),
            Err(reason) => format!("skipped: {reason}"),
        },
        timing: seconds.ok().map(Timing::of),
        ..Row::default()
    }
}

/// Seconds a step in each of several windows.
fn times(device: &Device, threads: usize) -> Result<Vec<f64>, String> {
    let steps: Vec<_> = (0..threads).map(|_| std::sync::Mutex::new(0_u64)).collect();
    let (begin, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let done = || -> u64 {
        let counts = steps.iter();
        counts
            .map(|count| *count.lock().unwrap_or_else(PoisonError::into_inner))
            .sum()
    };
    thread::scope(|scope| {
        let running: Vec<_> = (steps.iter())
            .map(|count| {
                let (begin, stop) = (&begin, &stop);
                scope.spawn(move || -> Result<(), String> {
                    let stream = match threads {
                        1 => Ok(device.own_stream()),
                        _ => device.stream(),
                    };
                    // All threads arrive at the barrier, also those that fail.
                    let warm = stream
                        .map_err(|error| error.to_string())
                        .and_then(|stream| {
                            let mut host: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
                            (0..50).try_for_each(|i| step(device, &stream, &mut host, i as f32))?;
                            Ok((stream, host))
                        });
                    begin.wait();
                    let (stream, mut host) = warm?;
                    while !stop.load(Ordering::Relaxed) {
                        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
                        *count += 1;
                        let number = (*count % 1000) as f32;
                        drop(count);
                        step(device, &stream, &mut host, number)?;
                    }
                    Ok(())
                })
            })
            .collect();
        begin.wait();
        let windows = (0..WINDOWS).map(|_| {
            let (before, start) = (done(), Instant::now());
            thread::sleep(WINDOW);
            start.elapsed().as_secs_f64() / (done() - before).max(1) as f64
        });
        let seconds = windows.collect();
        stop.store(true, Ordering::Relaxed);
        for thread in running {
            thread
                .join()
                .map_err(|_| "a thread panicked".to_owned())??;
        }
        Ok(seconds)
    })
}

/// One step, which finds its kernel as a program does that keeps nothing.
fn step(device: &Device, stream: &Stream, host: &mut [f32], first: f32) -> Result<(), String> {
    host[0] = first;
    let reversed = || -> blockwise::Result<Vec<f32>> {
        let x = device.upload(host)?;
        // SAFETY: the kernel writes every element, and reads none of them.
        let mut y = unsafe { device.alloc::<f32>(LEN)? };
        let kernel = reverse_direct::<u32>::on(device)?
            .covering(LEN)?
            .stream(stream);
        kernel.launch(x.as_view().cast::<u32>()?, y.as_view_mut().cast::<u32>()?)?;
        y.to_vec()
    };
    let y = reversed().map_err(|error| error.to_string())?;
    match y.last() == Some(&first) && y[0] == host[LEN - 1] {
        true => Ok(()),
        false => Err("WRONG: an element".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Sizes;

    #[test]
    fn a_step_reverses_what_it_was_given_on_every_stream() {
        let device = Device::checked();
        let mut host = vec![7.0; LEN];
        for stream in [device.own_stream(), device.stream().expect("a stream")] {
            for first in [1.0, 2.0] {
                step(&device, &stream, &mut host, first).expect("a step");
            }
        }
    }

    #[test]
    fn it_is_chosen_by_its_name_and_its_size() {
        let options = |filter: &[&str], sizes: Sizes| Options {
            filter: filter.iter().map(|&text| text.to_owned()).collect(),
            sizes,
            own: false,
            seed: 0,
        };
        assert!(are_chosen(&options(&[], Sizes::Standard)));
        assert!(are_chosen(&options(&["step"], Sizes::Quick)));
        assert!(!are_chosen(&options(&["matmul"], Sizes::Standard)));
    }

    #[test]
    fn peers_that_cannot_be_run_are_a_row_that_says_so() {
        let mut rows = Vec::new();
        step_peers(&Options::default(), Path::new("/absent/python3"), |row| {
            rows.push(row)
        });
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert!(
            !row.passed && row.check.contains("/absent/python3"),
            "{row:?}"
        );
        let mut rows = Vec::new();
        step_peers(&Options::default(), Path::new("true"), |row| rows.push(row));
        assert!(rows[0].check.contains("nothing"), "{rows:?}");
    }
}
