use crate::decode::op::Slot;
use crate::decode::{self, EntryInfo, Program};
use crate::error::ParseError;
use crate::parse::{self, ParamDecl};
use crate::source::SourceLocation;
use std::fmt;
use std::sync::Arc;

/// A parsed, checked and decoded PTX text; it can be loaded into any number of emulators.
#[derive(Clone)]
pub struct Module {
    entries: Arc<[Entry]>,
    target: String,
    version: (u32, u32),
    pub(crate) program: Arc<Program>,
}

/// A kernel of a [`Module`].
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

impl Module {
    /// Parses a PTX text.
    ///
    /// # Errors
    /// The first error in the text: invalid PTX or a size limit, with its line. An unsupported form
    /// refuses only the kernels that reach it ([`Entry::unsupported`]), unless it is outside
    /// functions and variables.
    pub fn parse(ptx: &str) -> Result<Self, ParseError> {
        let tree = parse::parse(ptx)?;
        let (program, infos) = decode::decode(&tree)?;
        let entries = infos
            .into_iter()
            .map(|info| Entry::new(info, &program))
            .collect();
        let target = tree.target.to_owned();
        Ok(Self {
            entries,
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
        self.entries.iter().find(|entry| entry.name == name)
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

impl Entry {
    fn new(info: EntryInfo, program: &Program) -> Self {
        let static_shared_bytes = program.shared_layout(info.function).dynamic;
        let reached = program.reachable(info.function).into_iter();
        let unsupported = reached
            .filter_map(|function| program.functions[function as usize].refused.clone())
            .next();
        Self {
            name: program.functions[info.function as usize].name.clone(),
            function: info.function,
            slots: info.params.iter().map(|&(slot, _)| slot).collect(),
            params: info.params.into_iter().map(|(_, param)| param).collect(),
            static_shared_bytes,
            location: info.location,
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
    pub(crate) fn new(declared: &ParamDecl<'_>) -> Self {
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
