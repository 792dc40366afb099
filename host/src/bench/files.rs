//! Whole commands: files in, files out. Each sample is a process of its own, so that its start is in
//! the time.
//!
//! The row "first" is a run with an empty cache of the driver's compiled kernels, "again" are the
//! next ones. `cp` of the same file says what the file system can do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use blockwise::Type;

use super::work::is_chosen;
use super::{Inputs, Kind, OURS, Options, Row, Size, Timing};
use crate::io::{ArrayWriter, FileError, Format, OutputFile, Reader};

/// Runs after the first, and a peer's, whose imports alone take seconds.
const AGAIN: usize = 3;
const AGAIN_OF_PEERS: usize = 1;
const PEER: &str = "NumPy, PyTorch";
/// Elements that are written at a time.
const PIECE: usize = 1 << 22;
/// Outputs that are compared at each of [`PLACES`] places.
const COMPARED: usize = 1 << 12;
const PLACES: usize = 16;

const SUM: &str = "import sys, numpy as np, torch
x = torch.from_numpy(np.load(sys.argv[1])).cuda()
print(x.sum().item())";

const CONV: &str = "import sys, numpy as np, torch
x, taps = (torch.from_numpy(np.load(path)).cuda() for path in sys.argv[1:3])
y = torch.nn.functional.conv1d(x[None, None], taps.flip(0)[None, None], padding='same')
np.save(sys.argv[3], y[0, 0].cpu().numpy())";

/// Whose commands are timed, and where.
pub struct Commands {
    /// This command, with its options.
    pub ours: Vec<OsString>,
    /// The interpreter for NumPy and PyTorch, if peers are wanted.
    pub python: Option<PathBuf>,
    /// The files' folder, with room for two of the largest.
    pub folder: PathBuf,
}

/// A command on a file of `f32`.
struct Work {
    elements: usize,
    /// Of a convolution; without them, a sum.
    taps: Option<usize>,
}

/// Whether the options choose any of these works.
pub(super) fn are_chosen(options: &Options) -> bool {
    !works(options).is_empty()
}

fn works(options: &Options) -> Vec<Work> {
    let sizes = &options.sizes;
    let sums = sizes.pick(1, false, &[&[1000], &[1 << 20]], &[&[1000], &[1 << 30]]);
    let convs = sizes.pick(2, false, &[&[1 << 20, 31]], &[&[1 << 30, 31]]);
    (sums.into_iter().chain(convs))
        .map(|size| Work {
            elements: size[0],
            taps: size.get(1).copied(),
        })
        .filter(|work| work.taps.is_none_or(|taps| taps <= work.elements))
        .filter(|work| is_chosen(&options.filter, &work.name()))
        .collect()
}

/// Times the chosen works; `done` gets each row as soon as it is there.
pub fn files(options: &Options, commands: &Commands, mut done: impl FnMut(Row)) {
    let mut inputs = Inputs::new(options.seed);
    for work in works(options) {
        if let Err(reason) = work.run(commands, &mut inputs, &mut done) {
            done(work.row(OURS, "first", Err(format!("skipped: {reason}"))));
        }
    }
}

/// The files of a work, and what is to come out.
struct Files {
    folder: tempfile::TempDir,
    sum: f64,
}

impl Files {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Work {
    fn name(&self) -> String {
        match self.taps {
            None => format!("files/sum/f32/{}", Size(vec![self.elements])),
            Some(taps) => format!("files/conv/f32/{}", Size(vec![self.elements, taps])),
        }
    }

    fn run(
        &self,
        commands: &Commands,
        inputs: &mut Inputs,
        done: &mut impl FnMut(Row),
    ) -> Result<(), String> {
        let files = self.write(&commands.folder, inputs)?;
        let [x, taps, y] = ["x.npy", "taps.npy", "y.npy"].map(|name| files.at(name));
        let line = |start: &[OsString], rest: &[&OsStr]| -> Vec<OsString> {
            let rest = rest.iter().map(|&argument| argument.to_owned());
            start.iter().cloned().chain(rest).collect()
        };
        let (x, taps, y) = (x.as_os_str(), taps.as_os_str(), y.as_os_str());
        let word = OsStr::new;
        self.time("cp", &line(&[], &[word("cp"), x, y]), &files, done);
        let ours = match self.taps {
            None => line(&commands.ours, &[word("sum"), x]),
            Some(_) => line(&commands.ours, &[word("conv"), x, taps, word("-o"), y]),
        };
        self.time(OURS, &ours, &files, done);
        if let Some(python) = &commands.python {
            let start: [OsString; 2] = [python.into(), "-c".into()];
            let theirs = match self.taps {
                None => line(&start, &[word(SUM), x]),
                Some(_) => line(&start, &[word(CONV), x, taps, y]),
            };
            self.time(PEER, &theirs, &files, done);
        }
        Ok(())
    }

    /// Rows of the first run of a command and of the next ones.
    fn time(&self, by: &str, line: &[OsString], files: &Files, done: &mut impl FnMut(Row)) {
        let cache = files.at(&format!("cache of {by}"));
        let sample = || -> Result<f64, String> {
            let start = Instant::now();
            let ran = (Command::new(&line[0]).args(&line[1..]))
                .env("CUDA_CACHE_PATH", &cache)
                .stdin(Stdio::null())
                .output()
                .map_err(|error| error.to_string())?;
            let seconds = start.elapsed().as_secs_f64();
            if !ran.status.success() {
                let said = String::from_utf8_lossy(&ran.stderr);
                let last = said.lines().last().unwrap_or("it failed");
                return Err(format!("skipped: {last}"));
            }
            if by != "cp" {
                self.check(files, &String::from_utf8_lossy(&ran.stdout))?;
            }
            Ok(seconds)
        };
        let first = sample().map(|seconds| vec![seconds]);
        let failed = first.is_err();
        done(self.row(by, "first", first));
        if !failed {
            let count = if by == PEER { AGAIN_OF_PEERS } else { AGAIN };
            let again = (0..count).map(|_| sample()).collect();
            done(self.row(by, "again", again));
        }
    }

    fn row(&self, by: &str, rung: &str, seconds: Result<Vec<f64>, String>) -> Row {
        let file = 4 * self.elements as u64;
        let checked = match (by, self.taps) {
            ("cp", _) => "nothing compared".to_owned(),
            (_, None) => "the sum, exactly".to_owned(),
            (_, Some(_)) => format!("{PLACES} x {COMPARED} outputs, within 0.01"),
        };
        Row {
            work: self.name(),
            implementation: by.to_owned(),
            rung: rung.to_owned(),
            bytes: if self.taps.is_some() || by == "cp" {
                2 * file
            } else {
                file
            },
            passed: seconds.is_ok(),
            check: seconds.as_ref().err().cloned().unwrap_or(checked),
            timing: seconds.ok().map(Timing::of),
            ..Row::default()
        }
    }

    /// Writes the inputs: whole numbers, so that results are exact, but for a peer's transforms.
    fn write(&self, folder: &Path, inputs: &mut Inputs) -> Result<Files, String> {
        let folder = (tempfile::Builder::new().prefix("blockwise-bench-"))
            .tempdir_in(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files = Files { folder, sum: 0.0 };
        let wanted = [("x.npy", Some(self.elements)), ("taps.npy", self.taps)];
        for (name, len) in wanted.iter().filter_map(|&(name, len)| Some((name, len?))) {
            let mut written = || -> Result<f64, Box<dyn std::error::Error>> {
                let place = OutputFile::prepare(&files.at(name))?;
                let mut file = ArrayWriter::create(place, Format::Npy, &[len], Type::F32)?;
                let mut sum = 0.0;
                for start in (0..len).step_by(PIECE) {
                    let piece = inputs.take::<f32>(Kind::Whole, PIECE.min(len - start))?;
                    sum += piece.iter().map(|&value| f64::from(value)).sum::<f64>();
                    file.write(&piece)?;
                }
                file.finish()?;
                Ok(sum)
            };
            let sum = written().map_err(|error| error.to_string())?;
            if name == "x.npy" {
                files.sum = sum;
            }
        }
        Ok(files)
    }

    /// Compares what a command made, and removes it.
    fn check(&self, files: &Files, printed: &str) -> Result<(), String> {
        let Some(taps) = self.taps else {
            return match printed.trim().parse::<f64>() {
                Ok(sum) if sum == files.sum => Ok(()),
                _ => Err(format!("WRONG: {} for {}", printed.trim(), files.sum)),
            };
        };
        let wrong = self
            .wrong_outputs(files, taps)
            .map_err(|error| error.to_string())?;
        let _ = std::fs::remove_file(files.at("y.npy"));
        match wrong {
            0 => Ok(()),
            wrong => Err(format!("WRONG: {wrong} outputs")),
        }
    }

    /// Of the outputs at some places, from the first to the last, those that are wrong.
    fn wrong_outputs(&self, files: &Files, taps_len: usize) -> Result<usize, FileError> {
        let read = |name: &str, start: usize, len: usize| -> Result<Vec<f32>, FileError> {
            let mut reader = Reader::open(&files.at(name))?;
            let mut values = vec![0.0; len];
            reader.skip(start);
            reader.read(&mut values)?;
            Ok(values)
        };
        let taps = read("taps.npy", 0, taps_len)?;
        let (offset, len) = ((taps_len - 1) / 2, COMPARED.min(self.elements));
        let mut wrong = 0;
        for place in 0..PLACES {
            let start = (self.elements - len) * place / (PLACES - 1);
            let before = start.min(taps_len);
            let end = (start + len + taps_len).min(self.elements);
            let x = read("x.npy", start - before, end - (start - before))?;
            let y = read("y.npy", start, len)?;
            for (index, y) in y.into_iter().enumerate() {
                let newest = before + index + offset;
                let products = (taps.iter().enumerate())
                    .filter_map(|(tap, value)| Some(value * x.get(newest.checked_sub(tap)?)?));
                wrong += usize::from((products.sum::<f32>() - y).abs() > 0.01);
            }
        }
        Ok(wrong)
    }
}
