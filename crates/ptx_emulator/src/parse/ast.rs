use crate::error::ParseError;
use crate::fault::Space;

/// A whole PTX text.
#[derive(Default)]
pub(crate) struct Tree<'a> {
    pub(crate) version: (u32, u32),
    pub(crate) target: &'a str,
    pub(crate) files: Vec<(u32, &'a str)>,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// Aliases of functions, with their lines.
    pub(crate) aliases: Vec<(&'a str, &'a str, u32)>,
    /// Names of variables with an unsupported declaration, and the reason.
    pub(crate) refused: Vec<(&'a str, ParseError)>,
}

/// A variable in any state space; `count` is `None` for an unsized array.
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: Space,
    pub(crate) align: u32,
    pub(crate) element: u32,
    pub(crate) count: Option<u64>,
    pub(crate) initial: Vec<(u64, Initial<'a>)>,
    pub(crate) is_extern: bool,
    /// `.texref`, `.surfref` or `.samplerref`
    pub(crate) is_reference: bool,
    pub(crate) line: u32,
}

impl Variable<'_> {
    pub(crate) fn size(&self) -> u64 {
        self.count
            .unwrap_or(0)
            .saturating_mul(u64::from(self.element))
    }
}

/// One element of an initial value.
pub(crate) enum Initial<'a> {
    Bits(u64),
    Single(u32),
    /// `0d…` or a decimal, which may also initialise a 32-bit value.
    Double(f64),
    /// The address of a variable or function plus an offset; with `mask`, one byte of it.
    Address {
        symbol: &'a str,
        offset: i64,
        generic: bool,
        mask: Option<u64>,
    },
}

/// A parameter or return value of a function.
#[derive(Clone)]
pub(crate) struct ParamDecl<'a> {
    pub(crate) name: &'a str,
    /// The type of its elements: `.u64`.
    pub(crate) element: &'a str,
    /// The array's length.
    pub(crate) count: Option<u64>,
    /// Whether it is declared as a pointer.
    pub(crate) is_pointer: bool,
    pub(crate) size: u32,
    pub(crate) align: u32,
}

pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_entry: bool,
    pub(crate) returns: Vec<ParamDecl<'a>>,
    pub(crate) params: Vec<ParamDecl<'a>>,
    /// `.maxntid` and `.reqntid`, with omitted extents as 1.
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) body: Option<Vec<Statement<'a>>>,
    /// The first unsupported form; the header may then be unknown too.
    pub(crate) refused: Option<ParseError>,
    pub(crate) line: u32,
}

pub(crate) struct Statement<'a> {
    pub(crate) line: u32,
    pub(crate) kind: StatementKind<'a>,
}

pub(crate) enum StatementKind<'a> {
    Open,
    Close,
    Label(&'a str),
    /// Register names; `%r<4>` is the name `%r` with a count.
    Registers {
        ty: &'a str,
        names: Vec<(&'a str, Option<u32>)>,
    },
    Variable(Variable<'a>),
    Location(Loc<'a>),
    BranchTargets {
        name: &'a str,
        labels: Vec<&'a str>,
    },
    /// `.calltargets`: functions of one signature.
    CallTargets {
        name: &'a str,
        functions: Vec<&'a str>,
    },
    Prototype {
        name: &'a str,
        returns: Vec<ParamDecl<'a>>,
        params: Vec<ParamDecl<'a>>,
    },
    Instruction(Instruction<'a>),
}

/// `.loc`: file, line and column of the instructions that follow.
#[derive(Clone, Copy)]
pub(crate) struct Loc<'a> {
    pub(crate) at: [u32; 3],
    /// The call site that the function's body was inlined at.
    pub(crate) inlined_at: Option<[u32; 3]>,
    /// The rest of the line.
    pub(crate) comment: &'a str,
}

pub(crate) struct Instruction<'a> {
    /// The guard predicate, and whether it is negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    /// The opcode with its modifiers.
    pub(crate) opcode: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, variable, function or label.
    Name(&'a str),
    /// `symbol+4`
    Offset(&'a str, i64),
    /// `!%p1`
    Not(&'a str),
    /// `%p1|%p2`; `_` for an unused part.
    Pair(&'a str, &'a str),
    Int(u64),
    F32(u32),
    F64(u64),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `[base+offset]`
    Address(Base<'a>, i64),
    /// `[base+offset, {x, y}]`: a texture, surface or tensor with coordinates.
    Indexed(Base<'a>, i64, Vec<Operand<'a>>),
    /// `{a, b}|%p`
    Tagged(Vec<Operand<'a>>, &'a str),
    /// `(a, b)` in a call.
    Group(Vec<Operand<'a>>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Absolute(u64),
}
