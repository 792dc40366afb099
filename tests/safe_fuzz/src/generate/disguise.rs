//! Odd places and names for a kernel: macros, modules that redirect names, and parameters that are
//! called as the words of rules and of generated code are.

use super::{Argument, Generator};

/// Where a kernel is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disguise {
    /// At the root.
    None,
    /// In a macro, which gets the parameter's name.
    Macro,
    /// In a module with names that generated code must not mean.
    Module(usize),
}

/// What a module has that generated code must not mean.
const DECOYS: [&str; 4] = [
    "mod core {}\nmod std {}\nmod alloc {}\nmod cuda_std {}\nmod blockwise {}\n",
    "extern crate alloc as core;\nextern crate core as cuda_std;\nextern crate core as std;\n",
    "macro_rules! assert { ($($any:tt)*) => {}; }\n\
     macro_rules! concat { ($($any:tt)*) => { \"\" }; }\n\
     macro_rules! matches { ($($any:tt)*) => { true }; }\n\
     macro_rules! file { ($($any:tt)*) => { 7 }; }\n",
    "trait Own: Sized {\n    fn is_some(self) -> bool { true }\n    fn is_empty(self) -> bool { true }\n    \
     fn checked_add(self, _: usize) -> Option<usize> { None }\n    \
     fn is_multiple_of(self, _: usize) -> bool { true }\n}\nimpl<T> Own for T {}\n",
];

/// Words of rules and of generated code, and what is nearly a keyword.
const NAMES: [&str; 24] = [
    "grid",
    "shared_bytes",
    "block",
    "core",
    "std",
    "alloc",
    "cuda_std",
    "this",
    "r#type",
    "r#fn",
    "r#in",
    "usize",
    "kernel",
    "kernel_body",
    "blockwise",
    "entry",
    "launch",
    "stream",
    "arguments",
    "len",
    "rows",
    "config",
    "u32",
    "shared",
];

/// The root's names for what a module redirects.
const SOUND: [(&str, &str); 3] = [
    ("core", "sound"),
    ("alloc", "sound_alloc"),
    ("cuda_std", "sound_cuda"),
];

impl Generator {
    /// Gives a finished kernel another name for `n`, and another place.
    pub(super) fn disguise(&mut self) {
        if self.rng.chance(10) {
            let name = *self.rng.pick(&NAMES);
            if name == "block" {
                self.rename("block", "whole_block");
            }
            self.rename("n", name);
            // Its rules may use the word for the launch's.
            self.kernel.may_not_compile = true;
            for rule in &mut self.kernel.rules {
                *rule = renamed(rule, "n", name);
            }
        }
        self.kernel.disguise = match self.rng.below(100) {
            0..12 => Disguise::Macro,
            12..24 => Disguise::Module(self.rng.below(DECOYS.len())),
            _ => Disguise::None,
        };
        if self.kernel.disguise == Disguise::Macro && self.rng.chance(25) {
            self.twin();
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        let kernel = &mut self.kernel;
        kernel.body = renamed(&kernel.body, from, to);
        for parameter in &mut kernel.parameters {
            *parameter = renamed(parameter, from, to);
        }
    }

    /// Another parameter of the same name as the one that the macro gets.
    fn twin(&mut self) {
        for launch in &mut self.kernel.launches {
            let value = self.rng.below(200) as u32;
            launch.arguments.insert(1, Argument::Number(value));
        }
        self.kernel.has_twin = true;
        self.kernel.may_not_compile = true;
    }
}

impl Disguise {
    /// A kernel's text there. `twin`: the text of a parameter that a macro writes itself.
    pub(super) fn text(self, kernel: &str, name: &str, passed: &str) -> String {
        match self {
            Disguise::None => kernel.to_owned(),
            Disguise::Macro => {
                let inside = renamed(kernel, passed, "$n").replace("TWIN", passed);
                format!(
                    "macro_rules! make_{name} {{\n($n:ident) => {{\n{inside}}}\n}}\nmake_{name}!({passed});\n"
                )
            }
            Disguise::Module(decoy) => {
                let mut inside = kernel.to_owned();
                for (path, sound) in SOUND {
                    inside = inside.replace(&format!("{path}::"), &format!("{sound}::"));
                }
                format!(
                    "mod m_{name} {{\nuse super::*;\n{}{inside}}}\npub use m_{name}::{name};\n",
                    DECOYS[decoy]
                )
            }
        }
    }
}

/// A text with a variable renamed: a word that is no part of a path, no method and no field.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let (mut output, mut rest) = (String::new(), text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '#';
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let is_part = output.ends_with(is_word) && before.is_empty()
            || before.ends_with(is_word)
            || after.starts_with(is_word);
        let start = if before.is_empty() { &output } else { before };
        let is_range = start.ends_with("..");
        let is_other = start.ends_with("::")
            || (start.ends_with('.') && !is_range)
            || start.ends_with('\'')
            || after.starts_with("::");
        output.push_str(before);
        output.push_str(if is_part || is_other { from } else { to });
        rest = after;
    }
    output + rest
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(renamed(text, "n", "grid"), expected);
    }

    #[test]
    fn variables_are_renamed_and_nothing_else() {
        check("n: u32, an: n", "grid: u32, an: grid");
        check("mix(n, x.n)", "mix(grid, x.n)");
        check(
            "n::f(0..n, r#n, 'n: n1, nn)",
            "n::f(0..grid, r#n, 'n: n1, nn)",
        );
        check("now.len() + n", "now.len() + grid");
    }
}
