//! Peers to compare with, each in a process of its own: other libraries, timed by a script, and
//! other builds of this command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Work;
use super::pairs::Side;
use super::protocol::{Answer, Asked, Entry, Request};

/// Why there are no peers to compare with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeersError {
    /// The program cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// The program, and the script if it is an interpreter.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The peer ended; it reported the reason on standard error.
    #[error("{peer} failed: {how}")]
    Failed {
        /// The peer.
        peer: String,
        /// How it ended.
        how: String,
    },
    /// The peer's output is not valid.
    #[error("{peer} wrote a line that is no answer: {source}")]
    Answer {
        /// The peer.
        peer: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Where a peer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A script that times libraries: `bench/peers.py`.
    Script(PathBuf),
    /// Another build of this command.
    Build(PathBuf),
}

/// The start of a source that is another build.
const BUILD: &str = "build:";

impl std::str::FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(BUILD) {
            Some("") => Err(format!("{BUILD} is followed by the path of the command")),
            Some(path) => Ok(Self::Build(path.into())),
            None => Ok(Self::Script(text.into())),
        }
    }
}

/// A peer that runs.
pub struct Peer {
    name: String,
    pub(super) is_build: bool,
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
    /// Whether the answer to a work is still to be read.
    loads: bool,
    failed: Option<PeersError>,
}

impl Peer {
    /// Starts a peer: a script by this interpreter, a build on this device. Does not wait until it
    /// is ready: its imports take seconds.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn start(source: &Source, python: &Path, device: &str) -> Result<Self, PeersError> {
        let (mut command, name) = match source {
            Source::Script(script) => {
                let mut command = Command::new(python);
                command.arg(script);
                (command, script.display().to_string())
            }
            Source::Build(program) => {
                let mut command = Command::new(program);
                let arguments = ["--quiet", "--device", device, "bench", "--serve"];
                command.args(arguments.map(OsString::from));
                (command, format!("{BUILD}{}", program.display()))
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|source| PeersError::Start {
            program: match command.get_args().next() {
                Some(script) if command.get_program() == python.as_os_str() => {
                    format!("{} {}", python.display(), script.display())
                }
                _ => command.get_program().display().to_string(),
            },
            source,
        })?;
        Ok(Self {
            name,
            is_build: matches!(source, Source::Build(_)),
            input: child.stdin.take(),
            output: child.stdout.take().map(|out| BufReader::new(out).lines()),
            child,
            loads: false,
            failed: None,
        })
    }

    /// Why it has stopped answering, said once; `None` if it has not.
    pub fn failure(&mut self) -> Option<PeersError> {
        self.failed.take()
    }

    /// Whether it can still answer.
    pub(super) fn goes_on(&self) -> bool {
        self.input.is_some()
    }

    /// The entry in the row of a work that it could not load.
    pub(super) fn nothing(&self) -> Entry {
        Entry {
            implementation: self.name.clone(),
            rung: "all".to_owned(),
            policy: String::new(),
        }
    }

    /// The versions of its packages.
    pub(super) fn versions(&mut self) -> BTreeMap<String, String> {
        match self.ask(&Request::Versions {}) {
            Ok(Answer::Versions(versions)) if self.is_build => {
                let named = |version| (self.name.clone(), version);
                versions.into_values().map(named).collect()
            }
            Ok(Answer::Versions(versions)) => versions,
            _ => BTreeMap::new(),
        }
    }

    /// Has it load a work and make the inputs, without waiting for it. Nothing if it has failed.
    pub(super) fn begin_load(&mut self, work: &Work, brief: bool) {
        self.loads = self.goes_on();
        if self.loads {
            self.send(&Request::Load(Asked::of(work, brief)));
        }
    }

    /// Its ways to do the work of [`Self::begin_load`], once the inputs are there, or why there are
    /// none; `None` if it had failed before.
    pub(super) fn end_load(&mut self) -> Option<Result<Vec<Entry>, String>> {
        if !std::mem::take(&mut self.loads) {
            return None;
        }
        Some(match self.receive() {
            Ok(Answer::Loaded(mut entries)) => {
                for entry in &mut entries {
                    if entry.implementation.is_empty() {
                        entry.implementation.clone_from(&self.name);
                    }
                }
                Ok(entries)
            }
            Ok(_) => Err(self.unexpected()),
            Err(reason) => Err(reason),
        })
    }

    /// An entry of the loaded work.
    pub(super) fn entry(&mut self, entry: usize) -> Remote<'_> {
        Remote { peer: self, entry }
    }

    /// Asks, and says why there is no answer.
    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        self.send(request);
        self.receive()
    }

    fn send(&mut self, request: &Request) {
        if let Some(input) = &mut self.input {
            // If the peer has ended, `receive` says so, with its exit code.
            let mut line = serde_json::to_vec(request).unwrap_or_default();
            line.push(b'\n');
            let _ = input.write_all(&line).and_then(|()| input.flush());
        }
    }

    fn receive(&mut self) -> Result<Answer, String> {
        if !self.goes_on() {
            return Err(format!("skipped: {} has failed", self.name));
        }
        let answer = match self.output.as_mut().and_then(Iterator::next) {
            Some(Ok(line)) => serde_json::from_str(&line).map_err(Some),
            Some(Err(error)) => Err(Some(serde_json::Error::io(error))),
            None => Err(None),
        };
        match answer {
            Ok(Answer::Failed(reason)) => Err(reason),
            Ok(answer) => Ok(answer),
            Err(wrong) => Err(self.ended(wrong)),
        }
    }

    /// Ends it: its answer does not fit the request.
    fn unexpected(&mut self) -> String {
        let wrong = serde::de::Error::custom("it answers another request");
        self.ended(Some(wrong))
    }

    /// Marks it as ended, and says why.
    fn ended(&mut self, wrong: Option<serde_json::Error>) -> String {
        (self.input, self.output) = (None, None);
        let peer = self.name.clone();
        let error = match wrong {
            Some(source) => {
                let _ = self.child.kill();
                PeersError::Answer { peer, source }
            }
            None => {
                let status = self.child.wait();
                let how = status.map_or_else(|error| error.to_string(), |it| it.to_string());
                PeersError::Failed { peer, how }
            }
        };
        let reason = format!("skipped: {error}");
        self.failed.get_or_insert(error);
        reason
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it.
        (self.input, self.output) = (None, None);
        let _ = self.child.wait();
    }
}

/// One of a peer's ways to do the loaded work.
pub(super) struct Remote<'a> {
    peer: &'a mut Peer,
    entry: usize,
}

impl Remote<'_> {
    /// Which of its results were compared, and whether they were right.
    pub(super) fn check(&mut self) -> Result<(String, bool), String> {
        let entry = self.entry;
        match self.peer.ask(&Request::Check { entry })? {
            Answer::Checked { check, passed } => Ok((check, passed)),
            _ => Err(self.peer.unexpected()),
        }
    }

    /// The names of the kernels that it launches, where it can tell.
    pub(super) fn kernels(&mut self) -> Vec<String> {
        let entry = self.entry;
        match self.peer.ask(&Request::Kernels { entry }) {
            Ok(Answer::Kernels(kernels)) => kernels,
            _ => Vec::new(),
        }
    }
}

impl Side for Remote<'_> {
    fn turn(&mut self, launches: usize) -> Result<Vec<f64>, String> {
        let entry = self.entry;
        match self.peer.ask(&Request::Time { entry, launches })? {
            Answer::Timed(seconds) if seconds.len() == launches => Ok(seconds),
            _ => Err(self.peer.unexpected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::bench::{Sizes, TWIN, tables};
    use blockwise_ops::operation::{Parts, Tier};

    #[test]
    fn a_peer_makes_its_inputs_while_others_make_theirs() {
        let folder = tempfile::tempdir().expect("a folder");
        let [script, asked, ours] =
            ["peer.sh", "asked", "ours"].map(|name| folder.path().join(name));
        let waits = format!("until test -e {ours:?}; do sleep 0.01; done");
        let says = r#"echo '{"loaded": [{"implementation": "", "rung": "a", "policy": ""}]}'"#;
        std::fs::write(
            &script,
            format!("read -r request; : > {asked:?}; {waits}; {says}; read -r last"),
        )
        .expect("a script");
        let (source, shell) = (Source::Script(script.clone()), Path::new("sh"));
        let mut peer = Peer::start(&source, shell, "emulator").expect("a shell");
        let work = &tables(&Sizes::Quick)[0];
        peer.begin_load(work, true);
        let begin = Instant::now();
        while !asked.exists() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let was_asked = asked.exists();
        std::fs::write(ours, "").expect("a file");
        assert!(was_asked, "the request goes out at once");
        let entries = peer.end_load().expect("it goes on").expect("entries");
        let entry = (entries[0].implementation.as_str(), entries[0].rung.as_str());
        assert_eq!(entry, (script.to_str().expect("a name"), "a"));
        // One that has ended is asked no more.
        assert_eq!(peer.end_load(), None);
        peer.begin_load(work, true);
        let ended = peer
            .end_load()
            .expect("it was asked")
            .expect_err("no answer");
        assert!(ended.contains("peer.sh failed"), "{ended}");
        peer.begin_load(work, true);
        assert_eq!(peer.end_load(), None);
    }

    #[test]
    fn every_rung_has_a_twin_in_cuda_cpp_and_none_where_it_is_not() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/twins");
        let mut twins = BTreeMap::new();
        for file in std::fs::read_dir(folder).expect("the folder of twins") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
            for line in text.lines().filter_map(|line| line.strip_prefix("//! ")) {
                let twin: serde_json::Value = serde_json::from_str(line).expect("a twin as JSON");
                if twin["by"] == TWIN {
                    let name = |key: &str| twin[key].as_str().expect("a name").to_owned();
                    let when = twin["when"].as_str().map(str::to_owned);
                    twins.insert((name("works"), name("rung")), when);
                }
            }
        }
        for work in tables(&Sizes::Standard) {
            let works = format!("{}/{}", work.operation, work.ty);
            let has = |rung: &str| work.rungs.iter().any(|it| it.name == rung);
            // The launcher's default is one of the other kernels, and of a kernel with two forms
            // the safe one has a twin in CUDA C++. FFTs in registers and sliced products have no
            // twin: their peers are the libraries.
            let is_own = |name: &str| {
                let of_libraries = ["axis", "scan", "sliced", "sliced-copy", "few", "direct"];
                let of_libraries = of_libraries.contains(&name) || name.starts_with("mma");
                // Means and indices are computed by the kernels of sums and extremes, most batches
                // by those of single products.
                let is_derived = work.of.is_batch(&work.size.0)
                    || matches!(work.of.parts, Parts::Folded(of) if of.is_mean || of.is_index);
                name != "default"
                    && !is_derived
                    && !name.ends_with("-raw")
                    && (!name.starts_with("fft") || name == "fft-radix2")
                    && !of_libraries
            };
            let is_ablation = |name: &str| {
                let variant = blockwise_ops::find(work.operation);
                let variant = variant.and_then(|of| ladder::variant(of, name));
                variant.is_some_and(|variant| matches!(variant.tier, Tier::Ladder { .. }))
            };
            let own = work.rungs.iter().filter(|rung| is_own(&rung.name));
            for rung in own.filter(|rung| !is_ablation(&rung.name)) {
                let twin = (works.clone(), rung.name.clone());
                assert!(
                    twins.contains_key(&twin),
                    "{twin:?} is missing in bench/twins"
                );
            }
            let of_work = twins.iter().filter(|it| it.0.0 == works);
            for ((_, rung), when) in of_work.filter(|it| !has(&it.0.1)) {
                let name = work.name();
                assert!(
                    when.is_some(),
                    "{name} has no {rung}: its twin needs `when`"
                );
            }
        }
    }
}
