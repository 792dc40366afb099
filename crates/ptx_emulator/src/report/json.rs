use super::count;
use crate::decode::Entry;
use crate::module::Module;
use crate::sanitize::{CheckReport, Severity};
use serde::{Deserialize, Serialize};

/// Version of the JSON format. It increases when a field is removed or changes its meaning; fields
/// may be added without.
pub const JSON_VERSION: u32 = 1;

/// The JSON form of checks: [`json`] writes it, and it deserialises.
///
/// Fields are named as in the types. A [`Rule`](crate::Rule) is its [name](crate::Rule::name), a
/// severity `"error"`, `"warning"` or `"information"`, a space or access a word such as `"shared"`
/// or `"write"`. Addresses and values are strings such as `"0x2a"`, because they have 64 bits. A
/// block or thread is a list of three numbers: x, y, z.
///
/// ```json
/// {
///   "version": 1, "errors": 1, "warnings": 0, "information": 0,
///   "checks": [{
///     "kernel": "saxpy", "dropped": 0, "notices": [], "schedules": 1,
///     "statistics": { "blocks": 4, "warp_instructions": 320, "lane_instructions": 10240 },
///     "findings": [{
///       "rule": "memory-out-of-bounds", "severity": "error", "count": 1, "seed": null, "step": 812,
///       "message": "out of bounds: write of 4 bytes at 0x40 in shared memory",
///       "hint": null, "others": [],
///       "site": {
///         "what": "here",
///         "place": { "ptx_line": 40, "source": { "file": "src/lib.rs", "line": 7, "column": 9 } },
///         "inlined": [], "block": [0, 0, 0], "thread": [16, 0, 0], "epoch": 0,
///         "target": { "access": "write", "space": "shared", "address": "0x40", "size": 4, "value": null }
///       }
///     }]
///   }],
///   "left_out": [{ "kernel": "blur", "ptx_line": 90, "reason": "unsupported: `tex.2d.v4.f32.s32`; …" }]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`JSON_VERSION`] of the writer.
    pub version: u32,
    /// Findings that are errors.
    pub errors: usize,
    /// Findings that are warnings.
    pub warnings: usize,
    /// Informational findings.
    #[serde(default)]
    pub information: usize,
    /// The checks, in the order of the launches.
    pub checks: Vec<CheckReport>,
    /// Kernels of the module that cannot be checked.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// A kernel that cannot run because it uses an unsupported form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub kernel: String,
    /// The line of the unsupported form in the PTX text.
    pub ptx_line: u32,
    /// Why it is unsupported.
    pub reason: String,
}

impl LeftOut {
    /// The kernels of a module that cannot run.
    pub fn of(module: &Module) -> Vec<Self> {
        let left_out = |entry: &Entry| {
            let reason = entry.unsupported()?;
            Some(Self {
                kernel: entry.name().to_owned(),
                ptx_line: reason.line,
                reason: reason.to_string(),
            })
        };
        module.entries().filter_map(left_out).collect()
    }
}

impl Document {
    /// The document of these checks.
    pub fn new(checks: &[CheckReport], left_out: Vec<LeftOut>) -> Self {
        Self {
            version: JSON_VERSION,
            errors: count(checks, Severity::Error),
            warnings: count(checks, Severity::Warning),
            information: count(checks, Severity::Information),
            checks: checks.to_vec(),
            left_out,
        }
    }
}

/// The checks as one JSON document: see [`Document`].
pub fn json(checks: &[CheckReport], left_out: Vec<LeftOut>) -> String {
    let value = serde_json::json!(Document::new(checks, left_out));
    format!("{value:#}\n")
}
