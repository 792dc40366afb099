use std::fmt;

macro_rules! classes {
    ($($(#[$doc:meta])* $Class:ident = $name:literal,)*) => {
        /// The class of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum InstructionClass {
            $($(#[$doc])* $Class),*
        }

        impl InstructionClass {
            /// Every class, in order.
            pub const ALL: &[Self] = &[$(Self::$Class),*];

            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Class => $name),*
                }
            }
        }
    };
}

classes! {
    /// Arithmetic of 32-bit floats.
    Single = "f32",
    /// Arithmetic of 64-bit floats.
    Double = "f64",
    /// Arithmetic of 16-bit floats.
    Half = "f16",
    /// Matrix instructions of a whole warp.
    Matrix = "matrix",
    /// Integer arithmetic, logic and shifts.
    Integer = "integer",
    /// Comparisons and selections.
    Compare = "compare",
    /// Conversions between types and address spaces.
    Convert = "convert",
    /// Moves between registers.
    Move = "move",
    /// Branches.
    Branch = "branch",
    /// Calls, returns and exits.
    Control = "control",
    /// Loads of kernel parameters and constants.
    Constant = "constant",
    /// Loads.
    Load = "load",
    /// Stores.
    Store = "store",
    /// Atomics and reductions in memory.
    Atomic = "atomic",
    /// Asynchronous copies and their waits.
    Copy = "copy",
    /// Memory fences.
    Fence = "fence",
    /// Barriers of a block or a warp.
    Barrier = "barrier",
    /// Shuffles, votes and similar.
    Exchange = "exchange",
}

impl fmt::Display for InstructionClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The unit that executes a floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 16-bit floats.
    Half,
    /// 32-bit floats.
    Single,
    /// 64-bit floats.
    Double,
    /// The matrix units, in tf32.
    Matrix,
}

impl Precision {
    /// Every precision, in order.
    pub const ALL: &[Self] = &[Self::Half, Self::Single, Self::Double, Self::Matrix];
}

/// Properties of an instruction for the profiler, derived from its opcode when it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) class: InstructionClass,
    /// Floating-point operations per lane. A fused multiply-add is two; moves and comparisons are
    /// none.
    pub(crate) flops: u16,
    pub(crate) precision: Precision,
}

impl Kind {
    /// The kind of an opcode such as `fma.rn.f32`.
    pub(crate) fn of(opcode: &str) -> Self {
        use InstructionClass as C;
        let mut parts = opcode.split('.');
        let base = parts.next().unwrap_or_default();
        let has = |modifier: &str| opcode.split('.').skip(1).any(|part| part == modifier);
        let float = parts.find_map(|part| match part {
            "f16" | "bf16" => Some((C::Half, Precision::Half, 1)),
            "f16x2" | "bf16x2" => Some((C::Half, Precision::Half, 2)),
            "f32" => Some((C::Single, Precision::Single, 1)),
            "f64" => Some((C::Double, Precision::Double, 1)),
            _ => None,
        });
        let (float_class, precision, width) = float.unwrap_or((C::Integer, Precision::Single, 0));
        let (class, flops) = match base {
            "fma" | "mad" => (float_class, 2 * width),
            "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2"
            | "ex2" | "tanh" => (float_class, width),
            "min" | "max" | "neg" | "abs" | "copysign" => (float_class, 0),
            "set" | "setp" | "selp" | "slct" | "testp" => (C::Compare, 0),
            "cvt" | "cvta" | "isspacep" | "istypep" => (C::Convert, 0),
            "mov" | "txq" | "suq" => (C::Move, 0),
            "ld" | "ldu" if has("param") || has("const") => (C::Constant, 0),
            "ld" | "ldu" | "ldmatrix" | "prefetch" | "prefetchu" | "discard" | "applypriority" => {
                (C::Load, 0)
            }
            "tex" | "tld4" | "suld" => (C::Load, 0),
            "sust" | "tensormap" => (C::Store, 0),
            "sured" => (C::Atomic, 0),
            "wmma" if has("load") => (C::Load, 0),
            "wmma" if has("store") => (C::Store, 0),
            "st" | "stmatrix" => (C::Store, 0),
            "atom" | "red" => (C::Atomic, if has("add") { width } else { 0 }),
            "cp" => (C::Copy, 0),
            "membar" | "fence" => (C::Fence, 0),
            "bra" | "brx" => (C::Branch, 0),
            "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "pmevent"
            | "griddepcontrol" | "setmaxnreg" => (C::Control, 0),
            "bar" | "barrier" | "mbarrier" => (C::Barrier, 0),
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "movmatrix" => {
                (C::Exchange, 0)
            }
            "mma" | "wmma" | "wgmma" => {
                let flops = opcode.split('.').find_map(matrix_flops).unwrap_or(0);
                // Four warps share the product.
                let flops = if base == "wgmma" { flops / 4 } else { flops };
                return Self {
                    class: C::Matrix,
                    flops,
                    precision: Precision::Matrix,
                };
            }
            _ => (C::Integer, 0),
        };
        Self {
            class,
            flops,
            precision,
        }
    }
}

/// Operations per lane of a shape such as `m16n8k8`: 32 lanes share m · n · k multiply-adds, of two
/// operations each.
fn matrix_flops(shape: &str) -> Option<u16> {
    let (m, rest) = shape.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let [m, n, k] = [m, n, k].map(|extent| extent.parse::<u32>().ok());
    u16::try_from(2 * m?.checked_mul(n?)?.checked_mul(k?)? / 32).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(opcode: &str, class: InstructionClass, flops: u16, precision: Precision) {
        assert_eq!(
            Kind::of(opcode),
            Kind {
                class,
                flops,
                precision
            },
            "{opcode}"
        );
    }

    #[test]
    fn opcodes() {
        use InstructionClass as C;
        check("fma.rn.f32", C::Single, 2, Precision::Single);
        check("mad.lo.s64", C::Integer, 0, Precision::Single);
        check("add.rn.f64", C::Double, 1, Precision::Double);
        check("fma.rn.f16x2", C::Half, 4, Precision::Half);
        check("max.f32", C::Single, 0, Precision::Single);
        check(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            C::Matrix,
            64,
            Precision::Matrix,
        );
        check("setp.lt.f64", C::Compare, 0, Precision::Double);
        check("cvt.rn.f32.u32", C::Convert, 0, Precision::Single);
        check("ld.param.b64", C::Constant, 0, Precision::Single);
        check("ld.global.nc.v4.b32", C::Load, 0, Precision::Single);
        check(
            "red.relaxed.gpu.global.add.f32",
            C::Atomic,
            1,
            Precision::Single,
        );
        check("atom.global.exch.b32", C::Atomic, 0, Precision::Single);
        check("cp.async.ca.shared.global", C::Copy, 0, Precision::Single);
        check("bar.sync", C::Barrier, 0, Precision::Single);
        check("bar.warp.sync", C::Barrier, 0, Precision::Single);
        check("bra.uni", C::Branch, 0, Precision::Single);
        check("shl.b32", C::Integer, 0, Precision::Single);
    }
}
