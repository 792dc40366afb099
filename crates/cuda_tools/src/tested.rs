//! The compilers whose output Blockwise knows.

use crate::{Toolchain, Version};

/// The minor versions of rustc 1 that the builder is tested with, oldest first.
pub const RUSTC: [u32; 2] = [95, 96];

/// The major version of the LLVM that they and the tools have.
pub const LLVM: u32 = 22;

/// The versions, and the commands that install them: `rustc 1.95 or 1.96 with LLVM 22: …`.
pub fn advice() -> String {
    let versions = RUSTC.map(|minor| format!("1.{minor}")).join(" or ");
    let [oldest, ..] = RUSTC;
    format!(
        "rustc {versions} with LLVM {LLVM}: `rustup toolchain install 1.{oldest}.0 --component rust-src --component llvm-tools`, \
         and `channel = \"1.{oldest}.0\"` in rust-toolchain.toml"
    )
}

/// A rust-toolchain.toml with the oldest of them and what a project needs of it.
pub fn rust_toolchain() -> String {
    let [oldest, ..] = RUSTC;
    let components = ["rustfmt", "clippy"]
        .into_iter()
        .chain(crate::RUSTUP_COMPONENTS);
    let components: Vec<_> = components.map(|name| format!("\"{name}\"")).collect();
    let components = components.join(", ");
    format!("[toolchain]\nchannel = \"1.{oldest}.0\"\ncomponents = [{components}]\n")
}

/// Why a build with these tools may fail for no fault of the user's; `None` if they are tested.
pub fn warning(toolchain: &Toolchain) -> Option<String> {
    let (rustc, llvm) = (toolchain.rustc_version, toolchain.llvm_version);
    if is_tested(rustc, llvm) {
        return None;
    }
    Some(format!(
        "rustc {rustc} with LLVM {llvm} is newer than Blockwise knows, which knows {}",
        advice()
    ))
}

fn is_tested(rustc: Version, llvm: Version) -> bool {
    rustc.major == 1 && RUSTC.contains(&rustc.minor) && llvm.major == LLVM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_versions_are_tested() {
        let version = |text| Version::parse(text).unwrap();
        for (rustc, llvm, tested) in [
            ("1.95.0", "22.1.2-rust-1.95.0-stable", true),
            ("1.96.1", "22.1.8", true),
            ("1.97.0-nightly", "22.1.4", false),
            ("1.96.0", "23.1.0", false),
            ("1.94.1", "22.1.0", false),
            ("2.95.0", "22.1.0", false),
        ] {
            assert_eq!(
                is_tested(version(rustc), version(llvm)),
                tested,
                "{rustc} {llvm}"
            );
        }
        assert_eq!(crate::OLDEST_RUSTC, Version::new(1, RUSTC[0], 0));
        assert!(advice().starts_with("rustc 1.95 or 1.96 with LLVM 22: `rustup "));
    }
}
