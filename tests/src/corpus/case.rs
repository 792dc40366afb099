//! The kernel around a form: loads of the operands, the form, stores of its results.

use std::fmt::Write;

use super::values::{Source, Ty, size, tuples};
use super::{Program, Rule};

/// Threads of a program that asks for no other number.
const THREADS: u32 = 384;

/// A program in the making.
///
/// Its body finds the operands in `%a0`, `%a1`, … and leaves results in `%d0`, `%d1`, …, registers
/// as wide as their types. For itself it has `%r<16>`, `%l<16>` (64 bits), `%h<16>` (16) and
/// `%p<16>`, `%thread`, and `%in` and `%out`, the addresses of its own operands and results.
#[derive(Clone, Debug)]
pub(super) struct Case {
    name: String,
    body: String,
    results: Vec<Ty>,
    sources: Vec<Source>,
    globals: String,
    threads: u32,
    blocks: u32,
    target: &'static str,
    rule: Rule,
}

impl Case {
    /// One instruction: `form %d0, %a0, %a1, …;`
    pub(super) fn new(form: &str, result: Ty, sources: &[Source]) -> Self {
        let operands: String = (0..sources.len()).fold(String::new(), |mut text, index| {
            let _ = write!(text, ", %a{index}");
            text
        });
        let body = format!("{form} %d0{operands};");
        Self::with_body(form, &body, &[result], sources)
    }

    /// A body of its own.
    pub(super) fn with_body(name: &str, body: &str, results: &[Ty], sources: &[Source]) -> Self {
        let float64 = results.contains(&"f64");
        Self {
            name: name.to_owned(),
            body: body.to_owned(),
            results: results.to_vec(),
            sources: sources.to_vec(),
            globals: String::new(),
            threads: THREADS,
            blocks: 1,
            target: "sm_90",
            rule: if float64 { Rule::AnyNan64 } else { Rule::Bits },
        }
    }

    pub(super) fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    pub(super) fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// Two or more blocks that are one cluster and share the threads.
    pub(super) fn cluster(mut self, blocks: u32) -> Self {
        self.blocks = blocks;
        self
    }

    /// Another target than sm_90.
    pub(super) fn target(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    /// Text in front of the kernel: variables and functions.
    pub(super) fn globals(mut self, text: &str) -> Self {
        self.globals = text.to_owned();
        self
    }

    /// A name from the form's, for a kernel.
    pub(super) fn name(&self) -> String {
        self.name.replace("::", "_").replace(['.', ' ', '-'], "_")
    }

    pub(super) fn program(self, name: String) -> Program {
        let widest = |types: &mut dyn Iterator<Item = Ty>| types.map(size).max().unwrap_or(4);
        let in_slot = widest(&mut self.sources.iter().map(|source| source.ty));
        let slot = widest(&mut self.results.iter().copied());
        let seed = name.bytes().fold(1, |seed: u64, byte| {
            seed * 31 % 0xffff_fffb + u64::from(byte)
        });
        let tuples = tuples(&self.sources, self.threads as usize, seed);
        let values = tuples.iter().flatten();
        let input = values
            .flat_map(|value| value.to_le_bytes()[..in_slot].to_vec())
            .collect();
        let ptx = self.text(&name, in_slot, slot);
        Program {
            name,
            ptx,
            body: self.body,
            threads: self.threads,
            blocks: self.blocks,
            input,
            input_slot: in_slot,
            output: self.threads as usize * self.results.len() * slot,
            slot,
            rule: self.rule,
        }
    }

    fn text(&self, name: &str, in_slot: usize, slot: usize) -> String {
        let mut declarations = String::new();
        let mut loads = String::new();
        let mut stores = String::new();
        for (index, source) in self.sources.iter().enumerate() {
            let (class, bits) = (class(source.ty), 8 * size(source.ty));
            let at = index * in_slot;
            let _ = writeln!(declarations, "\t.reg .{class} %a{index};");
            let _ = match class {
                "pred" => writeln!(
                    loads,
                    "\tld.global.b32 %r0, [%in+{at}];\n\tsetp.ne.b32 %a{index}, %r0, 0;"
                ),
                _ => writeln!(loads, "\tld.global.b{bits} %a{index}, [%in+{at}];"),
            };
        }
        for (index, &ty) in self.results.iter().enumerate() {
            let (class, bits) = (class(ty), 8 * size(ty));
            let at = index * slot;
            let _ = writeln!(declarations, "\t.reg .{class} %d{index};");
            let _ = match class {
                "pred" => writeln!(
                    stores,
                    "\tselp.b32 %r0, 1, 0, %d{index};\n\tst.global.b32 [%out+{at}], %r0;"
                ),
                _ => writeln!(stores, "\tst.global.b{bits} [%out+{at}], %d{index};"),
            };
        }
        let (mut directive, mut thread) = (String::new(), "mov.u32 %thread, %tid.x;".to_owned());
        if self.blocks > 1 {
            directive = format!("\n.reqnctapercluster {}, 1, 1", self.blocks);
            let of_block = self.threads / self.blocks;
            thread +=
                &format!(" mov.u32 %r0, %ctaid.x; mad.lo.u32 %thread, %r0, {of_block}, %thread;");
        }
        let in_stride = self.sources.len() * in_slot;
        let out_stride = self.results.len() * slot;
        format!(
            ".version 8.6
.target {target}
.address_size 64
{globals}
.visible .entry {name}(.param .u64 input, .param .u64 output){directive}
{{
	.reg .b16 %h<16>;
	.reg .b32 %r<16>, %thread;
	.reg .b64 %l<16>, %in, %out;
	.reg .pred %p<16>;
{declarations}	ld.param.u64 %in, [input];
	ld.param.u64 %out, [output];
	{thread}
	mad.wide.u32 %in, %thread, {in_stride}, %in;
	mad.wide.u32 %out, %thread, {out_stride}, %out;
{loads}	{body}
{stores}	ret;
}}
",
            target = self.target,
            globals = self.globals,
            body = self.body,
        )
    }
}

/// The register that a type needs.
fn class(ty: Ty) -> &'static str {
    match (ty, size(ty)) {
        ("pred", _) => "pred",
        (_, 1 | 2) => "b16",
        (_, 8) => "b64",
        _ => "b32",
    }
}
