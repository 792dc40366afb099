//! A cache of results of earlier builds, by their inputs.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::SystemTime;

use super::tool::read;
use crate::error::{CudaBuilderError, io_error};
use crate::files::replace;
use crate::output::LOWERING;

/// The number of files kept for each one that a build uses: builds with different features or
/// options may alternate.
const GENERATIONS: usize = 3;

/// The results of one crate for one architecture.
pub(super) struct Kept {
    folder: PathBuf,
    used: Mutex<Vec<PathBuf>>,
}

impl Kept {
    pub(super) fn of(folder: PathBuf) -> Result<Self, CudaBuilderError> {
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        Ok(Kept {
            folder,
            used: Mutex::default(),
        })
    }

    /// The result for these inputs: an earlier one, or a new one.
    ///
    /// # Errors
    /// Those of `make`, which are not kept.
    pub(super) fn get(
        &self,
        inputs: &[&str],
        make: impl FnOnce() -> Result<String, CudaBuilderError>,
    ) -> Result<String, CudaBuilderError> {
        // Two hashes: with one of 64 bits a coincidence would be unlikely, with both it is
        // impossible.
        let hash = |first: u32| {
            let mut hasher = DefaultHasher::new();
            (first, LOWERING, inputs).hash(&mut hasher);
            hasher.finish()
        };
        let path = self
            .folder
            .join(format!("{:016x}{:016x}", hash(0), hash(1)));
        let result = match fs::File::options().write(true).open(&path) {
            Ok(file) => {
                // The file was used, so it is no longer the oldest. If this fails, it may be
                // removed too early and built again.
                let _ = file.set_modified(SystemTime::now());
                read(&path)?
            }
            Err(_) => {
                let made = make()?;
                replace(&path, made.as_bytes())?;
                made
            }
        };
        (self.used.lock().unwrap_or_else(PoisonError::into_inner)).push(path);
        Ok(result)
    }

    /// Removes the oldest files. Nothing depends on them, so errors do not matter.
    pub(super) fn clean(self) {
        let used = self
            .used
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut others: Vec<_> = entries
            .filter(|entry| !used.contains(&entry.path()))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        others.sort();
        let most = (GENERATIONS - 1) * used.len();
        let surplus = others.len().saturating_sub(most);
        for (_, path) in &others[..surplus] {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_made_once_and_errors_again() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::of(folder.path().join("parts")).unwrap();
        let get =
            |inputs: &[&str], result: &str| kept.get(inputs, || Ok(result.to_owned())).unwrap();
        assert_eq!(get(&["a", "b"], "1"), "1");
        assert_eq!(get(&["a", "b"], "2"), "1");
        assert_eq!(get(&["ab", ""], "3"), "3");
        let failed = || {
            Err(CudaBuilderError::Refused {
                option: "o",
                reason: "r",
            })
        };
        assert!(kept.get(&["c"], failed).is_err());
        assert_eq!(get(&["c"], "4"), "4");
    }

    #[test]
    fn files_of_a_few_builds_stay() {
        let folder = tempfile::tempdir().unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        for build in 0..10 {
            let kept = Kept::of(folder.path().to_owned()).unwrap();
            for part in ["a", "b"] {
                let made = || Ok(String::new());
                kept.get(&[part, &build.to_string()], made).unwrap();
            }
            kept.clean();
            assert!(count() <= 2 * GENERATIONS);
        }
        assert_eq!(count(), 2 * GENERATIONS);
    }
}
