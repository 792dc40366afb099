//! Which driver loads which PTX.

use std::fs;

use cust::CudaApiVersion;

/// A version's two numbers.
type Version = (u32, u32);

/// Versions of PTX from the oldest that `cuda_builder` writes, the CUDA that came with each, and the
/// branch of the driver that is of that CUDA. NVIDIA's history of PTX and the toolkit's release notes
/// have them; 12.7 is a driver's CUDA without a toolkit.
const LOADED_BY: [(Version, Version, u32); 20] = [
    ((7, 0), (11, 0), 450),
    ((7, 1), (11, 1), 455),
    ((7, 2), (11, 2), 460),
    ((7, 3), (11, 3), 465),
    ((7, 4), (11, 4), 470),
    ((7, 5), (11, 5), 495),
    ((7, 6), (11, 6), 510),
    ((7, 7), (11, 7), 515),
    ((7, 8), (11, 8), 520),
    ((8, 0), (12, 0), 525),
    ((8, 1), (12, 1), 530),
    ((8, 2), (12, 2), 535),
    ((8, 3), (12, 3), 545),
    ((8, 4), (12, 4), 550),
    ((8, 5), (12, 5), 555),
    ((8, 6), (12, 7), 565),
    ((8, 7), (12, 8), 570),
    ((8, 8), (12, 9), 575),
    ((9, 0), (13, 0), 580),
    ((9, 1), (13, 1), 590),
];

/// Why a driver refuses this PTX, if it is too old for it: both versions, and the driver that loads it.
pub(super) fn too_old(ptx: &str) -> Option<String> {
    let driver = CudaApiVersion::get().ok()?;
    let driver = (
        u32::try_from(driver.major()).ok()?,
        u32::try_from(driver.minor()).ok()?,
    );
    needed(version(ptx)?, driver).map(|needed| {
        let installed = release().map_or(String::new(), |it| format!(", version {it}"));
        format!(
            "{needed}; this driver has CUDA {}.{}{installed}",
            driver.0, driver.1
        )
    })
}

/// What a driver of this CUDA lacks for PTX of a version.
fn needed(ptx: Version, driver: Version) -> Option<String> {
    let of = format!("its PTX is of version {}.{}", ptx.0, ptx.1);
    // Older versions have no rows.
    match LOADED_BY.iter().find(|(version, ..)| *version >= ptx) {
        Some((_, cuda, _)) if driver >= *cuda => None,
        Some((_, cuda, branch)) => Some(format!(
            "{of}, for which the driver must have CUDA {}.{}, as {branch} and newer do",
            cuda.0, cuda.1
        )),
        None => {
            let (_, cuda, branch) = LOADED_BY.last()?;
            let newer = || format!("{of}, for which the driver must be newer than {branch}");
            (driver <= *cuda).then(newer)
        }
    }
}

/// The version that a PTX text asks for.
fn version(ptx: &str) -> Option<Version> {
    let directive = ptx
        .lines()
        .find_map(|line| line.trim().strip_prefix(".version"))?;
    let (major, rest) = directive.trim().split_once('.')?;
    let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The driver's own version, `580.159.03`, where the system shows it.
fn release() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    release_in(&text)
}

fn release_in(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let mut words = text.lines().next()?.split_whitespace();
    words.find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn row(ptx: Version) -> (Version, u32) {
        let mut rows = LOADED_BY.iter();
        let (_, cuda, branch) = rows.find(|(version, ..)| *version == ptx).expect("a row");
        (*cuda, *branch)
    }

    #[test]
    fn a_driver_that_is_too_old_is_told_with_the_one_that_is_needed() {
        let said = needed((8, 1), (11, 4)).expect("too old");
        assert!(
            said.contains("version 8.1") && said.contains("CUDA 12.1, as 530 and newer"),
            "{said}"
        );
        for (ptx, driver) in [
            ((7, 0), (11, 0)),
            ((6, 0), (11, 0)),
            ((8, 6), (12, 7)),
            ((9, 0), (13, 0)),
            ((9, 1), (13, 1)),
        ] {
            assert_eq!(needed(ptx, driver), None, "{ptx:?} {driver:?}");
        }
        for (ptx, driver) in [
            ((7, 0), (10, 2)),
            ((8, 0), (11, 8)),
            ((8, 6), (12, 6)),
            ((9, 0), (12, 9)),
        ] {
            assert!(needed(ptx, driver).is_some(), "{ptx:?} {driver:?}");
        }
        let beyond = needed((9, 4), (13, 1)).expect("too old");
        assert!(beyond.contains("newer than 590"), "{beyond}");
    }

    #[test]
    fn versions_are_read_where_they_stand() {
        assert_eq!(
            version("//\n// a\n.version 8.1\n.target sm_80\n"),
            Some((8, 1))
        );
        assert_eq!(version("  .version\t7.0 // b\n"), Some((7, 0)));
        for text in [
            "",
            ".version",
            ".version x.y",
            ".version 8",
            "// .version 8.1",
        ] {
            assert_eq!(version(text), None, "{text}");
        }
        let shown = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build\nGCC version: 12.2";
        assert_eq!(release_in(shown).as_deref(), Some("580.159.03"));
        assert_eq!(release_in("NVRM version: none\n12.2"), None);
    }

    /// docs/supported.md: the drivers of its GPUs, and its table of drivers.
    #[test]
    fn the_documents_drivers_are_those_of_the_errors() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/supported.md");
        let page = fs::read_to_string(page).expect("the page");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
        let rows: Vec<Vec<&str>> = rows
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let read = |text: &str| {
            let (major, minor) = text.split_once('.').expect("a version");
            (
                major.parse().expect("a number"),
                minor.parse().expect("a number"),
            )
        };
        let mut asked: Vec<Version> = Vec::new();
        for gpu in rows.iter().filter(|row| row[0].starts_with("sm_")) {
            let [name, _, _, _, ptx, driver, ..] = gpu[..] else {
                panic!("{gpu:?}")
            };
            // A driver must know the GPU too: Blackwell came with CUDA 12.8.
            let blackwell = u32::from(name.starts_with("sm_1")) * row((8, 7)).1;
            let branch = row(read(ptx)).1.max(blackwell);
            assert_eq!(driver, branch.to_string(), "{name}");
            asked.push(read(ptx));
        }
        // What many parameters ask for.
        asked.push((8, 1));
        asked.sort_unstable();
        asked.dedup();
        let mut listed = Vec::new();
        for row_of in rows.iter().filter(|row| row[0].starts_with("PTX ")) {
            let [ptx, cuda, driver, ..] = row_of[..] else {
                panic!("{row_of:?}")
            };
            let ptx = read(ptx.trim_start_matches("PTX "));
            let (needed, branch) = row(ptx);
            assert_eq!(read(cuda), needed, "{ptx:?}");
            assert!(
                driver.starts_with(&format!("{branch}.")),
                "{ptx:?}: {driver}"
            );
            listed.push(ptx);
        }
        assert_eq!(listed, asked, "the versions that our PTX asks for");
    }
}
