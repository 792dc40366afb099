//! Versions of compilers and tools.

use std::fmt;

/// A version of three numbers. Suffixes (`-nightly`, `-rust-1.95.0-stable`, `+dfsg1`) are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number; 0 if the text has only two.
    pub patch: u32,
}

impl Version {
    /// The version `major.minor.patch`.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Parses the numbers at the start of `text`: `22.1.8`, `22.1`, `1.97.0-nightly`,
    /// `22.1.2-rust-1.95.0-stable`. `None` if it does not start with at least two numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut numbers = text[..end].trim_end_matches('.').split('.').map(str::parse);
        let major = numbers.next()?.ok()?;
        let minor = numbers.next()?.ok()?;
        let patch = numbers.next().unwrap_or(Ok(0)).ok()?;
        Some(Self {
            major,
            minor,
            patch,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_forms_that_tools_print() {
        assert_eq!(Version::parse("22.1.8"), Some(Version::new(22, 1, 8)));
        assert_eq!(Version::parse("22.1"), Some(Version::new(22, 1, 0)));
        assert_eq!(
            Version::parse("22.1.2-rust-1.95.0-stable"),
            Some(Version::new(22, 1, 2))
        );
        assert_eq!(
            Version::parse("1.97.0-nightly"),
            Some(Version::new(1, 97, 0))
        );
        assert_eq!(Version::parse("1.96.0\n"), Some(Version::new(1, 96, 0)));
    }

    #[test]
    fn refuses_what_is_no_version() {
        for text in ["", "unknown", "22", "22.", ".1.2", "1..2", "99999999999.1"] {
            assert_eq!(Version::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn orders_by_number_not_by_text() {
        assert!(Version::new(22, 1, 10) > Version::new(22, 1, 8));
        assert!(Version::new(9, 0, 0) < Version::new(22, 0, 0));
    }
}
