//! The folder that a command fills with files.

use std::path::Path;

use super::failure::Failure;

/// Makes the folder if it is missing.
pub(super) fn prepare(folder: &Path) -> Result<(), Failure> {
    let hint = "name a folder; it is made if it is missing";
    if folder == Path::new("-") {
        let message = "several files are written, and `-` is standard output";
        return Err(Failure::new(message).hint(hint));
    }
    let name = folder.display();
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::new(format!("{name} is not a folder")).hint(hint));
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make the folder {name}: {error}")))
}
