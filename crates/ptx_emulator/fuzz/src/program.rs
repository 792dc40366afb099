use arbitrary::Arbitrary;
use std::fmt::Write;

/// A kernel with the device function `f`: statements with random operands.
#[derive(Arbitrary, Debug)]
pub struct Program {
    shape: (u8, u8),
    kernel: Vec<Statement>,
    function: Vec<Statement>,
}

#[derive(Arbitrary, Debug)]
struct Statement {
    /// Which of [`FORMS`].
    form: u16,
    guard: u8,
    operands: [u16; 6],
}

/// Statements of a body, at most.
const LENGTH: usize = 64;
/// Labels of a body; they stand before every fourth statement.
const LABELS: usize = LENGTH / 4;

/// Instructions with placeholders: `r`, `q`, `h`, `p` are registers of 32, 64 and 16 bits and
/// predicates, `i` is an integer, `f` a float's bits, `l` a label, `m` an address, `s` an address
/// in shared memory.
const FORMS: &[&str] = &[
    "mov.b32 {r}, {i};",
    "mov.b64 {q}, {i};",
    "mov.u32 {r}, %tid.x;",
    "mov.u32 {r}, %laneid;",
    "mov.b64 {q}, {{r}, {r}};",
    "mov.b64 {{r}, {r}}, {q};",
    "add.s32 {r}, {r}, {r};",
    "sub.s32 {r}, {r}, {i};",
    "mul.lo.s32 {r}, {r}, {r};",
    "mul.hi.u32 {r}, {r}, {r};",
    "mul.wide.u32 {q}, {r}, {r};",
    "mad.lo.s32 {r}, {r}, {r}, {r};",
    "add.s64 {q}, {q}, {q};",
    "mul.lo.s64 {q}, {q}, {q};",
    "div.s32 {r}, {r}, {r};",
    "rem.u64 {q}, {q}, {q};",
    "min.s32 {r}, {r}, {r};",
    "max.u64 {q}, {q}, {q};",
    "shl.b32 {r}, {r}, {r};",
    "shr.s64 {q}, {q}, {r};",
    "shf.l.wrap.b32 {r}, {r}, {r}, {r};",
    "and.b32 {r}, {r}, {r};",
    "xor.b64 {q}, {q}, {q};",
    "not.b32 {r}, {r};",
    "bfe.s32 {r}, {r}, {r}, {r};",
    "bfi.b32 {r}, {r}, {r}, {r}, {r};",
    "prmt.b32 {r}, {r}, {r}, {r};",
    "popc.b64 {r}, {q};",
    "clz.b32 {r}, {r};",
    "brev.b64 {q}, {q};",
    "add.rn.f32 {r}, {r}, {r};",
    "mul.rz.f32 {r}, {r}, {r};",
    "fma.rn.f32 {r}, {r}, {r}, {r};",
    "div.rn.f32 {r}, {r}, {r};",
    "sqrt.rn.f64 {q}, {q};",
    "fma.rn.f64 {q}, {q}, {q}, {q};",
    "ex2.approx.f32 {r}, {r};",
    "rcp.approx.ftz.f32 {r}, {r};",
    "sin.approx.f32 {r}, {r};",
    "min.f32 {r}, {r}, {r};",
    "max.f64 {q}, {q}, {q};",
    "cvt.u64.u32 {q}, {r};",
    "cvt.rzi.s32.f32 {r}, {r};",
    "cvt.rn.f32.s64 {r}, {q};",
    "cvt.rn.f16.f32 {h}, {r};",
    "cvt.f32.f16 {r}, {h};",
    "cvt.sat.u8.s32 {r}, {r};",
    "fma.rn.f16 {h}, {h}, {h}, {h};",
    "setp.lt.s32 {p}, {r}, {r};",
    "setp.gtu.f32 {p}, {r}, {r};",
    "setp.ne.u64 {p}, {q}, {q};",
    "selp.b32 {r}, {r}, {r}, {p};",
    "and.pred {p}, {p}, {p};",
    "ld.global.u32 {r}, {m};",
    "ld.global.v4.u32 {{r}, {r}, {r}, {r}}, {m};",
    "ld.global.u8 {r}, {m};",
    "ld.u64 {q}, {m};",
    "ld.acquire.gpu.global.u32 {r}, {m};",
    "st.global.u32 {m}, {r};",
    "st.global.v2.u64 {m}, {{q}, {q}};",
    "st.release.gpu.global.u32 {m}, {r};",
    "st.volatile.global.u16 {m}, {h};",
    "ld.shared.u32 {r}, {s};",
    "ld.shared.v2.u32 {{r}, {r}}, {s};",
    "st.shared.u32 {s}, {r};",
    "st.shared.u8 {s}, {r};",
    "st.shared.u64 {s}, {q};",
    "ld.local.u32 {r}, [stack+{o}];",
    "st.local.u32 [stack+{o}], {r};",
    "atom.global.add.u32 {r}, {m}, {r};",
    "atom.shared.cas.b32 {r}, {s}, {r}, {r};",
    "atom.acquire.gpu.global.exch.b64 {q}, {m}, {q};",
    "red.global.add.f32 {m}, {r};",
    "fence.acq_rel.gpu;",
    "membar.cta;",
    "cp.async.ca.shared.global {s}, {m}, 4;",
    "cp.async.cg.shared.global {s}, {m}, 16, {r};",
    "cp.async.commit_group;",
    "cp.async.wait_group 1;",
    "cp.async.wait_all;",
    "bar.sync 0;",
    "bar.sync 1, 64;",
    "bar.arrive 1, 64;",
    "bar.red.popc.u32 {r}, 0, {p};",
    "bar.warp.sync {r};",
    "bar.warp.sync 0xffffffff;",
    "shfl.sync.bfly.b32 {r}|{p}, {r}, {r}, 31, 0xffffffff;",
    "shfl.sync.down.b32 {r}, {r}, {i}, {r}, {r};",
    "vote.sync.ballot.b32 {r}, {p}, 0xffffffff;",
    "match.any.sync.b32 {r}, {r}, 0xffffffff;",
    "redux.sync.add.s32 {r}, {r}, 0xffffffff;",
    "activemask.b32 {r};",
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{r}, {r}}, {s};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{r}, {r}, {r}, {r}}, {{r}, {r}, {r}, {r}}, {{r}, {r}}, {{r}, {r}, {r}, {r}};",
    "bra {l};",
    "bra.uni {l};",
    "brx.idx {r}, table;",
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], {r}; call.uni (b), f, (a); ld.param.b32 {r}, [b]; }",
    "ret;",
    "exit;",
    "trap;",
    "nanosleep.u32 {i};",
    "cvta.to.global.u64 {q}, {q};",
    "cvta.shared.u64 {q}, {q};",
    "mov.u64 {q}, %clock64;",
];

impl Program {
    /// The PTX.
    pub fn text(&self) -> String {
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[512];\n\
             .extern .shared .align 16 .b8 dynamic[];\n.func (.param .b32 r) f(.param .b32 a);\n",
        );
        body(
            &mut text,
            ".visible .entry k(.param .u64 buffer, .param .u32 n)",
            "ld.param.u64 %rd0, [buffer]; ld.param.u32 %r0, [n];",
            &self.kernel,
        );
        body(
            &mut text,
            ".func (.param .b32 r) f(.param .b32 a)",
            "ld.param.b32 %r0, [a];",
            &self.function,
        );
        text
    }

    /// Blocks.
    pub fn grid(&self) -> [u32; 3] {
        [1 + u32::from(self.shape.0 % 3), 1, 1]
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        1 + u32::from(self.shape.1 % 96)
    }
}

fn body(text: &mut String, head: &str, prologue: &str, statements: &[Statement]) {
    // Writing into a string cannot fail.
    let _ = write!(
        text,
        "{head} {{\n.reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n\
         .local .align 16 .b8 stack[64];\n{prologue}\n"
    );
    let targets: Vec<String> = (0..4).map(|label| format!("L{label}")).collect();
    let _ = writeln!(text, "table: .branchtargets {};", targets.join(", "));
    for (index, statement) in statements.iter().take(LENGTH).enumerate() {
        if index % 4 == 0 {
            let _ = writeln!(text, "L{}:", index / 4);
        }
        statement.write(text);
    }
    // Labels that did not come up stand at the end.
    for label in statements.len().min(LENGTH).div_ceil(4)..LABELS {
        let _ = writeln!(text, "L{label}:");
    }
    text.push_str("ret;\n}\n");
}

impl Statement {
    fn write(&self, text: &mut String) {
        let form = FORMS[usize::from(self.form) % FORMS.len()];
        if self.guard < 64 && form.ends_with(';') {
            let not = if self.guard & 1 == 0 { "" } else { "!" };
            let _ = write!(text, "@{not}%p{} ", self.guard >> 1 & 3);
        }
        let mut operands = self.operands.iter().cycle();
        let mut rest = form;
        while let Some(at) = rest.find('{') {
            text.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            // A placeholder is one letter in braces; other braces are PTX's own.
            let (Some(letter), Some(b'}')) = (after.chars().next(), after.as_bytes().get(1)) else {
                text.push('{');
                rest = after;
                continue;
            };
            rest = &after[2..];
            let operand = operands.next().copied().unwrap_or(0);
            let _ = match letter {
                'r' => write!(text, "%r{}", operand % 8),
                'q' => write!(text, "%rd{}", operand % 4),
                'h' => write!(text, "%h{}", operand % 4),
                'p' => write!(text, "%p{}", operand % 4),
                'l' => write!(text, "L{}", usize::from(operand) % LABELS),
                'o' => write!(text, "{}", operand % 80),
                'm' if operand % 2 == 0 => write!(text, "[%rd0+{}]", operand / 2 % 4200),
                'm' => write!(text, "[%rd{}+{}]", operand % 4, operand / 4),
                's' if operand % 2 == 0 => write!(text, "[tile+{}]", operand / 2 % 520),
                's' => write!(text, "[%rd{}]", operand % 4),
                _ => write!(text, "{}", i32::from(operand as i16)),
            };
        }
        text.push_str(rest);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arbitrary::Unstructured;
    use ptx_emulator::Module;

    fn statement(form: usize, operands: [u16; 6]) -> Statement {
        let (form, guard) = (form as u16, u8::MAX);
        Statement {
            form,
            guard,
            operands,
        }
    }

    fn parses(program: &Program) -> Result<Module, ptx_emulator::ParseError> {
        Module::parse(&program.text())
    }

    /// A target whose programs are mostly refused would find nothing.
    #[test]
    fn every_form_parses() {
        for (form, text) in FORMS.iter().enumerate() {
            let program = Program {
                shape: (0, 0),
                kernel: vec![statement(form, [0, 2, 4, 6, 1, 3])],
                function: Vec::new(),
            };
            if let Err(error) = parses(&program) {
                panic!("`{text}`: {error}");
            }
        }
    }

    #[test]
    fn most_programs_of_random_bytes_parse() {
        let mut state = 1_u64;
        let mut parsed = 0;
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..600)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let program = Program::arbitrary(&mut Unstructured::new(&bytes)).expect("enough bytes");
            parsed += usize::from(parses(&program).is_ok());
        }
        assert!(parsed > 100, "{parsed} of 200");
    }
}
