//! What a replacement file inherits from the file that it replaces: owner, permissions, access list
//! and attributes. Never more than the user may set: if the group cannot be kept, the group gets
//! the permissions of everybody.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Read, write and execute, for owner, group and everybody.
const RIGHTS: u32 = 0o777;

/// The number of hard links of the file at `path`, if there are several.
pub(super) fn names(path: &Path) -> Option<u64> {
    let about = std::fs::metadata(path).ok()?;
    Some(about.nlink()).filter(|&names| names > 1)
}

/// Gives `file`, so far readable by its owner only, the properties of the file at `path`, if it
/// exists.
pub(super) fn take_over(file: &File, path: &Path) -> io::Result<()> {
    let old = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        old => old?,
    };
    let mut mode = old.mode() & RIGHTS;
    // Only root may give a file away; its group must be one of the owner's.
    let _ = fchown(file, None, Some(old.gid()));
    let _ = fchown(file, Some(old.uid()), None);
    if file.metadata()?.gid() != old.gid() || !attributes::copy(path, file) {
        mode = as_everybody(mode);
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// Limits the group to the permissions of everybody.
fn as_everybody(mode: u32) -> u32 {
    mode & !0o070 | mode & (mode & 0o007) << 3
}

#[cfg(target_os = "linux")]
mod attributes {
    use std::ffi::{CStr, CString};
    use std::fs::File;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, getxattr, listxattr};

    /// The access list.
    const ACCESS: &CStr = c"system.posix_acl_access";

    /// The most bytes of an attribute, and of all names (Linux).
    const LARGEST: usize = 1 << 16;

    /// Copies the access list, the SELinux label and the user's own attributes; returns whether the
    /// access list is then that of `path`.
    pub(super) fn copy(path: &Path, file: &File) -> bool {
        let mut names = vec![0; LARGEST];
        let Ok(len) = listxattr(path, &mut names[..]) else {
            // The file system does not support attributes.
            return true;
        };
        let names = names[..len].split_inclusive(|&byte| byte == 0);
        let names: Vec<CString> = names
            .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
            .map(CStr::to_owned)
            .collect();
        let mut value = vec![0; LARGEST];
        let mut copy = |name: &CStr| {
            let len = getxattr(path, name, &mut value[..]).ok()?;
            fsetxattr(file, name, &value[..len], XattrFlags::empty()).ok()
        };
        for name in &names {
            let bytes = name.to_bytes();
            if bytes.starts_with(b"user.") || bytes == b"security.selinux" {
                // An attribute that cannot be copied grants no permissions.
                let _ = copy(name);
            }
        }
        match names.iter().any(|name| name.as_c_str() == ACCESS) {
            true => copy(ACCESS).is_some(),
            false => {
                // The folder may have set a default one.
                let _ = fremovexattr(file, ACCESS);
                true
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod attributes {
    /// Not supported on other systems.
    pub(super) fn copy(_: &std::path::Path, _: &std::fs::File) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::as_everybody;

    #[test]
    fn a_group_that_changes_gets_what_everybody_has() {
        for (mode, expected) in [
            (0o640, 0o600),
            (0o664, 0o644),
            (0o660, 0o600),
            (0o644, 0o644),
            (0o626, 0o626),
            (0o604, 0o604),
            (0o777, 0o777),
            (0o070, 0o000),
        ] {
            assert_eq!(as_everybody(mode), expected, "{mode:04o}");
        }
    }
}
