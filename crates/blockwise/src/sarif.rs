//! Findings for code-scanning services: one SARIF file for all tests of all programs.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use ptx_emulator::CheckReport;
use ptx_emulator::report::{Sources, sarif, sarif_merged};

/// The variable that names the file, by an absolute path: the programs of a workspace's tests run in
/// different folders.
const VARIABLE: &str = "BLOCKWISE_SARIF";

/// Adds a check's findings to the file that the variable names. Says why if that fails.
pub(crate) fn add(report: &CheckReport, sources: &Sources) -> Option<String> {
    let file = std::env::var_os(VARIABLE).filter(|file| !file.is_empty())?;
    let file = PathBuf::from(file);
    let problem = add_to(&file, report, sources).err()?;
    Some(format!("{VARIABLE}={}: {problem}", file.display()))
}

fn add_to(path: &Path, report: &CheckReport, sources: &Sources) -> Result<(), String> {
    let working = std::env::current_dir().unwrap_or_default();
    // Services know files by their paths in the repository.
    let root = working
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    let sources = sources.clone().relative_to(root.unwrap_or(&working));
    let log = sarif(std::slice::from_ref(report), &sources);
    let text = |error: std::io::Error| error.to_string();
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(text)?;
    // Tests run at the same time, in several processes.
    file.lock().map_err(text)?;
    let mut old = String::new();
    file.read_to_string(&mut old).map_err(text)?;
    let new = match old.trim().is_empty() {
        true => log,
        false => sarif_merged(&old, &log).ok_or("it is there, and no SARIF log")?,
    };
    file.rewind().map_err(text)?;
    file.set_len(0).map_err(text)?;
    file.write_all(new.as_bytes()).map_err(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ptx_emulator::testing::Launch;

    use super::*;

    /// The findings of a kernel of this name, all of whose threads write one word.
    fn race(kernel: &str) -> CheckReport {
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {kernel}(.param .u64 p)\n{{\n\
             .reg .u64 %a;\n.reg .u32 %t;\nld.param.u64 %a, [p];\nmov.u32 %t, %tid.x;\nst.global.u32 [%a], %t;\nret;\n}}\n"
        );
        let mut word = [0_u32];
        let launch = Launch::of(&ptx).unwrap().kernel(kernel).block(64);
        launch.inout(&mut word).check().unwrap().report
    }

    fn kernels(text: &str) -> Vec<String> {
        let names = text.split("\"name\": \"").skip(1);
        let names = names.filter_map(|rest| rest.split('"').next());
        let mut names: Vec<_> = names
            .filter(|name| name.starts_with("k"))
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn findings_of_many_tests_are_in_one_log_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("all.sarif");
        let sources = Sources::new();
        let reports: Vec<_> = (0..8).map(|i| race(&format!("k{i}"))).collect();
        assert!(reports.iter().all(|report| !report.is_clean()));
        std::thread::scope(|scope| {
            for report in reports.iter().chain(&reports) {
                let (file, sources) = (&file, &sources);
                scope.spawn(move || add_to(file, report, sources).unwrap());
            }
        });
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(kernels(&text).len(), 8, "{text}");
        assert_eq!(text.matches("\"runs\"").count(), 1);
        let once = text.matches("\"locations\"").count();
        add_to(&file, &reports[0], &sources).unwrap();
        let again = fs::read_to_string(&file).unwrap();
        assert_eq!(again.matches("\"locations\"").count(), once);
    }

    #[test]
    fn what_is_no_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("all.sarif");
        for text in ["mine", "{}", "{\"runs\": []}", "[1]"] {
            fs::write(&file, text).unwrap();
            let error = add_to(&file, &race("k"), &Sources::new()).unwrap_err();
            assert!(error.contains("no SARIF log"), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let error = add_to(folder.path(), &race("k"), &Sources::new()).unwrap_err();
        assert!(!error.is_empty());
        // As the script of the action begins it.
        let empty = "{\"version\": \"2.1.0\", \"runs\": [{\"tool\": {\"driver\": {\"name\": \"blockwise\"}}, \"results\": []}]}";
        fs::write(&file, empty).unwrap();
        add_to(&file, &race("k"), &Sources::new()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("\"ruleIndex\"") && text.contains("\"rules\""),
            "{text}"
        );
    }
}
