//! `cargo xtask setup`: installs what is missing, and says which commands it runs. Does nothing
//! when nothing is.
//!
//! A C linker is not looked for: without one this program could not have been built.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use cuda_builder::tools::{DEBIAN_PACKAGES, Ptxas, RUSTUP_COMPONENTS, Toolchain};
use cuda_builder::tools::{libdevice, ptxas, variables, wheel};

use crate::{nccl, workspace};

pub(crate) fn run(with_browser: bool, with_nccl: bool) -> Result<ExitCode> {
    say!("PTX toolchain: {}", toolchain()?);
    let ptxas = ptxas()?;
    say!("ptxas: CUDA {} ({})", ptxas.version, ptxas.path.display());
    say!("libdevice: {}", libdevice()?.display());
    if with_browser {
        browser()?;
    }
    match with_nccl {
        true => nccl::install(),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// A browser that a test can drive; installed first if there is none.
fn browser() -> Result<()> {
    if !["chromedriver", "tsc"]
        .iter()
        .all(|program| on_path(program))
    {
        Machine::look()
            .apt(&["chromium", "chromium-driver", "node-typescript"])?
            .run()?;
    }
    say!("browser: chromium with chromedriver, and tsc");
    Ok(())
}

/// The toolchain for PTX; installed first if there is none.
pub(crate) fn toolchain() -> Result<Toolchain> {
    let report = Toolchain::search();
    if report.chosen().is_none() && !report.environment_is_set() {
        say!("no toolchain here can build PTX:\n{report}installing one");
        return install_toolchain(&Machine::look());
    }
    Ok(report.into_toolchain()?)
}

/// ptxas; fetched first if there is none.
pub(crate) fn ptxas() -> Result<Ptxas> {
    let cache = workspace::tools()?;
    if let Ok(found) = Ptxas::find(&cache) {
        return Ok(found);
    }
    if std::env::var_os(variables::PTXAS).is_none_or(|path| path.is_empty()) {
        say!("no ptxas here; fetching {} from PyPI", ptxas::WHEEL);
        pip()?;
    }
    Ok(Ptxas::find_or_fetch(&cache)?)
}

/// NVIDIA's mathematical functions; fetched first if there are none.
pub(crate) fn libdevice() -> Result<PathBuf> {
    let cache = workspace::tools()?;
    if let Ok(found) = libdevice::find(&cache) {
        return Ok(found);
    }
    if std::env::var_os(variables::LIBDEVICE).is_none_or(|path| path.is_empty()) {
        say!("no libdevice here; fetching {} from PyPI", libdevice::WHEEL);
        pip()?;
    }
    Ok(libdevice::find_or_fetch(&cache)?)
}

/// A Python with pip; installed first if there is none.
fn pip() -> Result<()> {
    if let Err(reason) = wheel::python_with_pip() {
        say!("{reason}");
        Machine::look().apt(&["python3-pip"])?.run()?;
    }
    Ok(())
}

/// Tries each way that this machine has until one leaves a complete toolchain.
fn install_toolchain(machine: &Machine) -> Result<Toolchain> {
    let mut failures = String::new();
    for installation in machine.installations() {
        match installation
            .and_then(|installation| installation.run())
            .and_then(|()| Ok(Toolchain::find()?))
        {
            Ok(toolchain) => return Ok(toolchain),
            Err(error) => failures += &format!("\n  {error:#}"),
        }
    }
    bail!("no toolchain for PTX could be installed:{failures}");
}

/// What decides how something can be installed.
#[derive(Clone, Debug)]
struct Machine {
    apt: bool,
    rustup: bool,
    root: bool,
    sudo: bool,
    /// Someone could type a password.
    terminal: bool,
}

impl Machine {
    /// This machine.
    fn look() -> Self {
        let id = Command::new("id").arg("-u").stderr(Stdio::null()).output();
        Self {
            apt: on_path("apt-get"),
            rustup: on_path("rustup"),
            root: id.is_ok_and(|output| output.stdout.trim_ascii() == b"0"),
            sudo: on_path("sudo"),
            terminal: std::io::stdin().is_terminal(),
        }
    }

    /// The ways to a toolchain, best first. Nobody is asked for a password while rustup, which
    /// needs none, is untried.
    fn installations(&self) -> [Result<Installation>; 2] {
        let (apt, rustup) = (self.apt(&DEBIAN_PACKAGES), self.rustup());
        if self.root {
            [apt, rustup]
        } else {
            [rustup, apt]
        }
    }

    fn rustup(&self) -> Result<Installation> {
        if !self.rustup {
            bail!("rustup is not installed");
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

    /// Debian packages. They are added and nothing is removed for them, whatever they conflict
    /// with.
    fn apt(&self, packages: &[&str]) -> Result<Installation> {
        let by_hand = || {
            format!(
                "apt-get update && apt-get install --no-install-recommends {}",
                packages.join(" ")
            )
        };
        if !self.apt {
            bail!("this is no Debian-like system (no apt-get)");
        }
        let prefix: &[&str] = match (self.root, self.sudo, self.terminal) {
            (true, ..) => &[],
            (false, true, true) => &["sudo"],
            (false, true, false) => &["sudo", "-n"],
            (false, false, _) => bail!(
                "packages need root, and there is no sudo; as root: {}",
                by_hand()
            ),
        };
        let command = |rest: &[&str]| {
            let words = prefix
                .iter()
                .chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"])
                .chain(rest);
            words.map(|&word| word.to_owned()).collect::<Vec<_>>()
        };
        let install = [
            "install",
            "-y",
            "--no-install-recommends",
            "--no-remove",
            "-o",
            "DPkg::Lock::Timeout=120",
            "-o",
            "Dpkg::Use-Pty=0",
        ];
        Ok(Installation {
            prepare: Some(command(&["update"])),
            install: command(&[&install, packages].concat()),
            hint: "apt-get could not install the packages (Debian 12 and 13 have them in their main and security archives)",
        })
    }
}

/// Commands that install something.
#[derive(Debug, PartialEq, Eq)]
struct Installation {
    /// May fail: the second command then tells whether that mattered.
    prepare: Option<Vec<String>>,
    install: Vec<String>,
    hint: &'static str,
}

impl Installation {
    /// Shows and runs the commands.
    fn run(&self) -> Result<()> {
        if let Some(words) = &self.prepare
            && let Err(error) = run_shown(words)
        {
            say!("{error:#}; going on");
        }
        run_shown(&self.install).context(self.hint)
    }
}

fn run_shown(words: &[String]) -> Result<()> {
    say!("+ {}", words.join(" "));
    let (program, arguments) = words.split_first().context("no command")?;
    workspace::check(Command::new(program).args(arguments))
}

/// Whether a program of that name is on the `PATH`.
fn on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| {
        folder
            .join(name)
            .with_extension(std::env::consts::EXE_EXTENSION)
            .is_file()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT_ON_DEBIAN: Machine = Machine {
        apt: true,
        rustup: true,
        root: true,
        sudo: false,
        terminal: false,
    };

    /// The commands that a machine would run, or the reasons why it has none.
    fn plan(machine: &Machine) -> [String; 2] {
        machine
            .installations()
            .map(|installation| match installation {
                Ok(installation) => installation.install.join(" "),
                Err(error) => error.to_string(),
            })
    }

    const APT: &str = "env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends --no-remove \
                       -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 rustc-web cargo-web rust-web-src llvm-22";
    const RUSTUP: &str = "rustup component add rust-src llvm-tools";

    #[test]
    fn root_on_debian_takes_the_packages() {
        assert_eq!(plan(&ROOT_ON_DEBIAN), [APT, RUSTUP]);
        let update = ROOT_ON_DEBIAN
            .apt(&["x"])
            .unwrap()
            .prepare
            .unwrap()
            .join(" ");
        assert_eq!(
            update,
            "env DEBIAN_FRONTEND=noninteractive apt-get -q update"
        );
    }

    #[test]
    fn a_user_tries_rustup_before_sudo() {
        let user = Machine {
            root: false,
            sudo: true,
            ..ROOT_ON_DEBIAN
        };
        assert_eq!(plan(&user), [RUSTUP.to_owned(), format!("sudo -n {APT}")]);
        let at_terminal = Machine {
            terminal: true,
            ..user
        };
        assert_eq!(plan(&at_terminal)[1], format!("sudo {APT}"));
    }

    #[test]
    fn without_root_and_sudo_the_command_is_told() {
        let user = Machine {
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
        let fedora = Machine {
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
        installation("false", "true").run().unwrap();
        let error = format!("{:#}", installation("true", "false").run().unwrap_err());
        assert!(error.starts_with("hint: false failed"), "{error}");
        assert!(installation("true", "no-such-program-here").run().is_err());
    }
}
