//! `blockwise exercise` and `cargo xtask exercise`: test a solution of the book's exercises.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::source::Given;
use crate::{Error, New, exercises};

/// Tests your solution of an exercise of the book, or of all.
///
/// Their files are in the folder `exercises`, which the first call makes. A solution is never
/// overwritten.
#[derive(Args, Clone, Debug)]
pub struct Exercise {
    /// Its number, `2`, or its file's name, `e02_covering`; all of them, when it is not given
    #[arg(value_name = "EXERCISE")]
    pub which: Option<String>,
    /// The folder of the exercises; the current one if they are in it, otherwise `exercises` in it
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// What the tests say.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tested {
    /// For the user: each exercise, whether it passes, and where its file is.
    pub text: String,
    /// The exercises by their files' names, and whether their tests pass.
    pub exercises: Vec<(&'static str, bool)>,
}

impl Tested {
    /// Whether all that were tested pass.
    pub fn pass(&self) -> bool {
        self.exercises.iter().all(|&(_, passes)| passes)
    }
}

impl Exercise {
    /// Makes the project if there is none, and runs the tests. What they and cargo say goes to standard
    /// error.
    ///
    /// # Errors
    /// No such exercise, a folder with something else in it, a project that cannot be made, or no
    /// cargo. A solution that does not compile is no error: it does not pass.
    pub fn run(&self) -> Result<Tested, Error> {
        self.run_from(Path::new(""))
    }

    /// The same, with the folder `exercises` in `around` in place of the current folder's.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_from(&self, around: &Path) -> Result<Tested, Error> {
        let names = chosen(self.which.as_deref())?;
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None if has_exercises(Path::new(".")) => PathBuf::from("."),
            None => around.join("exercises"),
        };
        if !has_exercises(&folder) {
            make(&folder)?;
        }
        let exercises = match names.as_slice() {
            &[name] => {
                let output = tests(&folder, name).stdout(io::stderr()).status();
                vec![(name, output.map_err(no_cargo)?.success())]
            }
            // Without their reports: one exercise by itself shows its own.
            names => {
                let mut build = cargo(&folder, &["test", "--tests", "--no-run"]);
                let built = build.stdout(io::stderr()).status().map_err(no_cargo)?;
                if !built.success() {
                    return Err(Error::new("the exercises do not compile")
                        .with_hint("what the compiler says, above, names the file"));
                }
                let outcome = |&name: &&'static str| {
                    let output = tests(&folder, name).output().map_err(no_cargo)?;
                    Ok((name, output.status.success()))
                };
                names.iter().map(outcome).collect::<Result<_, Error>>()?
            }
        };
        let lines = exercises.iter().map(|&(name, passes)| {
            let file = Path::new("src").join(name).with_extension("rs");
            let file = match folder == Path::new(".") {
                true => file,
                false => folder.join(file),
            };
            match passes {
                true => format!("{name}: passes"),
                false => format!("{name}: does not pass yet; edit {}", file.display()),
            }
        });
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if exercises.len() > 1 {
            let solved = exercises.iter().filter(|(_, passes)| *passes).count();
            text += &format!("\n{solved} of {} pass", exercises.len());
        }
        Ok(Tested { text, exercises })
    }
}

/// The exercises that a word of the user's means.
fn chosen(word: Option<&str>) -> Result<Vec<&'static str>, Error> {
    let Some(word) = word else {
        return Ok(exercises::names().collect());
    };
    // `src/e02_covering.rs` is what a shell completes to.
    let name = Path::new(word).file_stem().and_then(|stem| stem.to_str());
    let name = name.unwrap_or(word);
    let number = name.strip_prefix('e').unwrap_or(name).parse::<usize>();
    let is_it = |at: usize, exercise: &str| {
        let title = exercise.split_once('_').map(|(_, title)| title);
        number == Ok(at + 1) || exercise == name || title == Some(name)
    };
    let mut all = exercises::names().enumerate();
    let found = all.find(|&(at, exercise)| is_it(at, exercise));
    match found {
        Some((_, name)) => Ok(vec![name]),
        None => {
            let all: Vec<_> = exercises::names().collect();
            Err(
                Error::new(format!("there is no exercise `{word}`")).with_hint(format!(
                    "1 to {}, or a name: {}",
                    all.len(),
                    all.join(", ")
                )),
            )
        }
    }
}

/// Whether a folder is a project with the exercises.
fn has_exercises(folder: &Path) -> bool {
    let first = exercises::names().next().unwrap_or_default();
    let files = ["src", "tests"].map(|part| folder.join(part).join(first).with_extension("rs"));
    folder.join("Cargo.toml").is_file() && files.iter().all(|file| file.is_file())
}

/// Makes the project, and says so.
fn make(folder: &Path) -> Result<(), Error> {
    let new = New {
        folder: folder.to_owned(),
        name: Some("exercises".to_owned()),
        exercises: true,
        member: false,
        source: Given::default(),
    };
    let outcome = new.run()?;
    // The commands that `new` lists at the end are what this one runs.
    let said = outcome.text.split("\n\n").next().unwrap_or_default();
    eprintln!("{said}\nthe first build takes minutes, later ones seconds\n");
    Ok(())
}

fn tests(folder: &Path, name: &str) -> Command {
    cargo(folder, &["test", "--test", name])
}

fn cargo(folder: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).args(arguments);
    cargo
}

fn no_cargo(error: io::Error) -> Error {
    Error::new(format!("cannot run cargo: {error}"))
        .with_hint("install Rust with rustup, https://rustup.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exercise_goes_by_its_number_its_name_and_its_file() {
        for word in [
            "2",
            "02",
            "e02",
            "e2",
            "e02_covering",
            "covering",
            "src/e02_covering.rs",
        ] {
            assert_eq!(chosen(Some(word)).unwrap(), ["e02_covering"], "{word}");
        }
        assert_eq!(chosen(Some("wide_loads")).unwrap(), ["e11_wide_loads"]);
        assert_eq!(chosen(None).unwrap().len(), 16);
        for word in ["0", "17", "", "e", "coverin", "-1", "e02_", "lib"] {
            let error = chosen(Some(word)).unwrap_err();
            assert!(error.hint().unwrap().contains("e16_copies"), "{word}");
        }
    }
}
