//! Where a project finds Blockwise. It is not published, so this is a checkout on the machine.

use std::path::Path;

use crate::Error;

/// The crates that a project's manifests refer to.
const CRATES: [&str; 4] = ["blockwise", "cuda_builder", "cuda_std", "find_cuda_helper"];

/// A checkout of Blockwise.
pub(crate) struct Checkout(String);

impl Checkout {
    /// The given checkout, or the one that this program was built from.
    pub(crate) fn find(given: Option<&Path>) -> Result<Self, Error> {
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let folder = given.or(built_from).unwrap_or(Path::new(""));
        let missing = CRATES
            .iter()
            .map(|name| folder.join("crates").join(name).join("Cargo.toml"))
            .find(|manifest| !manifest.is_file());
        if let Some(missing) = missing {
            let what = match given {
                Some(given) => format!("{} is no checkout of Blockwise", given.display()),
                None => format!(
                    "the checkout of Blockwise that this program was built from is gone: {}",
                    folder.display()
                ),
            };
            let failure = Error::new(format!("{what}: {} is not there", missing.display()));
            return Err(failure.with_hint("name the folder of a checkout: `--source CHECKOUT`"));
        }
        let path = folder
            .canonicalize()
            .map_err(|error| Error::io("cannot find", folder, error))?;
        // The path is inserted between quotes, in TOML and YAML.
        match path.to_str() {
            Some(path) if !path.contains(['"', '\\']) && !path.contains(char::is_control) => {
                Ok(Self(path.to_owned()))
            }
            _ => Err(Error::new(format!(
                "{} cannot be written into a manifest",
                path.display()
            ))
            .with_hint("move the checkout to a folder without quotes and backslashes in its path")),
        }
    }

    /// Its absolute path.
    pub(crate) fn path(&self) -> &str {
        &self.0
    }
}
