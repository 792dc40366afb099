//! The secret of a job: over TCP, knowing it proves that a process is one of its ranks.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::{Error, Result};

/// The job's secret itself.
pub const SECRET_VARIABLE: &str = "BLOCKWISE_MESH_SECRET";

/// A file with the secret, which only its owner may read.
pub const SECRET_FILE_VARIABLE: &str = "BLOCKWISE_MESH_SECRET_FILE";

/// Lengths of a secret in bytes: a short one can be guessed, and a whole file is a mistake.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=4096;

/// What all ranks of a job know. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// From its bytes: 16 or more, all unguessable. `openssl rand -hex 32` creates such bytes.
    ///
    /// # Errors
    /// [`Error::Job`] for one that is too short or too long.
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self> {
        Self::checked(bytes.as_ref(), "the secret")
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret in the variables or in the file that they name, if any.
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        match (variable(SECRET_VARIABLE), variable(SECRET_FILE_VARIABLE)) {
            (Some(_), Some(_)) => Err(Error::Job {
                problem: format!(
                    "`{SECRET_VARIABLE}` and `{SECRET_FILE_VARIABLE}` are both set; leave one out"
                ),
            }),
            (Some(value), None) => {
                Self::checked(value.as_bytes(), &format!("`{SECRET_VARIABLE}`")).map(Some)
            }
            (None, Some(path)) => Self::of_file(Path::new(&path)).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// From a file of one line. It must be a regular file that only its owner may read.
    fn of_file(path: &Path) -> Result<Self> {
        let name = format!("the file of `{SECRET_FILE_VARIABLE}`, {}", path.display());
        let failed = |what: String| Error::Job {
            problem: format!("{name}: {what}"),
        };
        let unreadable = |error: std::io::Error| failed(error.to_string());
        // Checked before the file is opened, because opening a pipe without a writer would block.
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(failed("it is no regular file".to_owned()));
        }
        let file = std::fs::File::open(path).map_err(unreadable)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let mode = file.metadata().map_err(unreadable)?.mode() & 0o777;
            if mode & 0o077 != 0 {
                let path = path.display();
                return Err(failed(format!(
                    "its mode is {mode:04o}, so that others may read it or change it: `chmod 600 {path}`"
                )));
            }
        }
        let mut bytes = Vec::new();
        let more = *LENGTHS.end() as u64 + 1;
        file.take(more)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Self::checked(&bytes, &name)
    }

    fn checked(bytes: &[u8], name: &str) -> Result<Self> {
        let bytes = bytes.trim_ascii();
        match bytes.len() {
            len if LENGTHS.contains(&len) => Ok(Self(bytes.into())),
            len => Err(Error::Job {
                problem: format!(
                    "{name} has {len} bytes, {} to {} are wanted: `openssl rand -hex 32` makes one",
                    LENGTHS.start(),
                    LENGTHS.end()
                ),
            }),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Secret>> {
        Secret::read(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_secret_is_long_enough_and_never_printed() {
        assert_eq!(read(&[]).unwrap(), None);
        let secret = read(&[(SECRET_VARIABLE, "correct horse battery")]).unwrap();
        let secret = secret.expect("one");
        assert_eq!(secret.bytes(), b"correct horse battery");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        for wrong in ["short", "                    ", &"x".repeat(4097)] {
            let error = read(&[(SECRET_VARIABLE, wrong)]).unwrap_err().to_string();
            assert!(error.contains("16 to 4096 are wanted"), "{error}");
            assert!(!error.contains(&wrong[..5]), "{error}");
        }
        let both = read(&[(SECRET_VARIABLE, "x"), (SECRET_FILE_VARIABLE, "y")]);
        assert!(both.unwrap_err().to_string().contains("leave one out"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "correct horse battery\n").unwrap();
        let with_mode = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).unwrap();
            read(&[(SECRET_FILE_VARIABLE, path.to_str().unwrap())])
        };
        for mode in [0o600, 0o400] {
            let secret = with_mode(mode).unwrap().expect("one");
            assert_eq!(secret.bytes(), b"correct horse battery");
        }
        for mode in [0o644, 0o640, 0o604, 0o620, 0o601] {
            let error = with_mode(mode).unwrap_err().to_string();
            assert!(
                error.contains(&format!("its mode is {mode:04o}")),
                "{error}"
            );
            assert!(error.contains("`chmod 600 "), "{error}");
        }
        for (other, why) in [
            (folder.path().to_str().unwrap(), "no regular file"),
            ("/dev/zero", "no regular file"),
            ("/no/such/file", "o such file"),
        ] {
            let error = read(&[(SECRET_FILE_VARIABLE, other)])
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
