//! What a kernel takes, in words and as arguments to start from.

use crate::Problem;
use crate::number::named;
use ptx_emulator::{Entry, Module, Param};

/// Says what a kernel takes if no argument was given, with a command to start from.
pub fn missing(module: &Module, kernel: &Entry, command: &str) -> Problem {
    Problem::new(format!(
        "kernel `{}` takes {}, and there is no --arg",
        kernel.name(),
        described(module, kernel)
    ))
    .hint(format!(
        "for example: {command}{}",
        arguments(module, kernel)
    ))
}

/// How arguments for the kernel could look, after some of another number.
pub(crate) fn counts(module: &Module, kernel: &Entry) -> String {
    match module.rust_signature(kernel).is_empty() {
        true => "a `slice:` gives two, its address and its length".to_owned(),
        false => format!("for example:{}", arguments(module, kernel)),
    }
}

/// The parameters of a kernel in words: those of its Rust source, if the PTX has a record of them.
pub(crate) fn described(module: &Module, kernel: &Entry) -> String {
    let rust = module.rust_signature(kernel).into_iter();
    let rust = rust.filter(|(_, ty, _)| !is_block(ty));
    let mut params: Vec<_> = rust
        .map(|(name, ty, count)| match count {
            1 => format!("{name}: {ty}"),
            _ => format!("{name}: {ty} as {count}"),
        })
        .collect();
    let count = kernel.params().len();
    if params.is_empty() {
        params = kernel.params().iter().map(ToString::to_string).collect();
    }
    match count {
        0 => "no parameters".to_owned(),
        1 => format!("1 parameter ({})", params[0]),
        _ => format!("{count} parameters ({})", params.join(", ")),
    }
}

fn is_block(ty: &str) -> bool {
    ty.starts_with("&mut Block<")
}

/// Options for a launch.
fn arguments(module: &Module, kernel: &Entry) -> String {
    let rust = module.rust_signature(kernel);
    let mut params = kernel.params().iter();
    if rust.is_empty() {
        let arguments = params.map(|param| format!(" --arg {}", of_ptx(param)));
        return format!(" --grid 4 --block 256{}", arguments.collect::<String>());
    }
    let (mut shared, mut arguments) = (0, String::new());
    for (_, ty, count) in &rust {
        let params: Vec<_> = params.by_ref().take(*count).collect();
        if let Some(array) = ty.strip_prefix("Shared<[") {
            if *count == 1 {
                shared += LEN * named(array.trim_end_matches("]>")).map_or(4, |ty| ty.bytes());
                arguments += &format!(" --arg u64:{LEN}");
            }
        } else if let Some(param) = params.first() {
            arguments += &of_rust(ty, param);
        }
    }
    let is_matrix = |(_, ty, _): &&(String, String, usize)| ty.contains("Matrix<");
    let grid = match rust.iter().find(is_matrix) {
        Some(_) => "2,2",
        None => "4",
    };
    let shared = match shared {
        0 => String::new(),
        bytes => format!(" --shared {bytes}"),
    };
    format!(" --grid {grid} --block {}{shared}{arguments}", block(&rust))
}

/// Elements of an example's buffers.
const LEN: usize = 1024;

/// The block of the kernel's type; 0 is any extent there.
fn block(rust: &[(String, String, usize)]) -> String {
    let extents = rust.iter().find_map(|(_, ty, _)| {
        let extents = ty.strip_prefix("&mut Block<")?.strip_suffix('>')?;
        let extents: Vec<&str> = extents.split(',').map(str::trim).collect();
        <[&str; 3]>::try_from(extents).ok()
    });
    match extents {
        None | Some(["0", "1", "1"]) => "256".to_owned(),
        Some([x, "1", "1"]) => x.to_owned(),
        Some(extents) => {
            let known = extents.map(|extent| if extent == "0" { "8" } else { extent });
            known.join(",").trim_end_matches(",1").to_owned()
        }
    }
}

/// An argument for a parameter of this Rust type, of whose parameters in PTX `first` is the first.
fn of_rust(ty: &str, first: &Param) -> String {
    let (outer, inner) = match ty.split_once(['[', '<']) {
        Some((outer, inner)) => (outer, inner.trim_end_matches([']', '>'])),
        None => (ty.trim_end_matches(|c: char| c.is_alphanumeric()), ""),
    };
    let element = match inner.is_empty() {
        true => ty.strip_prefix(outer).unwrap_or(ty),
        false => inner,
    };
    let element = match element {
        "usize" => "u64",
        "isize" => "i64",
        "bool" => "u8",
        element if named(element).is_ok() => element,
        "str" => "u8",
        _ => "f32",
    };
    match outer {
        "Matrix" => format!(" --arg matrix:{element}[64,64]=random:1"),
        "OutMatrix" => format!(" --arg matrix:{element}[64,64]"),
        "Out" | "&mut " | "*mut " if !inner.is_empty() => {
            format!(" --arg slice:{element}[{LEN}]")
        }
        "Atomics" => format!(" --arg slice:{element}[{LEN}]=zeros"),
        "Append" => format!(" --arg slice:{element}[{LEN}] --arg u64[1]=zeros"),
        "Scatter" => format!(" --arg slice:{element}[{LEN}] --arg u32[{LEN}]=iota"),
        "&" | "*const " if ty == "&str" || !inner.is_empty() => {
            format!(" --arg slice:{element}[{LEN}]=random:1")
        }
        "*mut " => format!(" --arg {element}[{LEN}]"),
        "*const " => format!(" --arg {element}[{LEN}]=random:1"),
        _ => format!(" --arg {}", of_ptx(first)),
    }
}

/// An argument for a parameter of the PTX.
fn of_ptx(param: &Param) -> String {
    if param.is_pointer {
        format!("f32[{LEN}]=random:1")
    } else if param.ty.contains('[') {
        format!("bytes:{}", "00".repeat(param.size as usize))
    } else if param.is_float() {
        format!("{}:1.5", param.ty)
    } else {
        format!("u{}:1024", 8 * param.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with these parameters in PTX and this record.
    fn module(params: &[&str], record: &str) -> Module {
        let params = params.iter().enumerate();
        let params: Vec<_> = params
            .map(|(at, ty)| format!(".param .{ty} k_param_{at}"))
            .collect();
        let bytes: Vec<_> = record.bytes().map(|byte| byte.to_string()).collect();
        let record = match bytes.len() {
            0 => String::new(),
            len => format!(
                ".visible .global .align 1 .b8 k__signature[{len}] = {{{}}};",
                bytes.join(", ")
            ),
        };
        Module::parse(&format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{record}\n\
             .visible .entry k({}) {{ ret; }}",
            params.join(", ")
        ))
        .expect("it is PTX")
    }

    #[track_caller]
    fn check(params: &[&str], record: &str, takes: &str, example: &str) {
        let module = module(params, record);
        let kernel = module.entry("k").expect("it has it");
        assert_eq!(described(&module, kernel), takes);
        assert_eq!(arguments(&module, kernel), example);
    }

    const POINTER: &str = "u64 .ptr .align 1";

    #[test]
    fn a_rust_kernel_is_shown_by_its_rust_parameters() {
        check(
            &[POINTER, "u64", "u64", POINTER, "u64", "u64", "f32"],
            "block: &mut Block<16,16,1>, x: Matrix<f32>, y: OutMatrix<f64>, a: f32\nkernel safe 0",
            "7 parameters (x: Matrix<f32> as 3, y: OutMatrix<f64> as 3, a: f32)",
            " --grid 2,2 --block 16,16 --arg matrix:f32[64,64]=random:1 --arg matrix:f64[64,64] --arg f32:1.5",
        );
        check(
            &["u64", POINTER, "u64", POINTER, "u64"],
            "block: &mut Block<0,1,1>, bins: Shared<[u16]>, x: &[u8], counts: Atomics<u32>",
            "5 parameters (bins: Shared<[u16]>, x: &[u8] as 2, counts: Atomics<u32> as 2)",
            " --grid 4 --block 256 --shared 2048 --arg u64:1024 --arg slice:u8[1024]=random:1 --arg slice:u32[1024]=zeros",
        );
        check(
            &[POINTER, "u64", POINTER, POINTER, "u64", POINTER],
            "block: &mut Block<128,1,1>, kept: Append<Pair>, sorted: Scatter<i64>",
            "6 parameters (kept: Append<Pair> as 3, sorted: Scatter<i64> as 3)",
            " --grid 4 --block 128 --arg slice:f32[1024] --arg u64[1]=zeros --arg slice:i64[1024] --arg u32[1024]=iota",
        );
        check(
            &[POINTER, "u64", POINTER, "u64"],
            "x: &[usize], y: *mut f64, n: usize",
            "4 parameters (x: &[usize] as 2, y: *mut f64, n: usize)",
            " --grid 4 --block 256 --arg slice:u64[1024]=random:1 --arg f64[1024] --arg u64:1024",
        );
    }

    #[test]
    fn text_and_pointers_have_their_elements() {
        check(
            &[POINTER, "u64", POINTER],
            "text: &str, x: *const u32",
            "3 parameters (text: &str as 2, x: *const u32)",
            " --grid 4 --block 256 --arg slice:u8[1024]=random:1 --arg u32[1024]=random:1",
        );
    }

    #[test]
    fn other_kernels_are_shown_by_the_parameters_of_the_ptx() {
        let takes = "2 parameters (u64 pointer k_param_0, f32 k_param_1)";
        let example = " --grid 4 --block 256 --arg f32[1024]=random:1 --arg f32:1.5";
        check(&[POINTER, "f32"], "", takes, example);
        // A record of another number of parameters is not believed.
        check(&[POINTER, "f32"], "x: &[f32], a: f32", takes, example);
    }
}
