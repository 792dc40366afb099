//! What a GPU made of the corpus, in one file: a few lines of text that say which GPU and when,
//! then all outputs, compressed.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;

const TITLE: &str = "Outputs of the fidelity corpus, recorded by tests/examples/record_fidelity.rs";

/// How to make a new one.
pub const RENEW: &str =
    "renew it on a machine with a GPU by `cargo run -p blockwise_tests --example record_fidelity`";

/// The outputs of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Golden {
    /// Lines such as `driver: 580.159`.
    pub provenance: Vec<String>,
    /// For each program the hash that it had, and its output.
    outputs: HashMap<String, (u64, Vec<u8>)>,
}

impl Golden {
    /// The golden file of this repository with this name: `h200` or `objects`.
    pub fn path(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fidelity");
        folder.join(format!("{name}.golden"))
    }

    /// Nothing recorded yet.
    pub fn new(provenance: Vec<String>) -> Self {
        let outputs = HashMap::new();
        Self {
            provenance,
            outputs,
        }
    }

    /// Adds a program's output.
    pub fn record(&mut self, name: &str, hash: u64, output: Vec<u8>) {
        self.outputs.insert(name.to_owned(), (hash, output));
    }

    /// The number of programs in it.
    pub fn len(&self) -> usize {
        self.outputs.len()
    }

    /// The names of the programs in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.keys().map(String::as_str)
    }

    /// True when nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The recorded output of a program.
    ///
    /// # Errors
    /// A sentence on what to do when there is none, or the program is not the one that was
    /// recorded.
    pub fn output(&self, name: &str, hash: u64) -> Result<&[u8], String> {
        match self.outputs.get(name) {
            None => Err(format!(
                "the golden file has no output of `{name}`; {RENEW}"
            )),
            Some((recorded, _)) if *recorded != hash => Err(format!(
                "the golden file is older than the program or operands of `{name}`; {RENEW}"
            )),
            Some((_, output)) => Ok(output),
        }
    }

    /// Reads a golden file.
    ///
    /// # Errors
    /// When it cannot be read or is none.
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = std::fs::read(path)?;
        let invalid = |problem: &str| {
            let problem = format!("{} is no golden file: {problem}; {RENEW}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        let end = bytes.windows(2).position(|two| two == b"\n\n");
        let end = end.ok_or_else(|| invalid("no empty line"))?;
        let head = str::from_utf8(&bytes[..end]).map_err(|_| invalid("a head that is no text"))?;
        let mut lines = head.lines().map(str::to_owned);
        if lines.next().as_deref() != Some(TITLE) {
            return Err(invalid("another title"));
        }
        let mut golden = Self::new(lines.collect());
        let body = decompress_to_vec_zlib(&bytes[end + 2..]);
        let body = body.map_err(|error| invalid(&error.to_string()))?;
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let mut take = |length: usize| {
                let (part, after) = rest.split_at_checked(length)?;
                rest = after;
                Some(part)
            };
            let mut entry = || {
                let name_length = take(2)?.try_into().ok().map(u16::from_le_bytes)?;
                let name = String::from_utf8(take(name_length.into())?.to_vec()).ok()?;
                let hash = take(8)?.try_into().ok().map(u64::from_le_bytes)?;
                let length = take(4)?.try_into().ok().map(u32::from_le_bytes)?;
                Some((name, (hash, take(length as usize)?.to_vec())))
            };
            let (name, output) = entry().ok_or_else(|| invalid("it ends too early"))?;
            golden.outputs.insert(name, output);
        }
        Ok(golden)
    }

    /// Writes a golden file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut body = Vec::new();
        let mut names: Vec<_> = self.outputs.keys().collect();
        names.sort();
        for name in names {
            let (hash, output) = &self.outputs[name];
            body.extend(&(name.len() as u16).to_le_bytes());
            body.extend(name.as_bytes());
            body.extend(&hash.to_le_bytes());
            body.extend(&(output.len() as u32).to_le_bytes());
            body.extend(output);
        }
        let head = format!("{TITLE}\n{}\n\n", self.provenance.join("\n"));
        let mut bytes = head.into_bytes();
        bytes.extend(compress_to_vec_zlib(&body, 9));
        std::fs::write(path, bytes)
    }
}
