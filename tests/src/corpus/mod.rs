//! Small PTX programs that cover every opcode form of the emulator, to be compared with a GPU bit
//! by bit.
//!
//! A program is one kernel around one form (a few where they belong together): each thread loads
//! its operands, executes, and stores what came out. Programs and operands are the same in every
//! build, so that a [golden file](golden) needs to hold only what a GPU answered.
//!
//! Sections of the PTX ISA are those of version 9.1.

mod atomic;
mod bits;
mod case;
mod cluster;
mod compare;
mod control;
mod convert;
mod float;
mod fp8;
mod function;
pub mod golden;
mod half;
mod integer;
mod matrix;
mod memory;
mod product;
pub mod rule;
pub mod run;
mod small;
mod values;
mod video;
mod warp;
mod wgmma;

use std::collections::HashMap;

use case::Case;
pub use rule::Rule;

/// One kernel with its operands.
#[derive(Clone, Debug)]
pub struct Program {
    /// The kernel's name, unique in the corpus: the opcode with underscores, and what makes it a
    /// case of its own.
    pub name: String,
    /// The instructions that it is about, in PTX.
    pub body: String,
    /// The PTX module.
    pub ptx: String,
    /// Threads of all blocks together.
    pub threads: u32,
    /// One block, or those of one cluster.
    pub blocks: u32,
    /// The operands, thread by thread.
    pub input: Vec<u8>,
    /// Bytes of one operand.
    pub input_slot: usize,
    /// Bytes of output.
    pub output: usize,
    /// Bytes of one result.
    pub slot: usize,
    /// When two outputs count as the same.
    pub rule: Rule,
}

impl Program {
    /// The opcodes of its body with all their modifiers.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        self.body.split([';', '{', '}', '\n']).filter_map(|text| {
            let text = text.trim();
            let text = match text.strip_prefix('@') {
                Some(guarded) => guarded.split_once(' ')?.1,
                None => text,
            };
            let opcode = text.split_whitespace().next()?;
            opcode
                .starts_with(|c: char| c.is_ascii_lowercase())
                .then_some(opcode)
        })
    }

    /// Changes when the program or its operands do.
    pub fn hash(&self) -> u64 {
        fnv1a(self.ptx.bytes().chain(self.input.iter().copied()))
    }
}

/// A hash that is the same on every machine and in every version of Rust.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The whole corpus.
pub fn programs() -> Vec<Program> {
    let families: [fn() -> Vec<Case>; 17] = [
        integer::cases,
        bits::cases,
        compare::cases,
        float::cases,
        function::cases,
        half::cases,
        convert::cases,
        memory::cases,
        atomic::cases,
        warp::cases,
        control::cases,
        matrix::cases,
        fp8::cases,
        cluster::cases,
        wgmma::cases,
        product::cases,
        video::cases,
    ];
    let mut seen = HashMap::new();
    families
        .iter()
        .flat_map(|cases| cases())
        .map(|case| {
            let base = case.name();
            let number = seen
                .entry(base.clone())
                .and_modify(|n| *n += 1)
                .or_insert(1);
            let name = if *number == 1 {
                base
            } else {
                format!("{base}_{number}")
            };
            case.program(name)
        })
        .collect()
}
