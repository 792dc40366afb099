//! What is said between the benchmark and a peer, a line of JSON each: a request, then its answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Work;

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Request {
    /// Which versions of what.
    Versions {},
    /// Make a work's inputs, in place of those that are there.
    Load(Asked),
    /// Time launches of one of the work's entries, each between two events of its own.
    Time {
        /// The entry's index.
        entry: usize,
        /// How many.
        launches: usize,
    },
    /// Compare the results of the entry's launches.
    Check {
        /// The entry's index.
        entry: usize,
    },
    /// Which kernels the entry's launch starts.
    Kernels {
        /// The entry's index.
        entry: usize,
    },
}

/// A work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// Its name.
    pub work: String,
    /// What the operation is called in tables: `conv-same`.
    pub operation: String,
    /// Its name in the list of operations: `conv`.
    pub of: String,
    pub r#type: String,
    /// The extents; with an axis, the array's shape.
    pub size: Vec<usize>,
    pub settings: [u8; 2],
    pub axis: Option<isize>,
    /// Elements between a multiple of 256 bytes and the beginning of every operand.
    pub offset: usize,
    pub bytes: u64,
    pub operations: u64,
    /// The kernels by name that another build is to time.
    pub rungs: Vec<String>,
    /// Whether only libraries are wanted, and an answer soon: no kernels of our own or of documents
    /// in another language, and some of the results compared.
    pub brief: bool,
}

impl Asked {
    pub(super) fn of(work: &Work, brief: bool) -> Self {
        let given = work.posing.given;
        Self {
            work: work.name(),
            operation: work.operation.to_owned(),
            of: work.of.name.to_owned(),
            r#type: work.ty.to_owned(),
            size: work.size.0.clone(),
            settings: given.settings,
            axis: given.axis,
            offset: work.posing.offset,
            bytes: work.bytes,
            operations: work.operations,
            rungs: work.rungs.iter().map(|rung| rung.name.clone()).collect(),
            brief,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    /// By name.
    Versions(BTreeMap<String, String>),
    /// What there is for a work; nothing for one that the peer does not know.
    Loaded(Vec<Entry>),
    /// Seconds of each launch.
    Timed(Vec<f64>),
    /// The outcome of a comparison.
    Checked {
        /// What was compared.
        check: String,
        /// Whether it was right.
        passed: bool,
    },
    /// Kernels by name, in the order of their launches.
    Kernels(Vec<String>),
    /// Why the request could not be carried out.
    Failed(String),
}

/// A way to do a work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Whose it is; another build leaves this empty.
    pub implementation: String,
    pub rung: String,
    pub policy: String,
}
