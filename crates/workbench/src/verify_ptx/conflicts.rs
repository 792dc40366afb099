//! FMAs of the products of f32 that read three registers of one bank, counted in machine code.
//!
//! `ptxas` chooses the registers, and a change far from a kernel's loop can change its choice:
//! stores written as a loop gave one of these kernels 36 conflicts. Neither the results nor what
//! `ptxas` reports show it.
//!
//! NVIDIA documents no rule. This one is Volta's (Jia and others, arXiv:1804.06826, section 3.5):
//! even and odd registers are two banks of 64 bits, and an FMA takes a second cycle if it reads three
//! registers of one. It does not read what the FMA before it read in the same slot and marked
//! `.reuse`. On later GPUs it was not measured alone. The counts in
//! kernels/src/matmul/pipelined.rs are older and by a wider rule.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cuda_tools::{Version, nvdisasm, ptxas};

use super::Tools;

/// The kernels, each with the most conflicts that it may have: those of the wheel's ptxas.
const RECORDED: [(&str, u32); 9] = [
    ("matmul_pipelined_f32", 0),
    ("matmul_sliced_flat_f32", 0),
    ("matmul_sliced_flatragged_f32", 0),
    ("matmul_sliced_small_f32", 0),
    ("matmul_sliced_smallragged_f32", 0),
    ("matmul_sliced_square_f32", 0),
    ("matmul_sliced_squareragged_f32", 0),
    ("matmul_sliced_tall_f32", 0),
    ("matmul_sliced_tallragged_f32", 0),
];

/// The file with their PTX, and the GPUs that they were tuned for.
const FILE: &str = "kernels.sm_80.ptx";
const ARCH: &str = "sm_90";

/// What one kernel has.
#[derive(Debug, Default, PartialEq)]
struct Count {
    kernel: String,
    fmas: u32,
    conflicts: u32,
}

/// Counts in the kernels of `folder`; returns a table, or why there is none.
///
/// # Errors
/// Kernels that have more conflicts than are recorded; tools that fail.
pub(super) fn check(tools: &Tools, folder: &Path) -> Result<String> {
    let file = folder.join(FILE);
    if !file.is_file() {
        return Ok(format!("register banks: not counted, there is no {FILE}"));
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let cubin = scratch.path().join("kernels.cubin");
    let kernels = RECORDED.map(|(kernel, _)| kernel);
    tools.ptxas.machine_code(&file, ARCH, &kernels, &cubin)?;
    let counts = count(&nvdisasm::disassemble(&tools.nvdisasm, &cubin)?);
    let table = table(&counts);
    let recorded = ptxas::WHEEL.version;
    if Version::parse(recorded) != Some(tools.ptxas.version) {
        return Ok(format!(
            "{table}\n  no limit applies: those recorded are for ptxas {recorded}"
        ));
    }
    compare(&counts, &RECORDED)?;
    Ok(table)
}

/// The FMAs of each kernel in `code`, as `nvdisasm` prints it, by name.
fn count(code: &str) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    // The registers that the instruction before has read and kept, by slot.
    let mut kept = [None; 3];
    for line in code.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".text.") {
            counts.push(Count {
                kernel: name.trim_end_matches(':').to_owned(),
                ..Count::default()
            });
        }
        let Some(instruction) = instruction(line) else {
            continue;
        };
        let before = std::mem::take(&mut kept);
        let (Some(sources), Some(count)) = (sources(instruction), counts.last_mut()) else {
            continue;
        };
        let registers = sources.map(register);
        let is_read =
            |slot: &usize| registers[*slot].is_some() && registers[*slot] != before[*slot];
        let odd = (0..3).filter(is_read).filter_map(|slot| registers[slot]);
        let odd: Vec<_> = odd.map(|register| register % 2).collect();
        count.fmas += 1;
        count.conflicts += u32::from(odd == [0; 3] || odd == [1; 3]);
        for (slot, source) in sources.into_iter().enumerate() {
            kept[slot] = registers[slot].filter(|_| source.ends_with(".reuse"));
        }
    }
    counts.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    counts
}

/// `FFMA R1, R2, R3, R4` of the line `/*0010*/ @!P0 FFMA R1, R2, R3, R4 ;`.
fn instruction(line: &str) -> Option<&str> {
    let (_, instruction) = line.strip_prefix("/*")?.split_once("*/")?;
    let instruction = instruction.trim_start();
    Some(match instruction.strip_prefix('@') {
        Some(predicated) => predicated.split_once(' ')?.1.trim_start(),
        None => instruction,
    })
}

/// The operands of an FMA behind its destination.
fn sources(instruction: &str) -> Option<[&str; 3]> {
    let (name, operands) = instruction.trim_end_matches([' ', ';']).split_once(' ')?;
    if name.split('.').next() != Some("FFMA") {
        return None;
    }
    let operands: Vec<_> = operands.split(',').skip(1).map(str::trim).collect();
    operands.try_into().ok()
}

/// The number of the register, if the operand is one: not of `RZ`, a constant or an immediate.
fn register(operand: &str) -> Option<u32> {
    let name = operand.trim_start_matches(['-', '|']).strip_prefix('R')?;
    let digits = name.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// # Errors
/// Kernels with more conflicts than `recorded`, or without FMAs: then the code was not understood.
fn compare(counts: &[Count], recorded: &[(&str, u32)]) -> Result<()> {
    let mut errors = Vec::new();
    for &(kernel, limit) in recorded {
        let count = counts.iter().find(|count| count.kernel == kernel);
        let Some(&Count {
            fmas, conflicts, ..
        }) = count.filter(|count| count.fmas > 0)
        else {
            errors.push(format!("{kernel}: nvdisasm shows no FMAs of it"));
            continue;
        };
        if conflicts > limit {
            errors.push(format!(
                "{kernel}: {conflicts} of {fmas} FMAs read three registers of one bank, at most \
                 {limit} did so far"
            ));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\nEach may take a second cycle ({ARCH}). Write what changed in the kernel differently: \
         order of loads, FMAs and stores, loops written out. Or time it on a GPU, with `cargo \
         xtask bench --filter matmul`, and if it is as fast as before, record the number in {}",
        errors.join("\n"),
        file!()
    )
}

/// A line for each kernel.
fn table(counts: &[Count]) -> String {
    let header = format!(
        "FMAs that read three registers of one bank ({FILE} on {ARCH})\n  {:30}{:>10}{:>10}",
        "kernel", "FMAs", "conflicts"
    );
    let row = |count: &Count| {
        let Count {
            kernel,
            fmas,
            conflicts,
        } = count;
        format!("\n  {kernel:30}{fmas:>10}{conflicts:>10}")
    };
    header + &counts.iter().map(row).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The FMAs and conflicts of a kernel with these instructions.
    fn counted(instructions: &[&str]) -> (u32, u32) {
        let lines = instructions
            .iter()
            .map(|instruction| format!("        /*0010*/                   {instruction} ;\n"));
        let code = format!(
            "\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n{}.L_x_0:\n",
            lines.collect::<String>()
        );
        let counts = count(&code);
        let [count] = counts.as_slice() else {
            panic!("{counts:?}")
        };
        assert_eq!(count.kernel, "k");
        (count.fmas, count.conflicts)
    }

    #[test]
    fn three_reads_of_one_bank_conflict() {
        assert_eq!(counted(&["FFMA R1, R2, R4, R6"]), (1, 1));
        assert_eq!(counted(&["@!P0 FFMA.FTZ R2, -R1, |R3|, R5"]), (1, 1));
        assert_eq!(counted(&["FFMA R0, R2, R4, R7"]), (1, 0));
        assert_eq!(counted(&["FFMA R0, R2, R5, R6"]), (1, 0));
        assert_eq!(counted(&["FFMA R0, R3, R4, R6"]), (1, 0));
        // Other instructions are not counted.
        assert_eq!(counted(&["FADD R0, R2, R4", "IMAD R0, R2, R4, R6"]), (0, 0));
    }

    #[test]
    fn what_is_no_register_is_not_read() {
        for operand in ["RZ", "c[0x0][0x160]", "UR4", "2"] {
            let instruction = format!("FFMA R0, R2, {operand}, R6");
            assert_eq!(counted(&[&instruction]), (1, 0), "{operand}");
        }
    }

    #[test]
    fn what_the_fma_before_kept_in_the_slot_is_not_read_again() {
        let second = "FFMA R1, R2, R4, R6";
        assert_eq!(counted(&["FFMA R0, R2.reuse, R5, R8", second]), (2, 0));
        assert_eq!(counted(&["FFMA R0, R5, R4.reuse, R8", second]), (2, 0));
        // Not kept, in another slot, another register, or further back.
        assert_eq!(counted(&["FFMA R0, R2, R5, R8", second]), (2, 1));
        assert_eq!(counted(&["FFMA R0, R5, R2.reuse, R8", second]), (2, 1));
        assert_eq!(counted(&["FFMA R0, R8.reuse, R5, R8", second]), (2, 1));
        let between = ["FFMA R0, R2.reuse, R5, R8", "LDS R9, [R10]", second];
        assert_eq!(counted(&between), (2, 1));
    }

    #[test]
    fn kernels_are_counted_apart_and_listed_by_name() {
        let code = ".text.b:\n/*0000*/ FFMA R0, R2, R4, R6 ;\n.text.a:\n/*0000*/ EXIT ;\n";
        assert_eq!(
            table(&count(code)),
            "FMAs that read three registers of one bank (kernels.sm_80.ptx on sm_90)\n\
             \x20 kernel                              FMAs conflicts\n\
             \x20 a                                      0         0\n\
             \x20 b                                      1         1"
        );
    }

    #[test]
    fn more_conflicts_than_recorded_are_an_error_that_says_what_to_do() {
        let count = |kernel: &str, conflicts| Count {
            kernel: kernel.to_owned(),
            fmas: 512,
            conflicts,
        };
        let counts = [count("a", 36), count("b", 2)];
        compare(&counts, &[("a", 36), ("b", 3)]).unwrap();
        let error = compare(&counts, &[("a", 35), ("b", 2), ("c", 0)]).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with(
                "a: 36 of 512 FMAs read three registers of one bank, at most 35 did so far\n\
                 c: nvdisasm shows no FMAs of it\n"
            ),
            "{error}"
        );
        assert!(
            error.contains("cargo xtask bench --filter matmul"),
            "{error}"
        );
        assert!(error.ends_with("conflicts.rs"), "{error}");
    }
}
