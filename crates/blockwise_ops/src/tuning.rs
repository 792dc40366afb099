//! Kernels that `blockwise tune --save` found to be faster on a device than the launchers' choice.
//!
//! They are in one file for all of a user's devices: `BLOCKWISE_TUNING` if that is set, else
//! `blockwise/tuning.txt` in `XDG_CONFIG_HOME` or `~/.config`. A process reads it once, before its
//! first choice. Lines that it does not understand are ignored, and [`problem`] reports them.
//!
//! ```text
//! [NVIDIA H200, 132 multiprocessors]
//! sum f32 5000 shuffle
//! transpose f32 1000x1000 padded
//! ```
//!
//! A line applies to sizes near its own: each extent within a factor of √2.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

use blockwise::DeviceProperties;

/// A kernel for an operation at a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The operation, such as `sum`.
    pub operation: String,
    /// The element type's name in Rust.
    pub ty: String,
    /// The extents.
    pub extents: Vec<usize>,
    /// The kernel's name in its family.
    pub kernel: String,
}

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Saved {
    /// Each device with its rules.
    devices: Vec<(String, Vec<Rule>)>,
    problem: Option<String>,
}

/// The key of a device's rules: its name and multiprocessors, but not its driver.
fn key(properties: &DeviceProperties) -> String {
    let multiprocessors = properties.multiprocessors_to_fill();
    format!("{}, {multiprocessors} multiprocessors", properties.name)
}

/// Where the file is; `None` when no variable names a folder.
pub fn path() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = folder("BLOCKWISE_TUNING") {
        return Some(path.into());
    }
    let config = folder("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(folder("HOME")?).join(".config")))?;
    Some(config.join("blockwise").join("tuning.txt"))
}

/// What is wrong with the file, if something is.
pub fn problem() -> Option<&'static str> {
    saved().problem.as_deref()
}

/// The number of rules that the file has for a device.
pub fn rules(properties: &DeviceProperties) -> usize {
    saved().of(&key(properties)).map_or(0, <[Rule]>::len)
}

/// The name of the saved kernel for an operation at a size.
pub(crate) fn name(
    properties: &DeviceProperties,
    operation: &str,
    ty: &str,
    extents: &[usize],
) -> Option<&'static str> {
    let saved = saved();
    if saved.devices.is_empty() {
        return None;
    }
    let rules = saved.of(&key(properties))?.iter();
    let mut near = rules.filter(|rule| rule.holds(operation, ty, extents));
    // The last rule in the file is the newest.
    Some(&near.next_back()?.kernel)
}

/// The file's path, and its text with a device's rules added or, for the same sizes, replaced.
/// Other devices' rules stay; comments in the file do not.
///
/// # Errors
/// When no variable says where the file is, or the file there is broken.
pub fn with(properties: &DeviceProperties, rules: &[Rule]) -> io::Result<(PathBuf, String)> {
    changed(properties, |old| {
        let replaced = |old: &Rule| {
            let same = |rule: &Rule| old.names_what(rule);
            rules.iter().any(same)
        };
        old.retain(|old| !replaced(old));
        old.extend_from_slice(rules);
    })
}

/// The file's path, and its text without a device's rules.
///
/// # Errors
/// As for [`with`].
pub fn without(properties: &DeviceProperties) -> io::Result<(PathBuf, String)> {
    changed(properties, Vec::clear)
}

fn changed(
    properties: &DeviceProperties,
    edit: impl FnOnce(&mut Vec<Rule>),
) -> io::Result<(PathBuf, String)> {
    let path = path().ok_or_else(|| {
        io::Error::other("neither BLOCKWISE_TUNING nor HOME says where to save it")
    })?;
    let mut saved = Saved::read(&path);
    if let Some(problem) = saved.problem {
        return Err(io::Error::other(problem));
    }
    let key = key(properties);
    let at = saved.devices.iter().position(|(device, _)| *device == key);
    let at = at.unwrap_or_else(|| {
        saved.devices.push((key, Vec::new()));
        saved.devices.len() - 1
    });
    edit(&mut saved.devices[at].1);
    saved.devices.retain(|(_, rules)| !rules.is_empty());
    let text = saved.to_string();
    Ok((path, text))
}

fn saved() -> &'static Saved {
    static SAVED: OnceLock<Saved> = OnceLock::new();
    SAVED.get_or_init(|| path().map_or_else(Saved::default, |path| Saved::read(&path)))
}

impl Rule {
    fn names_what(&self, other: &Rule) -> bool {
        (&self.operation, &self.ty, &self.extents) == (&other.operation, &other.ty, &other.extents)
    }

    fn holds(&self, operation: &str, ty: &str, extents: &[usize]) -> bool {
        let near = |(&own, &other): (&usize, &usize)| {
            let ratio = own as f64 / other as f64;
            (0.5..=2.0).contains(&(ratio * ratio))
        };
        self.operation == operation
            && self.ty == ty
            && self.extents.len() == extents.len()
            && self.extents.iter().zip(extents).all(near)
    }
}

impl Saved {
    fn read(path: &PathBuf) -> Self {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self {
                problem: Some(format!(
                    "{}: {error}; no saved choice is used",
                    path.display()
                )),
                ..Self::default()
            },
        }
    }

    fn parse(text: &str, name: &str) -> Self {
        let mut saved = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let device = line.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let rule = line.parse::<Rule>();
            match (device, saved.devices.last_mut(), rule) {
                (Some(device), ..) => saved.devices.push((device.to_owned(), Vec::new())),
                (None, Some((_, rules)), Ok(rule)) => rules.push(rule),
                _ => {
                    let number = index + 1;
                    let problem = format!(
                        "{name}:{number}: `{line}` is no saved choice; correct the line or delete \
                         the file, `blockwise tune --save` writes it again"
                    );
                    saved.problem.get_or_insert(problem);
                }
            }
        }
        saved
    }

    fn of(&self, key: &str) -> Option<&[Rule]> {
        let device = self.devices.iter().find(|(device, _)| device == key);
        device.map(|(_, rules)| &rules[..])
    }
}

impl FromStr for Rule {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [operation, ty, size, kernel] = words[..] else {
            return Err(());
        };
        let extents = size.split('x').map(str::parse).collect::<Result<_, _>>();
        Ok(Self {
            operation: operation.to_owned(),
            ty: ty.to_owned(),
            extents: extents.map_err(|_| ())?,
            kernel: kernel.to_owned(),
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<_> = self.extents.iter().map(usize::to_string).collect();
        let size = extents.join("x");
        write!(f, "{} {} {size} {}", self.operation, self.ty, self.kernel)
    }
}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Kernels that were faster than the launchers' choice: `blockwise tune --save`."
        )?;
        for (device, rules) in &self.devices {
            writeln!(f, "[{device}]")?;
            rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a note\n[one, 4 multiprocessors]\nsum f32 1000 tree\n\
        transpose f32 100x200 naive\n[two, 5 multiprocessors]\nsum f32 1000 wide\n";

    #[test]
    fn a_file_is_read_as_written_and_devices_stay_apart() {
        let saved = Saved::parse(TEXT, "file");
        assert_eq!(saved.problem, None);
        assert_eq!(Saved::parse(&saved.to_string(), "file"), saved);
        let one = saved.of("one, 4 multiprocessors").expect("its rules");
        assert_eq!((one.len(), &*one[0].kernel), (2, "tree"));
        assert_eq!(saved.of("one, 5 multiprocessors"), None);
    }

    #[test]
    fn a_rule_holds_near_its_size_only() {
        let rule: Rule = "transpose f32 100x200 naive".parse().expect("a rule");
        for (extents, holds) in [
            (&[100, 200][..], true),
            (&[141, 142], true),
            (&[142, 200], false),
            (&[100, 141], false),
            (&[200, 100], false),
            (&[100], false),
        ] {
            assert_eq!(
                rule.holds("transpose", "f32", extents),
                holds,
                "{extents:?}"
            );
        }
        assert!(!rule.holds("transpose", "f64", &[100, 200]));
        assert!(!rule.holds("sum", "f32", &[100, 200]));
    }

    #[test]
    fn a_broken_line_is_named_and_the_others_count() {
        let saved = Saved::parse(&TEXT.replace("100x200", "many"), "file");
        let problem = saved.problem.as_deref().unwrap_or_default();
        assert!(problem.starts_with("file:4: "), "{problem}");
        assert_eq!(saved.devices.len(), 2);
        let alone = Saved::parse("sum f32 1000 tree", "file");
        assert!(alone.problem.is_some(), "it has no device");
    }
}
