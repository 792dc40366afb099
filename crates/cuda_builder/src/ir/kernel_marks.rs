//! Kernel properties that `#[kernel]` passes to the builder: launch bounds, and how strictly
//! barriers are checked.
//!
//! The macro writes a section, `cuda_std.kernel.max_threads=256.min_blocks=2`. It becomes function
//! attributes, which LLVM preserves. llc prints the launch bounds, and ptxas allocates registers
//! accordingly.

use std::collections::HashMap;

use super::module::{Head, Module, Token, unexpected};
use crate::error::CudaBuilderError;

/// Prefix of the section's name.
const SECTION: &str = "cuda_std.kernel";

/// Attribute for the treatment of divergent barriers: `error`, `allow`, or absent in an `unsafe`
/// kernel that does not set it.
pub(crate) const UNIFORM: &str = "cuda_std.uniform";

/// Turns sections and signature records into attributes.
pub(crate) fn read(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    let mut blocks = HashMap::new();
    for global in module.globals() {
        if let Some(kernel) = global.name().strip_suffix("__signature") {
            let record = global.tokens().find_map(|spanned| match spanned.token {
                Token::Text(record) => Some(record),
                _ => None,
            });
            let block = record.map_or(Ok(None), block);
            let block = block.map_err(|reason| unexpected(reason, global.text()))?;
            blocks.extend(block.map(|block| (kernel.to_owned(), block)));
        }
    }
    for function in module.functions_mut() {
        let head = &mut function.head;
        let mut attributes = marks(head)?;
        if attributes.is_some() {
            head.remove_section()?;
        }
        if let Some([x, y, z]) = blocks.get(head.name()) {
            let attributes = attributes.get_or_insert_default();
            // PTX allows only one of the two.
            attributes.retain(|(key, _)| *key != "nvvm.maxntid");
            attributes.push(("nvvm.reqntid", format!("{x},{y},{z}")));
        }
        let list = attributes.iter().flatten();
        let list: Vec<_> = list
            .map(|(key, value)| format!("\"{key}\"=\"{value}\""))
            .collect();
        if !list.is_empty() {
            head.add_attribute(&list.join(" "))?;
        }
    }
    Ok(())
}

/// The attributes given by a function's section; `None` without such a section.
fn marks(head: &Head<'_>) -> Result<Option<Vec<(&'static str, String)>>, CudaBuilderError> {
    let Some(marks) = head
        .section()
        .and_then(|section| section.strip_prefix(SECTION))
    else {
        return Ok(None);
    };
    let read = |mark: &str| {
        let (key, value) = mark.split_once('=')?;
        let attribute = match key {
            "max_threads" => value.parse::<u32>().ok().map(|_| "nvvm.maxntid"),
            "min_blocks" => value.parse::<u32>().ok().map(|_| "nvvm.minctasm"),
            "uniform" => matches!(value, "error" | "allow").then_some(UNIFORM),
            _ => None,
        };
        Some((attribute?, value.to_owned()))
    };
    let marks = marks.split('.').skip(1).map(|mark| {
        read(mark).ok_or_else(|| {
            let reason = "a mark of another `cuda_std` than this `cuda_builder` knows";
            unexpected(reason, head.text())
        })
    });
    marks.collect::<Result<_, _>>().map(Some)
}

/// The extents of the kernel's block, if its signature fixes all three: `[16, 16, 1]` for `block:
/// &mut Block<16,16,1>`.
fn block(record: &str) -> Result<Option<[u32; 3]>, &'static str> {
    let Some((_, rest)) = record.split_once(": &mut Block<") else {
        return Ok(None);
    };
    let extents: Option<Vec<u32>> = rest.split_once('>').and_then(|(extents, _)| {
        let extents = extents.split(',').map(|extent| extent.parse().ok());
        extents.collect()
    });
    let extents = extents.and_then(|extents| <[u32; 3]>::try_from(extents).ok());
    let block = extents.ok_or("a block whose extents are not three numbers")?;
    Ok(block.iter().all(|&extent| extent > 0).then_some(block))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::ir::module::Module;
    use crate::ir::testing::rewritten;

    fn kernel(section: &str, record: &str) -> String {
        format!(
            "@k__signature = constant [{0} x i8] c\"{record}\", align 1\n\
             @x = global i32 0, section \"cuda_std.kernel.max_threads=1\"\n\
             define ptx_kernel void @k(ptr %0) unnamed_addr #0{section} !dbg !5 {{\n  ret void\n}}\ndefine void @f() #0 {{\n  ret void\n}}\n",
            record.len()
        )
    }

    #[track_caller]
    fn check(section: &str, record: &str, attributes: &str) {
        let section = format!(" section \"{section}\"");
        let expected = kernel("", record).replace(
            "unnamed_addr #0 ",
            &format!("unnamed_addr {attributes} #0 "),
        );
        assert_eq!(rewritten(&kernel(&section, record), read), expected);
    }

    #[test]
    fn a_marked_kernel_gets_attributes_and_loses_its_section() {
        check(
            "cuda_std.kernel.max_threads=256.min_blocks=2",
            "x: u32",
            "\"nvvm.maxntid\"=\"256\" \"nvvm.minctasm\"=\"2\"",
        );
        check(
            "cuda_std.kernel.uniform=error",
            "block: &mut Block<16,0,1>",
            "\"cuda_std.uniform\"=\"error\"",
        );
    }

    #[test]
    fn a_block_of_constants_is_required_of_the_launch() {
        check(
            "cuda_std.kernel.max_threads=256.min_blocks=2.uniform=allow",
            "x: u32, block: &mut Block<16,16,1>, y: &[f32]",
            "\"nvvm.minctasm\"=\"2\" \"cuda_std.uniform\"=\"allow\" \"nvvm.reqntid\"=\"16,16,1\"",
        );
    }

    #[test]
    fn a_block_of_another_form_is_an_error() {
        for block in ["16,16", "16,N,1", "16,16,1"] {
            let ir = kernel("", &format!("block: &mut Block<{block}>"));
            let is_known = block == "16,16,1";
            assert_eq!(read(&mut Module::parse(&ir).unwrap()).is_ok(), is_known);
        }
    }

    #[test]
    fn a_mark_that_is_not_known_is_an_error() {
        for mark in [
            "newer=1",
            "uniform=perhaps",
            "max_threads=many",
            "max_threads",
        ] {
            let ir = kernel(&format!(" section \"cuda_std.kernel.{mark}\""), "x: u32");
            let error = read(&mut Module::parse(&ir).unwrap()).unwrap_err();
            assert!(error.to_string().contains(mark), "{error}");
        }
    }
}
