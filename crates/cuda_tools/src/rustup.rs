//! What rustup has installed. Never asks its server.

use std::path::{Path, PathBuf};

use crate::machine::{Host, Machine, executable};
use crate::search::on_path;

/// A toolchain of rustup's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    folder: PathBuf,
}

/// The toolchain of this channel: `None` without rustup, `Some(None)` if rustup does not have it.
pub fn installed(channel: &str) -> Option<Option<Installed>> {
    installed_on(&Host, channel)
}

pub(crate) fn installed_on(machine: &dyn Machine, channel: &str) -> Option<Option<Installed>> {
    let rustup = on_path(machine, "rustup")?;
    let rustc = machine.output(&rustup, &["which", "--toolchain", channel, "rustc"]);
    let rustc = rustc.ok().map(|text| PathBuf::from(text.trim()));
    let folder = rustc.and_then(|rustc| Some(rustc.ancestors().nth(2)?.to_owned()));
    Some(folder.map(|folder| Installed { folder }))
}

impl Installed {
    /// Whether it has these components, as far as a build asks for them.
    pub fn has(&self, components: &[&str]) -> bool {
        let libraries = self.folder.join("lib/rustlib");
        let program = |name: &str| self.folder.join("bin").join(executable(name)).is_file();
        let tools = |folder: &Path| folder.join("bin").join(executable("llc")).is_file();
        components.iter().all(|component| match *component {
            "rust-src" => libraries.join("src/rust/library/core/src/lib.rs").is_file(),
            "llvm-tools" => std::fs::read_dir(&libraries)
                .is_ok_and(|mut targets| targets.any(|it| it.is_ok_and(|it| tools(&it.path())))),
            "clippy" => program("cargo-clippy"),
            "rustfmt" => program("cargo-fmt"),
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io;

    use super::*;

    struct WithRustup(PathBuf);

    impl Machine for WithRustup {
        fn variable(&self, name: &str) -> Option<OsString> {
            (name == "PATH").then(|| self.0.join("home").into())
        }

        fn home(&self) -> Option<PathBuf> {
            None
        }

        fn root(&self) -> PathBuf {
            self.0.clone()
        }

        fn output(&self, _: &Path, arguments: &[&str]) -> io::Result<String> {
            match arguments {
                ["which", "--toolchain", "1.95.0", "rustc"] => {
                    Ok(format!("{}\n", self.0.join("1.95.0/bin/rustc").display()))
                }
                _ => Err(io::Error::other("toolchain is not installed")),
            }
        }
    }

    #[test]
    fn what_rustup_has_is_seen_in_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let machine = WithRustup(folder.path().to_owned());
        assert_eq!(installed_on(&machine, "1.95.0"), None);
        let file = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        file(&format!("home/{}", executable("rustup")));
        assert_eq!(installed_on(&machine, "1.99.0"), Some(None));
        let components = ["rustfmt", "clippy", "rust-src", "llvm-tools"];
        let files = [
            format!("1.95.0/bin/{}", executable("cargo-fmt")),
            format!("1.95.0/bin/{}", executable("cargo-clippy")),
            "1.95.0/lib/rustlib/src/rust/library/core/src/lib.rs".to_owned(),
            format!("1.95.0/lib/rustlib/a-b/bin/{}", executable("llc")),
        ];
        for count in 0..=files.len() {
            let here = installed_on(&machine, "1.95.0").unwrap().unwrap();
            assert_eq!(here.has(&components), count == files.len());
            assert!(here.has(&components[..count]));
            files.get(count).into_iter().for_each(|path| file(path));
        }
    }
}
