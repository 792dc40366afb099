//! Rewrites variables whose integer type PTX lacks.
//!
//! LLVM's optimiser splits a variable into the parts that a program uses, so a part of three bytes
//! may become an `i24`. LLVM 22 prints that as `.u24`, which PTX does not have. As a byte array the
//! variable has the same size and address, and accesses have their own types.

use super::module::{Global, Item, Module, unexpected};
use crate::error::CudaBuilderError;

/// Turns such variables into byte arrays.
pub(crate) fn lower(module: &mut Module<'_>) -> Result<(), CudaBuilderError> {
    for item in &mut module.items {
        if let Item::Global(global) = item
            && let Some(bytes) = bytes(global)
        {
            let definition = definition(global, bytes)?;
            global.replace(&definition)?;
        }
    }
    Ok(())
}

/// The size of a variable, if PTX has no integer type of its width.
fn bytes(global: &Global<'_>) -> Option<usize> {
    let variable = matches!(global.keyword(), "global" | "constant");
    let bits: usize = global.ty().strip_prefix('i')?.parse().ok()?;
    // A single bit is printed as a byte, and more than 64 bits already as bytes.
    let odd = (2..=64).contains(&bits) && !matches!(bits, 8 | 16 | 32 | 64);
    (variable && odd).then(|| bits.div_ceil(8).next_power_of_two())
}

fn definition(global: &Global<'_>, bytes: usize) -> Result<String, CudaBuilderError> {
    let value = match global.initialiser() {
        // External variables have no initialiser.
        "" => String::new(),
        value @ ("undef" | "poison") => format!(" {value}"),
        number => {
            let number: i64 = number
                .parse()
                .map_err(|_| unexpected("a value of an integer variable", global.text()))?;
            let literal = |byte: &u8| format!("\\{byte:02X}");
            let bytes: String = number.to_le_bytes()[..bytes].iter().map(literal).collect();
            format!(" c\"{bytes}\"")
        }
    };
    let mut definition = format!(
        "{} = {} {} [{bytes} x i8]{value}",
        global.symbol(),
        global.linkage(),
        global.keyword(),
    );
    for property in global.properties() {
        definition += ", ";
        definition += property;
    }
    if global.alignment().is_none() {
        definition += &format!(", align {bytes}");
    }
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use super::super::testing::rewritten;
    use super::*;

    #[test]
    fn a_variable_of_an_odd_width_becomes_bytes() {
        for (before, after) in [
            (
                "@a = internal unnamed_addr addrspace(3) global i24 undef, align 16\n",
                "@a = internal unnamed_addr addrspace(3) global [4 x i8] undef, align 16\n",
            ),
            (
                "@b = internal addrspace(1) constant i40 -2\n",
                "@b = internal addrspace(1) constant [8 x i8] c\"\\FE\\FF\\FF\\FF\\FF\\FF\\FF\\FF\", align 8\n",
            ),
        ] {
            assert_eq!(rewritten(before, lower), after);
        }
    }

    #[test]
    fn a_type_that_ptx_has_stays() {
        for ty in [
            "i1", "i8", "i16", "i32", "i64", "i128", "[3 x i8]", "{ i24 }",
        ] {
            let module = format!("@a = internal addrspace(3) global {ty} undef, align 4\n");
            assert_eq!(rewritten(&module, lower), module);
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_an_error() {
        let mut module =
            Module::parse("@a = internal global i24 ptrtoint (ptr @b to i24)\n").unwrap();
        let error = lower(&mut module).unwrap_err().to_string();
        assert!(error.contains("ptrtoint (ptr @b to i24)"), "{error}");
    }
}
