use super::builder::Builder;
use super::form::Form;
use super::{
    atomic, bits, cluster, compare, control, convert, copy, float, function, hint, integer, matrix,
    mbarrier, memory, mov, remote, scalar_video, stack, surface, tensor_map, texture,
    vector_atomic, video, warp, wgmma,
};
use crate::error::ParseError;

/// Decodes one instruction: the opcode selects the decoder for the rest.
pub(super) fn decode<'a>(b: &mut Builder<'a, '_>, form: Form<'_, 'a>) -> Result<(), ParseError> {
    match form.base {
        "add" | "min" | "max" if video::is_packed(&form) => video::packed(b, form),
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "min" | "max" | "neg" | "abs"
            if float::is_float(&form) =>
        {
            float::arithmetic(b, form)
        }
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign"
        | "testp" => function::decode(b, form),
        "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "sad" | "div" | "rem" | "abs"
        | "neg" | "min" | "max" | "addc" | "subc" | "madc" | "dp4a" | "dp2a" => {
            integer::arithmetic(b, form)
        }
        "popc" | "clz" | "bfind" | "brev" | "bfe" | "bfi" | "and" | "or" | "xor" | "not"
        | "cnot" | "lop3" | "bmsk" | "szext" | "fns" | "shl" | "shr" | "shf" | "prmt" => {
            bits::decode(b, form)
        }
        "set" | "setp" | "selp" | "slct" => compare::decode(b, form),
        "cvt" | "cvta" | "isspacep" => convert::decode(b, form),
        "mapa" | "getctarank" => cluster::decode(b, form),
        "mov" => mov::mov(b, form),
        "ld" | "ldu" => memory::load(b, form),
        "st" if remote::is_async(&form) => remote::store(b, form),
        "red" if remote::is_async(&form) => remote::reduce(b, form),
        "st" => memory::store(b, form),
        "prefetch" | "prefetchu" | "discard" | "applypriority" | "createpolicy"
        | "griddepcontrol" | "setmaxnreg" => hint::decode(b, form),
        "vadd2" | "vadd4" | "vsub2" | "vsub4" | "vabsdiff2" | "vabsdiff4" | "vmin2" | "vmin4"
        | "vmax2" | "vmax4" | "vavrg2" | "vavrg4" | "vset2" | "vset4" => video::decode(b, form),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => {
            scalar_video::decode(b, form)
        }
        "mbarrier" => mbarrier::decode(b, form),
        "atom" | "red" if vector_atomic::is_vector(&form) => vector_atomic::decode(b, form),
        "atom" | "red" => atomic::decode(b, form),
        "membar" | "fence" => atomic::fence(b, form),
        "cp" => copy::decode(b, form),
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "pmevent" => {
            control::decode(b, form)
        }
        "bar" | "barrier" => warp::barrier(b, form),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => warp::exchange(b, form),
        "tex" | "tld4" => texture::fetch(b, form),
        "txq" | "suq" => texture::query(b, form),
        "istypep" => texture::is_type(b, form),
        "suld" | "sust" | "sured" => surface::decode(b, form),
        "alloca" | "stacksave" | "stackrestore" => stack::decode(b, form),
        "tensormap" => tensor_map::decode(b, form),
        "wgmma" => wgmma::decode(b, form),
        "ldmatrix" | "stmatrix" | "movmatrix" | "mma" | "wmma" => matrix::decode(b, form),
        _ => Err(form.unsupported()),
    }
}

/// All supported opcodes, without modifiers, in alphabetical order.
pub const OPCODES: &[&str] = &[
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "bra",
    "brev",
    "brkpt",
    "brx",
    "call",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cp",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "exit",
    "fence",
    "fma",
    "fns",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "istypep",
    "ld",
    "ldmatrix",
    "ldu",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setmaxnreg",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sub",
    "subc",
    "suld",
    "suq",
    "sured",
    "sust",
    "szext",
    "tanh",
    "tensormap",
    "testp",
    "tex",
    "tld4",
    "trap",
    "txq",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wgmma",
    "wmma",
    "xor",
];

/// Whether [`decode`] does not know the opcode: then its operands may have an unknown syntax too.
pub(crate) fn is_other_opcode(opcode: &str) -> bool {
    let base = opcode.split('.').next().unwrap_or_default();
    OPCODES.binary_search(&base).is_err()
}
