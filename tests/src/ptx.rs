//! Reads what tests ask about PTX text. It knows the lines that LLVM prints, not the language: the
//! emulator parses that.

mod files;

use std::collections::HashMap;

pub use files::{FOLDER_VARIABLE, file, files, good, load};

/// One kernel of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// The types of its parameters, such as `u64`.
    pub params: Vec<String>,
    /// Its instructions without guards, comments and line positions: opcode first.
    pub instructions: Vec<String>,
    /// The bytes of the static shared arrays that it uses.
    pub static_shared_bytes: u64,
}

impl Entry {
    /// How many instructions have an opcode that begins like this.
    pub fn count(&self, opcode: &str) -> usize {
        self.instructions
            .iter()
            .filter(|line| line.starts_with(opcode))
            .count()
    }

    /// The text of its instructions contains this.
    pub fn mentions(&self, text: &str) -> bool {
        self.instructions.iter().any(|line| line.contains(text))
    }
}

/// The kernels of a PTX text, in its order.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut shared: HashMap<&str, u64> = HashMap::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if let Some((name, bytes)) = shared_array(line) {
            shared.insert(name, bytes);
        } else if let Some(name) = line.strip_prefix(".visible .entry ") {
            let name = name.trim_end_matches(['(', ')']).to_owned();
            entries.push(Entry {
                name,
                params: vec![],
                instructions: vec![],
                static_shared_bytes: 0,
            });
            inside = true;
        } else if line.starts_with(".func") || line.starts_with(".visible .func") {
            inside = false;
        } else if let Some(entry) = entries.last_mut().filter(|_| inside) {
            // Those of a call end in a semicolon.
            let parameter = line.strip_prefix(".param .");
            if let Some(ty) = parameter.filter(|_| !line.ends_with(';')) {
                entry
                    .params
                    .push(ty.split(' ').next().unwrap_or_default().to_owned());
            } else if let Some(instruction) = instruction(line) {
                entry.instructions.push(instruction);
            }
        }
    }
    for entry in &mut entries {
        let used = |name: &&str| entry.mentions(name);
        entry.static_shared_bytes = shared
            .keys()
            .filter(|name| used(name))
            .map(|name| shared[*name])
            .sum();
    }
    entries
}

/// Name and bytes of `.shared .align 16 .b8 name[1024];` or `.shared .align 16 .u32 name;`. The
/// dynamic array is `.extern` and has no size.
fn shared_array(line: &str) -> Option<(&str, u64)> {
    let (ty, name) = line.strip_prefix(".shared ")?.rsplit_once(' ')?;
    let name = name.strip_suffix(';')?;
    match name.strip_suffix(']') {
        Some(array) => {
            let (name, bytes) = array.split_once('[')?;
            Some((name, bytes.parse().ok()?))
        }
        None => {
            let bits: u64 = ty.rsplit_once(['u', 'b', 's', 'f'])?.1.parse().ok()?;
            Some((name, bits / 8))
        }
    }
}

/// The instruction of a line, its operands separated by single spaces, without its guard. `None`
/// for labels and directives.
fn instruction(line: &str) -> Option<String> {
    let line = match line.strip_prefix('@') {
        Some(guarded) => guarded.split_once(char::is_whitespace)?.1,
        None => line,
    };
    let is_local = line.starts_with(".local");
    if !is_local && !line.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
.shared .align 16 .b8 slots[256];
.visible .entry first(
\t.param .u64 .ptr .align 1 first_param_0,
\t.param .u32 first_param_1
)                                       // @first
{
\t.reg .pred \t%p<4>;
\t.shared .align 16 .b8 tile[1024];
\t.loc\t1 2 3                         // bar.sync of a comment
\tmov.b64 \t%rd17, tile;
\t@%p1 bra \t$L__BB0_7;
$L__BB0_7:
\tbar.sync \t0;
\tst.shared.b32 \t[slots], %r1;
\tret;
}
.visible .entry second()
{
\tbar.sync \t0;
\tret;
}
.visible .func helper()
{
\tbar.sync \t0;
}
";

    #[test]
    fn kernels_with_their_parameters_instructions_and_arrays() {
        let entries = entries(TEXT);
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(entries[0].params, ["u64", "u32"]);
        assert_eq!(entries[0].static_shared_bytes, 1024 + 256);
        assert_eq!(
            entries[0].instructions,
            [
                "mov.b64 %rd17, tile;",
                "bra $L__BB0_7;",
                "bar.sync 0;",
                "st.shared.b32 [slots], %r1;",
                "ret;"
            ]
        );
        assert_eq!(
            (entries[1].count("bar"), entries[1].static_shared_bytes),
            (1, 0)
        );
    }
}
