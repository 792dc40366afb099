//! A module's kernels and their parameters.

use super::op::Slot;
use super::program::Program;
use crate::error::ParseError;
use crate::parse::ParamDecl;
use crate::source::SourceLocation;
use std::fmt;

/// A kernel of a [`Module`](crate::Module).
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    pub(crate) function: u32,
    params: Vec<Param>,
    pub(crate) slots: Vec<Slot>,
    static_shared_bytes: u64,
    location: Option<SourceLocation>,
    unsupported: Option<ParseError>,
}

/// A kernel's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Its type as in the PTX: `u64`, or `b8[16]` for a struct.
    pub ty: String,
    /// Whether the PTX declares it as a pointer; not every compiler does.
    pub is_pointer: bool,
    /// Its size in bytes.
    pub size: u32,
    /// Its alignment in bytes.
    pub align: u32,
}

impl Entry {
    pub(super) fn new(
        program: &Program,
        function: u32,
        params: Vec<(Slot, Param)>,
        location: Option<SourceLocation>,
    ) -> Self {
        let static_shared_bytes = program.shared_layout(function).dynamic;
        let reached = program.reachable(function).into_iter();
        let unsupported = reached
            .filter_map(|function| program.functions[function as usize].refused.clone())
            .next();
        let (slots, params) = params.into_iter().unzip();
        Self {
            name: program.functions[function as usize].name.clone(),
            function,
            params,
            slots,
            static_shared_bytes,
            location,
            unsupported,
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The static shared memory of each block.
    pub fn static_shared_bytes(&self) -> u64 {
        self.static_shared_bytes
    }

    /// Why the kernel cannot be launched: the first unsupported form in the kernel or a function
    /// that it reaches.
    pub fn unsupported(&self) -> Option<&ParseError> {
        self.unsupported.as_ref()
    }

    /// Where the kernel starts in its source, if the PTX has a line table.
    pub fn location(&self) -> Option<SourceLocation> {
        self.location.clone()
    }
}

impl Param {
    pub(super) fn new(declared: &ParamDecl<'_>) -> Self {
        let mut ty = declared.element.trim_start_matches('.').to_owned();
        if let Some(count) = declared.count {
            ty += &format!("[{count}]");
        }
        Self {
            name: declared.name.to_owned(),
            ty,
            is_pointer: declared.is_pointer,
            size: declared.size,
            align: declared.align,
        }
    }

    /// Whether it may be a float; untyped bits, such as `b32`, may.
    pub fn is_float(&self) -> bool {
        self.ty.starts_with('f')
    }

    /// Whether it may be an integer; untyped bits, such as `b32`, may.
    pub fn is_integer(&self) -> bool {
        self.ty.starts_with(['u', 's'])
    }
}

/// Type and name: `u64 pointer input`.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.is_pointer { " pointer" } else { "" };
        write!(f, "{}{pointer} {}", self.ty, self.name)
    }
}
