use serde::{Deserialize, Serialize};
use std::fmt;

/// A state space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    /// An address in no state space.
    Generic,
    /// Device memory.
    Global,
    /// A block's shared memory.
    Shared,
    /// A thread's own memory.
    Local,
    /// Constant memory.
    Const,
    /// A kernel's parameters.
    Param,
}

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Reads and writes atomically.
    Atomic,
}

/// The allocation that is closest to a bad address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its first byte.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Where the bad access starts, in bytes from `base`; negative if it starts before `base`.
    pub offset: i128,
    /// True if the allocation has been freed.
    pub freed: bool,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            base,
            size,
            offset,
            freed,
        } = *self;
        let what = if freed {
            "a freed allocation"
        } else {
            "the nearest allocation"
        };
        if offset < 0 {
            write!(f, "{} bytes before {what}", -offset)?;
        } else if offset >= i128::from(size) {
            write!(
                f,
                "{} bytes after the end of {what}",
                offset - i128::from(size)
            )?;
        } else {
            write!(f, "at byte {offset} of {what}")?;
        }
        write!(f, " of {size} bytes at {base:#x}")
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Generic => "no",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic access",
        })
    }
}
