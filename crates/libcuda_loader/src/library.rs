//! Finds the driver library and the functions in it.

use std::ffi::{CStr, OsString};
use std::fmt;
use std::sync::OnceLock;

use libloading::Library;

/// Environment variable with the driver library to load instead of the usual one: a path or a file
/// name.
pub const LIBRARY_VARIABLE: &str = "BLOCKWISE_LIBCUDA";

#[cfg(not(windows))]
const USUAL_NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];
#[cfg(windows)]
const USUAL_NAMES: &[&str] = &["nvcuda.dll"];

/// Any driver function. Callers cast it to its real type.
pub(crate) type AnyFunction = unsafe extern "C" fn();

/// Why the driver cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// No library could be loaded.
    NotFound {
        /// Each name or path that was tried, with the system's error.
        attempts: Vec<(String, String)>,
    },
    /// The library was loaded but lacks a function: it is too old, or not a CUDA driver at all.
    MissingSymbol {
        /// The name or path that was loaded.
        library: String,
        /// The function that it lacks.
        symbol: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { attempts } => write!(
                f,
                "no CUDA driver library could be loaded ({})",
                list_attempts(attempts)
            ),
            Self::MissingSymbol { library, symbol } => write!(
                f,
                "{library} has no function {symbol}: it is not a CUDA driver, or one too old for this program"
            ),
        }
    }
}

impl std::error::Error for LoadError {}

fn list_attempts(attempts: &[(String, String)]) -> String {
    let told = attempts.iter().map(|(name, answer)| {
        // The system's error usually starts with the name itself.
        let answer = answer.strip_prefix(name.as_str()).unwrap_or(answer);
        format!("{name}: {}", answer.trim_start_matches(": "))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The driver library that is in use, by the name or path under which it was loaded.
///
/// # Errors
/// Why no driver can be used, or which function a call has found missing since.
///
/// Determined once for the whole process, by the first call.
pub fn status() -> Result<&'static str, LoadError> {
    let driver = driver().as_ref().map_err(Clone::clone)?;
    match FIRST_MISSING.get() {
        Some(error) => Err(error.clone()),
        None => Ok(&driver.name),
    }
}

/// The first function that was missing from the loaded driver.
static FIRST_MISSING: OnceLock<LoadError> = OnceLock::new();

fn driver() -> &'static Result<Driver, LoadError> {
    static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::open(&candidates(std::env::var_os(LIBRARY_VARIABLE))))
}

/// What to try, in order. An empty variable counts as unset.
fn candidates(chosen: Option<OsString>) -> Vec<OsString> {
    match chosen.filter(|path| !path.is_empty()) {
        Some(path) => vec![path],
        None => USUAL_NAMES.iter().map(OsString::from).collect(),
    }
}

/// A loaded driver library.
#[derive(Debug)]
struct Driver {
    name: String,
    library: Library,
}

impl Driver {
    /// Loads the first candidate that the system accepts and that contains `cuInit`.
    fn open(candidates: &[OsString]) -> Result<Self, LoadError> {
        let mut attempts = Vec::new();
        for candidate in candidates {
            let name = candidate.to_string_lossy().into_owned();
            // SAFETY: loading runs the library's initialisers. The user requested a CUDA driver, by
            // its system-wide name or by a path, and trusts it like every program that links to it.
            match unsafe { Library::new(candidate) } {
                Ok(library) => {
                    let driver = Driver { name, library };
                    driver.function(c"cuInit")?;
                    return Ok(driver);
                }
                Err(error) => {
                    // The system's message is in the source, if there is one.
                    let answer = std::error::Error::source(&error)
                        .map_or(error.to_string(), ToString::to_string);
                    attempts.push((name, answer));
                }
            }
        }
        Err(LoadError::NotFound { attempts })
    }

    fn function(&self, symbol: &CStr) -> Result<AnyFunction, LoadError> {
        // SAFETY: every exported `cu…` symbol of the driver is a function, and the pointer is only
        // called after a cast to that function's own type. `Driver` is never dropped once it is in
        // use, so the pointer stays valid.
        unsafe { self.library.get::<AnyFunction>(symbol) }
            .map(|function| *function)
            .map_err(|_| LoadError::MissingSymbol {
                library: self.name.clone(),
                symbol: symbol.to_string_lossy().into_owned(),
            })
    }
}

/// One driver function, found on first use.
pub(crate) struct Symbol {
    name: &'static CStr,
    function: OnceLock<Result<AnyFunction, Absence>>,
}

/// Why a function cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There is no driver.
    NoDriver,
    /// The driver does not have this function.
    NoSymbol,
}

impl Symbol {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Symbol {
            name,
            function: OnceLock::new(),
        }
    }

    pub(crate) fn get(&self) -> Result<AnyFunction, Absence> {
        *self.function.get_or_init(|| {
            let driver = driver().as_ref().map_err(|_| Absence::NoDriver)?;
            driver.function(self.name).map_err(|error| {
                FIRST_MISSING.get_or_init(|| error);
                Absence::NoSymbol
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(candidates: &[&str]) -> LoadError {
        let candidates: Vec<_> = candidates.iter().map(OsString::from).collect();
        Driver::open(&candidates).expect_err("no CUDA driver goes by these names")
    }

    #[test]
    fn an_absent_library_is_told_with_every_name_that_was_tried() {
        let message = open(&["libabsent-one.so", "/absent/two.so"]).to_string();
        assert!(
            message.contains("libabsent-one.so") && message.contains("/absent/two.so"),
            "{message}"
        );
        assert_eq!(message.matches("/absent/two.so").count(), 1, "{message}");
    }

    #[test]
    fn a_file_that_is_no_library_is_told_with_the_systems_answer() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let LoadError::NotFound { attempts } = open(&[file]) else {
            panic!("a text file was loaded");
        };
        assert_eq!(attempts[0].0, file);
        assert!(
            !attempts[0].1.is_empty() && attempts[0].1 != "dlopen failed",
            "{attempts:?}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_without_the_functions_is_told_by_name() {
        let error = open(&["libc.so.6"]);
        let expected = LoadError::MissingSymbol {
            library: "libc.so.6".into(),
            symbol: "cuInit".into(),
        };
        assert_eq!(error, expected);
        assert!(error.to_string().contains("too old"));
    }

    #[test]
    fn the_variable_replaces_the_usual_names_unless_empty() {
        assert_eq!(candidates(Some("mine.so".into())), ["mine.so"]);
        assert_eq!(candidates(Some("".into())), candidates(None));
        assert_eq!(candidates(None).len(), USUAL_NAMES.len());
    }
}
