//! The instructions of LLVM IR.

/// Defines the enumeration and the table of its keywords.
macro_rules! opcodes {
    ($($opcode:ident $word:literal,)*) => {
        /// An instruction's opcode: all of LLVM's except exception handling and variable arguments,
        /// which kernels never use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Opcode {
            $($opcode,)*
            /// Not an instruction: `#dbg_value(…)` and similar, which describe values to a
            /// debugger.
            DebugRecord,
        }

        impl Opcode {
            /// The opcode for a keyword.
            pub(crate) fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$opcode),)*
                    _ => None,
                }
            }
        }
    };
}

opcodes! {
    Ret "ret", Br "br", Switch "switch", IndirectBr "indirectbr", Unreachable "unreachable",
    FNeg "fneg",
    Add "add", FAdd "fadd", Sub "sub", FSub "fsub", Mul "mul", FMul "fmul",
    UDiv "udiv", SDiv "sdiv", FDiv "fdiv", URem "urem", SRem "srem", FRem "frem",
    Shl "shl", LShr "lshr", AShr "ashr", And "and", Or "or", Xor "xor",
    ExtractElement "extractelement", InsertElement "insertelement", ShuffleVector "shufflevector",
    ExtractValue "extractvalue", InsertValue "insertvalue",
    Alloca "alloca", Load "load", Store "store", Fence "fence", CmpXchg "cmpxchg", AtomicRmw "atomicrmw",
    GetElementPtr "getelementptr",
    Trunc "trunc", ZExt "zext", SExt "sext", FPTrunc "fptrunc", FPExt "fpext", FPToUI "fptoui", FPToSI "fptosi",
    UIToFP "uitofp", SIToFP "sitofp", PtrToInt "ptrtoint", PtrToAddr "ptrtoaddr", IntToPtr "inttoptr",
    BitCast "bitcast", AddrSpaceCast "addrspacecast",
    ICmp "icmp", FCmp "fcmp", Phi "phi", Select "select", Freeze "freeze", Call "call",
}

impl Opcode {
    /// Whether it ends a block.
    pub(crate) fn is_terminator(self) -> bool {
        matches!(
            self,
            Self::Ret | Self::Br | Self::Switch | Self::IndirectBr | Self::Unreachable
        )
    }
}
