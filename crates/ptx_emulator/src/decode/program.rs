use super::class::Kind;
use super::op::{Cell, Inst, Row, Slot};
use super::special_registers::Special;
use crate::error::ParseError;
use crate::fault::{Place, Space};
use crate::positions::{Position, Positions};
use crate::source::SourceLocation;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of the guard gap on each side of an array in local memory.
pub(crate) const LOCAL_GAP: u32 = 64;

/// A module, ready to run.
pub(crate) struct Program {
    /// The instructions of all functions, one after the other.
    pub(crate) code: Vec<Inst>,
    /// For each instruction, its PTX line and source position.
    pub(crate) lines: Vec<(u32, Position)>,
    /// The kind of each instruction, for the profiler; `None` where it continues the preceding PTX
    /// instruction.
    pub(crate) kinds: Vec<Option<Kind>>,
    pub(crate) positions: Positions,
    pub(crate) functions: Vec<Function>,
    pub(crate) variables: Vec<Variable>,
    /// The variable through which the blocks of a grid wait for each other; zeroed before each
    /// launch.
    pub(crate) workspace: Option<u32>,
    /// The shared memory of a block that belongs to system software, which sets it up.
    pub(crate) reserved_shared: Option<u32>,
}

/// A function's code and the shape of its frames.
pub(crate) struct Function {
    pub(crate) name: String,
    /// The first instruction, if the function has a body.
    pub(crate) start: Option<u32>,
    /// One past the last instruction.
    pub(crate) end: u32,
    /// Number of rows in each file.
    pub(crate) rows: FileSizes,
    pub(crate) constants32: Vec<(Row, Value)>,
    pub(crate) constants64: Vec<(Row, Value)>,
    pub(crate) specials: Vec<(Row, Special)>,
    /// The rows that hold registers, cleared for each block.
    pub(crate) registers32: Vec<Row>,
    pub(crate) registers64: Vec<Row>,
    /// Names of the registers in the PTX text.
    pub(crate) names: Vec<(Cell, String)>,
    /// The 64-bit row with the start of the frame's local memory, if the function uses it.
    pub(crate) local_base: Option<Row>,
    pub(crate) local_bytes: u32,
    /// Its arrays in local memory, by name, with [`LOCAL_GAP`] unused bytes on each side.
    pub(crate) local_arrays: Vec<(String, Range<u32>)>,
    pub(crate) params: Vec<Slot>,
    pub(crate) returns: Vec<Slot>,
    /// Functions that it calls or takes the address of.
    pub(crate) callees: Vec<u32>,
    pub(crate) calls_pointers: bool,
    /// Variables it names.
    pub(crate) uses: Vec<u32>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    /// Extents of a cluster, in blocks.
    pub(crate) cluster: [u32; 3],
    /// Why there is no code: an unsupported form in it.
    pub(crate) refused: Option<ParseError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileSizes {
    pub(crate) w32: u32,
    pub(crate) w64: u32,
    pub(crate) predicates: u32,
}

/// Contents of a constant row; addresses are known at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Bits(u64),
    /// The address of a variable in its own space.
    Variable {
        index: u32,
        offset: i64,
    },
    /// A function's address.
    Function(u32),
    /// Bytes of the kernel's parameters.
    Param {
        offset: u32,
        size: u8,
        signed: bool,
    },
}

/// A module variable, or a function variable that every call shares.
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) align: u32,
    pub(crate) size: u64,
    /// An `.extern .shared` array: the launch's dynamic shared memory.
    pub(crate) dynamic: bool,
    pub(crate) is_extern: bool,
    /// A texture, surface or sampler reference: it has no memory, and its address is the handle
    /// that it is bound to.
    pub(crate) is_reference: bool,
    /// The initial bytes known so far; the rest of the variable is zero.
    pub(crate) bytes: Vec<u8>,
    /// Addresses to fill in when the module is loaded.
    pub(crate) addresses: Vec<AddressInit>,
}

/// An address inside an initial value.
pub(crate) struct AddressInit {
    pub(crate) at: u64,
    pub(crate) size: u8,
    pub(crate) target: Target,
    pub(crate) offset: i64,
    pub(crate) mask: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Variable(u32),
    Function(u32),
}

impl Function {
    /// The bytes of a thread's stack that a call takes: its arrays without the gaps around them,
    /// parameters and results, and at least the return address, aligned as on a GPU.
    pub(crate) fn stack_bytes(&self) -> u32 {
        let gaps = 2 * LOCAL_GAP * self.local_arrays.len() as u32;
        let bytes = self.local_bytes.saturating_sub(gaps);
        bytes.max(1).next_multiple_of(16)
    }

    /// Number of blocks in a cluster; within the device's limit.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }
}

impl Program {
    /// The PTX line of an instruction, and its source line.
    pub(crate) fn place(&self, pc: u32) -> Place {
        let (ptx_line, position) = self.line(pc);
        Place {
            ptx_line,
            source: self.positions.user(position),
        }
    }

    /// Every inlined frame at an instruction, innermost first.
    pub(crate) fn inlined(&self, pc: u32) -> Vec<SourceLocation> {
        self.positions.chain(self.line(pc).1)
    }

    fn line(&self, pc: u32) -> (u32, Position) {
        self.lines.get(pc as usize).copied().unwrap_or_default()
    }

    /// The functions that may run when `entry` does, in order.
    pub(crate) fn reachable(&self, entry: u32) -> Vec<u32> {
        let mut reached = BTreeSet::new();
        let mut pending = vec![entry];
        let mut pointers = false;
        while let Some(index) = pending.pop() {
            if !reached.insert(index) {
                continue;
            }
            let function = &self.functions[index as usize];
            pending.extend(&function.callees);
            if function.calls_pointers && !pointers {
                pointers = true;
                // Tables of functions are variables: any function that one names may be called.
                let targets = self
                    .variables
                    .iter()
                    .flat_map(|variable| &variable.addresses);
                pending.extend(targets.filter_map(|init| match init.target {
                    Target::Function(index) => Some(index),
                    Target::Variable(_) => None,
                }));
            }
        }
        reached.into_iter().collect()
    }

    /// Whether all blocks of a grid must be resident at the same time, because they may wait for
    /// each other.
    pub(crate) fn is_cooperative(&self, entry: u32) -> bool {
        self.workspace.is_some_and(|workspace| {
            let mut reached = self.reachable(entry).into_iter();
            reached.any(|index| self.functions[index as usize].uses.contains(&workspace))
        })
    }

    /// The bodies of the functions that may run when `entry` does.
    pub(crate) fn reachable_bodies(&self, entry: u32) -> impl Iterator<Item = Range<u32>> {
        let reached = self.reachable(entry).into_iter();
        let functions = reached.map(|index| &self.functions[index as usize]);
        functions.map(|function| function.start.unwrap_or(function.end)..function.end)
    }

    /// Their instructions.
    pub(crate) fn reachable_code(&self, entry: u32) -> impl Iterator<Item = (u32, &Inst)> {
        let bodies = self.reachable_bodies(entry);
        bodies.flat_map(|body| {
            let code = &self.code[body.start as usize..body.end as usize];
            body.zip(code)
        })
    }
}
