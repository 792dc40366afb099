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
    let answers = attempts.iter().map(|(name, answer)| {
        // The system's error usually starts with the name itself.
        let answer = answer.strip_prefix(name.as_str()).unwrap_or(answer);
        format!("{name}: {}", answer.trim_start_matches(": "))
    });
    answers.collect::<Vec<_>>().join("; ")
}

/// The driver library that is in use: its file where the system says which it is
/// (`/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04`), otherwise the name that was loaded.
///
/// # Errors
/// Why no driver library can be used.
///
/// Determined once for the whole process, by the first call.
pub fn status() -> Result<&'static str, LoadError> {
    match driver() {
        Ok(driver) => Ok(&driver.file),
        Err(error) => Err(error.clone()),
    }
}

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
    /// The file, or the name that was loaded where the system does not say which file that is.
    file: String,
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
                    let mut driver = Driver {
                        file: name,
                        library,
                    };
                    let init = driver.function(c"cuInit")?;
                    if let Some(file) = file_at(init as usize) {
                        driver.file = file;
                    }
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
                library: self.file.clone(),
                symbol: symbol.to_string_lossy().into_owned(),
            })
    }
}

/// The file that is mapped at `address`: symbolic links such as `libcuda.so.1` are resolved in it.
/// `None` where the system does not say.
fn file_at(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().find_map(|line| holds(line, address))?;
    Some(path.to_owned())
}

/// The path in a line of `/proc/self/maps`, `start-end rights offset device inode path`, if its
/// range holds `address`.
fn holds(line: &str, address: usize) -> Option<&str> {
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let number = |hex| usize::from_str_radix(hex, 16).ok();
    if !(number(start)?..number(end)?).contains(&address) {
        return None;
    }
    line.find('/').map(|path| &line[path..])
}

/// One driver function, found on first use.
pub(crate) struct Symbol {
    name: &'static CStr,
    function: OnceLock<Result<AnyFunction, Absence>>,
}

/// Why a function cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// There is no driver library: [`status`] says why.
    NoDriver,
    /// The driver library does not have this function.
    NoFunction,
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
            driver.function(self.name).map_err(|_| Absence::NoFunction)
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
    fn a_line_of_the_memory_map_gives_its_file_for_addresses_in_its_range() {
        let line =
            "7f00a000-7f00c000 r-xp 00000000 08:01 42    /usr/lib/my driver/libcuda.so.580.1";
        let path = "/usr/lib/my driver/libcuda.so.580.1";
        assert_eq!(holds(line, 0x7f00_a000), Some(path));
        assert_eq!(holds(line, 0x7f00_bfff), Some(path));
        assert_eq!(holds(line, 0x7f00_c000), None);
        assert_eq!(
            holds("7f00a000-7f00c000 rw-p 00000000 00:00 0", 0x7f00_a000),
            None
        );
        assert_eq!(holds("", 0), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_file_behind_a_name_is_found() {
        // SAFETY: the C library is loaded already.
        let library = unsafe { Library::new("libc.so.6") }.expect("the C library");
        // SAFETY: only its address is used.
        let function = unsafe { library.get::<AnyFunction>(c"strlen") }.expect("a function");
        // An indirect function's address may lie in another object of the same library.
        let file = file_at(*function as usize).expect("its file");
        assert!(file.starts_with('/') && file.contains("libc"), "{file}");
    }

    #[test]
    fn the_variable_replaces_the_usual_names_unless_empty() {
        assert_eq!(candidates(Some("mine.so".into())), ["mine.so"]);
        assert_eq!(candidates(Some("".into())), candidates(None));
        assert_eq!(candidates(None).len(), USUAL_NAMES.len());
    }
}
