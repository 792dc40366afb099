//! The report as a table: one row per figure, one column per kernel.

use indicatif::HumanCount;
use ptx_emulator::metrics::{Counters, InstructionClass, LineProfile, Precision};

use super::{KernelReport, Usage};
use crate::table::lines_up;

/// The most lines of a kernel in the table: first those with avoidable costs, then those with the
/// most instructions.
const LINES: usize = 12;

/// The figures of all kernels side by side, then the costliest lines of each.
pub fn table(kernels: &[KernelReport]) -> String {
    let mut text = aligned(&figures(kernels));
    for kernel in kernels {
        text += &format!("\n\n{}, its costliest lines:\n", kernel.name);
        text += &aligned(&lines(kernel));
    }
    text
}

/// A row of cells; the first is its name.
pub(super) type Row = Vec<String>;

/// One row per figure that is not empty for every kernel.
fn figures(kernels: &[KernelReport]) -> Vec<Row> {
    let columns: Vec<_> = kernels.iter().map(column).collect();
    let names = columns.first().into_iter().flatten().enumerate();
    let rows = names.map(|(at, (name, _))| {
        let cells = columns.iter().map(|column| column[at].1.clone());
        std::iter::once(name.clone()).chain(cells).collect()
    });
    let says_something = |row: &Row| {
        row[1..]
            .iter()
            .any(|cell| !["0", "-"].contains(&cell.as_str()))
    };
    rows.filter(says_something).collect()
}

/// All figures of a kernel; the same names in the same order for each.
fn column(kernel: &KernelReport) -> Vec<(String, String)> {
    let (profile, total) = (&kernel.profile, kernel.profile.total());
    let (shared, roofline) = (total.shared(), &kernel.roofline);
    let mut column = Vec::new();
    let mut add = |name: &str, cell: String| column.push((name.to_owned(), cell));
    add("", kernel.name.clone());
    add("blocks", extents(profile.config.grid));
    add("threads of a block", extents(profile.config.block));
    add("warp instructions", count(total.warp_instructions));
    for &class in InstructionClass::ALL {
        add(&format!("  {class}"), count(total.of_class(class)));
    }
    add("active lanes, of 32", number(total.active_lanes()));
    add("divergent branches", count(total.divergent_branches));
    add("barriers", count(total.barriers));
    add("shared requests", count(shared.requests));
    add("  wavefronts", count(shared.wavefronts));
    add(
        "  wavefronts a request",
        number(shared.wavefronts_per_request()),
    );
    add("  bank conflicts", times(shared.conflict_degree()));
    for (name, traffic) in [
        ("global loads", total.global_loads),
        ("global stores", total.global_stores),
        ("global atomics", total.global_atomics),
    ] {
        add(name, count(traffic.requests));
        add("  sectors a request", number(traffic.sectors_per_request()));
        add("  coalescing", percent(traffic.efficiency()));
    }
    add("local requests", count(total.local_requests));
    let resource = |of: fn(&Usage) -> u32| {
        let usage = kernel.usage.as_ref();
        usage.map_or("?".to_owned(), |usage| count(of(usage).into()))
    };
    add("registers of a thread", resource(|usage| usage.registers));
    add(
        "  bytes spilled",
        resource(|usage| usage.spill_stores + usage.spill_loads),
    );
    add("shared bytes of a block", count(profile.shared_bytes));
    add("occupancy", percent(Some(kernel.occupancy.ratio())));
    let limiters = kernel
        .occupancy
        .limiters()
        .map(|limiter| limiter.to_string());
    add("  limited by", limiters.collect::<Vec<_>>().join(", "));
    for &precision in Precision::ALL {
        add(
            &format!("{} operations", name_of(precision)),
            count(total.flops_in(precision)),
        );
    }
    let intensity = roofline.intensity().filter(|_| roofline.flops > 0);
    add(
        "operations a byte",
        intensity.map_or("-".to_owned(), |(low, high)| {
            format!("{low:.2} to {high:.2}")
        }),
    );
    add("  the ridge", number(roofline.ridge));
    add("bound by", roofline.side.name().to_owned());
    column
}

fn lines(kernel: &KernelReport) -> Vec<Row> {
    let all = kernel.profile.total().warp_instructions;
    // Of very many lines, only these are kept.
    let mut best: Vec<_> = Vec::new();
    for line in kernel.profile.lines() {
        let remarkable = !remarks(&line.counters).is_empty();
        let rank = std::cmp::Reverse((remarkable, line.counters.warp_instructions));
        let at = best.partition_point(|(known, _)| *known <= rank);
        if at < LINES {
            best.insert(at, (rank, line));
            best.truncate(LINES);
        }
    }
    let mut lines: Vec<LineProfile> = best.into_iter().map(|(_, line)| line).collect();
    lines.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let row = |line: &LineProfile| {
        let share = line.counters.warp_instructions as f64 / all as f64;
        let [instructions, others @ ..] = costs(&line.counters);
        let mut row = vec![
            format!("  {}", place(line)),
            instructions,
            percent(Some(share)),
        ];
        row.extend(others);
        row.push(remarks(&line.counters));
        row
    };
    let [instructions, others @ ..] = COSTS.map(str::to_owned);
    let mut header = vec!["  line".to_owned(), instructions, "share".to_owned()];
    header.extend(others);
    header.push(String::new());
    std::iter::once(header)
        .chain(lines.iter().map(row))
        .collect()
}

/// The heads of the columns that [`costs`] fills.
pub(super) const COSTS: [&str; 5] = [
    "instructions",
    "lanes",
    "wavefronts",
    "sectors/load",
    "sectors/store",
];

/// Instructions, active lanes per instruction, wavefronts per shared request, sectors per global
/// load and per store or atomic.
pub(super) fn costs(counters: &Counters) -> [String; 5] {
    let mut stores = counters.global_stores;
    stores += counters.global_atomics;
    [
        count(counters.warp_instructions),
        number(counters.active_lanes()),
        number(counters.shared().wavefronts_per_request()),
        number(counters.global_loads.sectors_per_request()),
        number(stores.sectors_per_request()),
    ]
}

/// A line's avoidable costs.
pub(super) fn remarks(counters: &Counters) -> String {
    let mut remarks = Vec::new();
    let (shared, global) = (counters.shared(), counters.global());
    if let Some(degree) = shared.conflict_degree().filter(|&degree| degree > 1.0) {
        remarks.push(format!("{degree:.1}-way bank conflict"));
    }
    if global.sectors > global.needed {
        let needed = global.needed as f64 / global.requests as f64;
        remarks.push(format!("{needed:.1} sectors a request would do"));
    }
    if counters.divergent_branches > 0 {
        let (divergent, all) = (counters.divergent_branches, counters.branches);
        remarks.push(format!(
            "{} of {} branches diverge",
            count(divergent),
            count(all)
        ));
    }
    if counters.local_requests > 0 {
        remarks.push(format!(
            "{} requests to local memory",
            count(counters.local_requests)
        ));
    }
    remarks.join("; ")
}

fn place(line: &LineProfile) -> String {
    match &line.file {
        Some(file) => format!("{}:{}", short(file), line.line),
        None => format!("PTX line {}", line.line),
    }
}

/// A path relative to the working directory, if it is below it.
pub(super) fn short(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = std::path::Path::new(file);
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Aligned columns: names to the left, figures to the right, and remarks, whose heading is empty.
pub(super) fn aligned(rows: &[Row]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let remarks = rows
        .first()
        .is_some_and(|row| row.len() > 1 && row[row.len() - 1].is_empty());
    lines_up(rows, 1..columns - usize::from(remarks))
}

pub(super) fn name_of(precision: Precision) -> &'static str {
    match precision {
        Precision::Half => "f16",
        Precision::Single => "f32",
        Precision::Double => "f64",
        Precision::Matrix => "matrix",
    }
}

fn count(count: u64) -> String {
    HumanCount(count).to_string()
}

fn extents(extents: [u32; 3]) -> String {
    let [x, y, z] = extents;
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn times(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}x"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{:.1} %", 100.0 * value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_emulator::metrics::{GlobalTraffic, SharedTraffic};

    #[test]
    fn counts_have_commas() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn figures_stand_below_each_other_and_remarks_behind_them() {
        let rows = [
            ["  line", "n", ""],
            ["  a.rs:1", "12", "why"],
            ["b", "1,234", "a long reason"],
        ];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            aligned(&rows),
            "  line        n\n  a.rs:1     12  why\nb         1,234  a long reason"
        );
    }

    #[test]
    fn a_line_that_costs_more_than_it_must_says_so() {
        let counters = Counters {
            shared_loads: SharedTraffic {
                requests: 2,
                wavefronts: 64,
                needed: 2,
            },
            global_stores: GlobalTraffic {
                requests: 2,
                sectors: 64,
                needed: 8,
                bytes: 256,
            },
            branches: 3,
            divergent_branches: 1,
            ..Counters::default()
        };
        assert_eq!(
            remarks(&counters),
            "32.0-way bank conflict; 4.0 sectors a request would do; 1 of 3 branches diverge"
        );
        assert_eq!(
            remarks(&Counters {
                branches: 3,
                ..Counters::default()
            }),
            ""
        );
    }
}
