//! The opcodes that the emulator knows, by the decoder that takes them.

macro_rules! families {
    ($($Family:ident: $($opcode:literal)*;)*) => {
        /// Instructions that one decoder takes.
        #[derive(Clone, Copy)]
        pub(crate) enum Family {
            $($Family),*
        }

        impl Family {
            /// That of an opcode such as `add.s32`; `None` if no decoder takes it.
            pub(crate) fn of(opcode: &str) -> Option<Self> {
                match opcode.split('.').next()? {
                    $($($opcode)|* => Some(Self::$Family),)*
                    _ => None,
                }
            }
        }

        /// All supported opcodes, without modifiers.
        pub const OPCODES: &[&str] = &[$($($opcode),*),*];
    };
}

families! {
    Arithmetic: "add" "sub" "mul" "mad" "div" "min" "max" "neg" "abs";
    Fused: "fma";
    Integer: "mul24" "mad24" "sad" "rem" "addc" "subc" "madc" "dp4a" "dp2a";
    Function: "rcp" "sqrt" "rsqrt" "sin" "cos" "lg2" "ex2" "tanh" "copysign" "testp";
    Bits: "popc" "clz" "bfind" "brev" "bfe" "bfi" "and" "or" "xor" "not" "cnot" "lop3" "bmsk"
        "szext" "fns" "shl" "shr" "shf" "prmt";
    Compare: "set" "setp" "selp" "slct";
    Convert: "cvt" "cvta" "isspacep";
    Cluster: "mapa" "getctarank";
    Move: "mov";
    Load: "ld" "ldu";
    Store: "st";
    Hint: "prefetch" "prefetchu" "discard" "applypriority" "createpolicy" "griddepcontrol"
        "setmaxnreg";
    Video: "vadd2" "vadd4" "vsub2" "vsub4" "vabsdiff2" "vabsdiff4" "vmin2" "vmin4" "vmax2" "vmax4"
        "vavrg2" "vavrg4" "vset2" "vset4";
    ScalarVideo: "vadd" "vsub" "vabsdiff" "vmin" "vmax" "vshl" "vshr" "vset";
    Mbarrier: "mbarrier";
    Atomic: "atom";
    Reduce: "red";
    Fence: "membar" "fence";
    Copy: "cp";
    Control: "bra" "brx" "call" "ret" "exit" "trap" "brkpt" "nanosleep" "pmevent";
    Barrier: "bar" "barrier";
    Exchange: "shfl" "vote" "match" "redux" "activemask" "elect";
    Texture: "tex" "tld4";
    Query: "txq" "suq";
    IsType: "istypep";
    Surface: "suld" "sust" "sured";
    Stack: "alloca" "stacksave" "stackrestore";
    TensorMap: "tensormap";
    Wgmma: "wgmma";
    Matrix: "ldmatrix" "stmatrix" "movmatrix" "mma" "wmma";
}
