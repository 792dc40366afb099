//! compute-sanitizer on a GPU beside our detectors: what it said is stored in
//! `tests/fixtures/compute_sanitizer.txt`.

use std::collections::BTreeSet;

use ptx_emulator::Tool;

/// The tools that both have, in the order of the table.
pub const TOOLS: [(&str, Tool); 4] = [
    ("memcheck", Tool::Memcheck),
    ("racecheck", Tool::Racecheck),
    ("initcheck", Tool::Initcheck),
    ("synccheck", Tool::Synccheck),
];

/// One line of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// compute-sanitizer's tool, or `plain` for a run without it.
    pub tool: String,
    /// The kernel, or `good` for all sound ones.
    pub kernel: String,
    /// Whether the results were `right` or `wrong`; `none` when the launch failed.
    pub result: String,
    /// The summary line, or the driver's error.
    pub summary: String,
}

impl Recorded {
    /// Whether the tool found something.
    pub fn found(&self) -> bool {
        let none = ["ERROR SUMMARY: 0 errors", "(0 errors, 0 warnings)"];
        !none.iter().any(|none| self.summary.ends_with(none))
    }
}

/// Reads the recording.
///
/// # Panics
/// When a line has not five columns.
pub fn recording(text: &str) -> Vec<Recorded> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &str| {
        let columns: Vec<_> = line.split(" | ").map(str::to_owned).collect();
        let [tool, kernel, result, summary, _] =
            <[String; 5]>::try_from(columns).unwrap_or_else(|_| panic!("five columns: {line}"));
        Recorded {
            tool,
            kernel,
            result,
            summary,
        }
    };
    lines.map(read).collect()
}

/// The table of the documentation, and the cells where only one side found something, as "tool,
/// kernel". `ours` says which of our detectors found something in a kernel.
pub fn table(
    recording: &[Recorded],
    ours: impl Fn(&str) -> BTreeSet<Tool>,
) -> (String, BTreeSet<String>) {
    let mut table =
        "| kernel | result on the GPU | memcheck | racecheck | initcheck | synccheck |\n\
                     | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    let mut differences = BTreeSet::new();
    for plain in recording.iter().filter(|line| line.tool == "plain") {
        let kernel = &plain.kernel;
        let result = if plain.result == "none" {
            "failed"
        } else {
            &plain.result
        };
        table += &format!("| `{kernel}` | {result} |");
        let ours = ours(kernel);
        for (name, tool) in TOOLS {
            let mut of = recording
                .iter()
                .filter(|line| line.tool == name && line.kernel == *kernel);
            let theirs = of.next().is_some_and(Recorded::found);
            let cell = match (theirs, ours.contains(&tool)) {
                (true, true) => "both",
                (true, false) => "theirs",
                (false, true) => "ours",
                (false, false) => "",
            };
            if theirs != ours.contains(&tool) {
                differences.insert(format!("{name}, {kernel}"));
            }
            table += &format!(" {cell} |");
        }
        table.push('\n');
    }
    (table, differences)
}
