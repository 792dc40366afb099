//! Installs a toolchain for PTX with `apt-get` or `rustup`, whichever this machine has.
//!
//! `cargo xtask` installs while cargo compiles. Callers of [`Toolchain::find`] wait until that is
//! done.

use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;
use std::process::{Command, Stdio};

use crate::machine::Host;
use crate::search::on_path;
use crate::{DEBIAN_PACKAGES, RUSTUP_COMPONENTS, Toolchain};

/// The variable that names the file which a running installation keeps locked.
pub const LOCK: &str = "BLOCKWISE_INSTALLING";

/// Waits for an installation that is running in another process.
pub(crate) fn wait() {
    if let Some(lock) = std::env::var_os(LOCK) {
        wait_for(&lock);
    }
}

fn wait_for(lock: &OsString) {
    // Without the file nothing is being installed.
    let Ok(file) = File::open(lock) else { return };
    if file.try_lock_shared().is_err() {
        eprintln!("waiting for the installation of the toolchain");
        // The search that follows shows whether it succeeded.
        let _ = file.lock_shared();
    }
}

/// The properties of a machine that decide how something can be installed.
#[derive(Clone, Debug)]
pub struct Means {
    apt: bool,
    rustup: bool,
    root: bool,
    sudo: bool,
    /// Somebody at a terminal could type a password.
    terminal: bool,
}

impl Means {
    /// Those of this machine.
    pub fn here() -> Self {
        let id = Command::new("id").arg("-u").stderr(Stdio::null()).output();
        Self {
            apt: is_on_path("apt-get"),
            rustup: is_on_path("rustup"),
            root: id.is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: is_on_path("sudo"),
            terminal: std::io::stdin().is_terminal(),
        }
    }

    /// Whether an installation may ask for a password.
    pub fn may_ask(&self) -> bool {
        self.terminal && self.sudo && !self.root
    }

    /// The same without a terminal: no command asks for a password.
    #[must_use]
    pub fn unattended(mut self) -> Self {
        self.terminal = false;
        self
    }

    /// Installs a toolchain: tries each way until one leaves a complete one.
    ///
    /// # Errors
    /// The error of each way.
    pub fn toolchain(&self, output: Output<'_>) -> Result<Toolchain, String> {
        let mut failures = String::new();
        for installation in self.toolchains() {
            let outcome = installation.and_then(|installation| installation.run(output));
            // Not `find`, which would wait for this installation.
            let found = || crate::search::search(&Host).into_toolchain();
            match outcome.and_then(|()| found().map_err(|error| error.to_string())) {
                Ok(toolchain) => return Ok(toolchain),
                Err(error) => failures += &format!("\n  {error}"),
            }
        }
        Err(format!(
            "no toolchain for PTX could be installed:{failures}"
        ))
    }

    /// The ways to a toolchain, best first. rustup needs no password, so it comes before any way
    /// that asks for one.
    fn toolchains(&self) -> [Result<Installation, String>; 2] {
        let (apt, rustup) = (self.packages(&DEBIAN_PACKAGES), self.rustup());
        if self.root {
            [apt, rustup]
        } else {
            [rustup, apt]
        }
    }

    fn rustup(&self) -> Result<Installation, String> {
        if !self.rustup {
            return Err("rustup is not installed".to_owned());
        }
        let words = ["rustup", "component", "add"]
            .into_iter()
            .chain(RUSTUP_COMPONENTS);
        Ok(Installation {
            prepare: None,
            install: words.map(str::to_owned).collect(),
            hint: "rustup could not add the components",
        })
    }

    /// Debian packages. Installing them never removes others, even if they conflict.
    ///
    /// # Errors
    /// Why this machine cannot install them, with the command for somebody who may.
    pub fn packages(&self, packages: &[&str]) -> Result<Installation, String> {
        let by_hand = || {
            format!(
                "apt-get update && apt-get install --no-install-recommends {}",
                packages.join(" ")
            )
        };
        if !self.apt {
            return Err("this is no Debian-like system (no apt-get)".to_owned());
        }
        let prefix: &[&str] = match (self.root, self.sudo, self.terminal) {
            (true, ..) => &[],
            (false, true, true) => &["sudo"],
            (false, true, false) => &["sudo", "-n"],
            (false, false, _) => {
                return Err(format!(
                    "packages need root, and there is no sudo; as root: {}",
                    by_hand()
                ));
            }
        };
        let command = |rest: &[&str]| {
            let words = prefix
                .iter()
                .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"])
                .chain(rest);
            words.map(|&word| word.to_owned()).collect::<Vec<_>>()
        };
        let mut install = vec![
            "install",
            "-y",
            "--no-install-recommends",
            "--no-remove",
            "-o",
            "DPkg::Lock::Timeout=120",
            "-o",
            "Dpkg::Use-Pty=0",
        ];
        if self.root {
            // dpkg syncs each file, which takes over a minute for Rust's 50,000 sources. As root,
            // mostly in a container, it does not: after a crash files may be empty. With sudo it
            // stays careful.
            install.extend(["-o", "Dpkg::Options::=--force-unsafe-io"]);
        }
        install.extend(packages);
        Ok(Installation {
            prepare: Some(command(&["update"])),
            install: command(&install),
            hint: "apt-get could not install the packages (Debian 12 and 13 have them in their main and security archives)",
        })
    }
}

/// Where the output of an installation's commands goes.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// To the user.
    Shown,
    /// Into a file.
    Kept(&'a File),
}

/// Commands that install something.
#[derive(Debug, PartialEq, Eq)]
pub struct Installation {
    /// May fail: the second command then shows whether that mattered.
    prepare: Option<Vec<String>>,
    install: Vec<String>,
    hint: &'static str,
}

impl Installation {
    /// Shows and runs the commands.
    ///
    /// # Errors
    /// The command that failed.
    pub fn run(&self, output: Output<'_>) -> Result<(), String> {
        if let Some(words) = &self.prepare
            && let Err(error) = run_shown(words, output)
        {
            eprintln!("{error}; going on");
        }
        run_shown(&self.install, output).map_err(|error| format!("{}: {error}", self.hint))
    }
}

fn run_shown(words: &[String], output: Output<'_>) -> Result<(), String> {
    let line = words.join(" ");
    eprintln!("+ {line}");
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Output::Kept(file) = output {
        let copy = || file.try_clone().map_err(|error| error.to_string());
        command.stdin(Stdio::null()).stdout(copy()?).stderr(copy()?);
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{line} failed: {status}")),
        Err(error) => Err(format!("{line} does not run: {error}")),
    }
}

/// Whether a program of that name is on the `PATH`.
pub fn is_on_path(name: &str) -> bool {
    on_path(&Host, name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT_ON_DEBIAN: Means = Means {
        apt: true,
        rustup: true,
        root: true,
        sudo: false,
        terminal: false,
    };

    /// The commands that a machine would run, or the reasons why it has none.
    fn plan(means: &Means) -> [String; 2] {
        means.toolchains().map(|installation| match installation {
            Ok(installation) => installation.install.join(" "),
            Err(error) => error,
        })
    }

    const APT: &str = "env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends --no-remove \
                       -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 rustc-web cargo-web rust-web-src llvm-22";
    const QUICK: &str = " -o Dpkg::Options::=--force-unsafe-io";
    const RUSTUP: &str = "rustup component add rust-src llvm-tools";

    #[test]
    fn root_on_debian_takes_the_packages() {
        let quick = APT.replace(" rustc-web", &format!("{QUICK} rustc-web"));
        assert_eq!(plan(&ROOT_ON_DEBIAN), [&quick, RUSTUP]);
        let update = ROOT_ON_DEBIAN.packages(&["x"]).unwrap().prepare.unwrap();
        assert_eq!(
            update.join(" "),
            "env DEBIAN_FRONTEND=noninteractive apt-get -q update"
        );
    }

    #[test]
    fn a_user_tries_rustup_before_sudo() {
        let user = Means {
            root: false,
            sudo: true,
            ..ROOT_ON_DEBIAN
        };
        assert_eq!(plan(&user), [RUSTUP.to_owned(), format!("sudo -n {APT}")]);
        let at_terminal = Means {
            terminal: true,
            ..user
        };
        assert_eq!(plan(&at_terminal)[1], format!("sudo {APT}"));
        assert_eq!(plan(&at_terminal.unattended())[1], format!("sudo -n {APT}"));
    }

    #[test]
    fn without_root_and_sudo_the_command_is_told() {
        let user = Means {
            root: false,
            rustup: false,
            ..ROOT_ON_DEBIAN
        };
        let [rustup, apt] = plan(&user);
        assert_eq!(rustup, "rustup is not installed");
        let command = "as root: apt-get update && apt-get install --no-install-recommends rustc-web cargo-web rust-web-src llvm-22";
        assert!(apt.ends_with(command), "{apt}");
    }

    #[test]
    fn elsewhere_only_rustup_is_left() {
        let fedora = Means {
            apt: false,
            ..ROOT_ON_DEBIAN
        };
        assert_eq!(
            plan(&fedora),
            ["this is no Debian-like system (no apt-get)", RUSTUP]
        );
    }

    #[test]
    fn a_failed_update_does_not_stop_the_installation_but_a_failed_installation_does() {
        let words = |text: &str| vec![text.to_owned()];
        let installation = |prepare, install| Installation {
            prepare: Some(words(prepare)),
            install: words(install),
            hint: "hint",
        };
        installation("false", "true").run(Output::Shown).unwrap();
        let error = installation("true", "false").run(Output::Shown);
        let error = error.unwrap_err();
        assert!(error.starts_with("hint: false failed"), "{error}");
        let missing = installation("true", "no-such-program-here");
        assert!(missing.run(Output::Shown).is_err());
    }

    #[test]
    fn output_that_is_kept_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let installation = Installation {
            prepare: None,
            install: ["echo", "unpacking"].map(str::to_owned).into(),
            hint: "hint",
        };
        let log = File::create(&path).unwrap();
        installation.run(Output::Kept(&log)).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "unpacking\n");
    }

    #[test]
    fn who_needs_the_toolchain_waits_for_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        wait_for(&path.clone().into());
        let installation = File::create(&path).unwrap();
        installation.lock().unwrap();
        let (done, is_done) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            wait_for(&path.into());
            is_done.try_recv()
        });
        // If the thread starts late, the lock is free and this has already been sent.
        done.send(()).unwrap();
        drop(installation);
        waiting.join().unwrap().unwrap();
    }
}
