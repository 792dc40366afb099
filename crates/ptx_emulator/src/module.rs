use crate::decode::{self, Entry, Program};
use crate::error::ParseError;
use crate::parse;
use crate::sanitize;
use crate::signature;
use std::sync::Arc;

/// A parsed, checked and decoded PTX text; it can be loaded into any number of emulators.
#[derive(Clone)]
pub struct Module {
    entries: Arc<[Entry]>,
    target: String,
    version: (u32, u32),
    pub(crate) program: Arc<Program>,
}

impl Module {
    /// Parses a PTX text.
    ///
    /// # Errors
    /// The first error in the text: invalid PTX or a size limit, with its line. An unsupported form
    /// refuses only the kernels that reach it ([`Entry::unsupported`]), unless it is outside
    /// functions and variables.
    pub fn parse(ptx: &str) -> Result<Self, ParseError> {
        let tree = parse::parse(ptx)?;
        let (program, entries) = decode::decode(&tree)?;
        let target = tree.target.to_owned();
        Ok(Self {
            entries: entries.into(),
            target,
            version: tree.version,
            program: Arc::new(program),
        })
    }

    /// The kernels, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name() == name)
    }

    /// The kernel's Rust parameters as the text records them, each with its name, its type and the
    /// number of parameters that it is in PTX: `x`, `&[f32]`, 2. Empty without a record, and for
    /// one that does not have the kernel's number of parameters.
    pub fn rust_signature(&self, kernel: &Entry) -> Vec<(String, String, usize)> {
        let record = sanitize::record(&self.program, kernel);
        let signature = record.map_or(Vec::new(), |record| signature::of(&record));
        let count: usize = signature.iter().map(|(_, _, count)| count).sum();
        match count == kernel.params().len() {
            true => signature,
            false => Vec::new(),
        }
    }

    /// The text's `.target`, such as `sm_80`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The text's `.version`, major and minor.
    pub fn ptx_version(&self) -> (u32, u32) {
        self.version
    }
}
