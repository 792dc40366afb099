//! What the detectors report of the broken kernels: the rule, and the Rust lines of both sides.

use blockwise_tests::jobs;
use blockwise_tests::ptx::files;
use ptx_emulator::{CheckOptions, Finding, Limits, Module, Rule, Site};

/// A broken kernel, the rule that it breaks, a piece of the line that is reported, and one of the
/// other line if the report names two.
const REPORTED: [(&str, Rule, &str, Option<&str>); 17] = [
    (
        "conv1d_early_return",
        Rule::DivergentBarrier,
        "thread::sync_threads()",
        None,
    ),
    (
        "conv1d_halo_not_loaded",
        Rule::UninitialisedMemory,
        "output.add(i).write(sum)",
        Some("tile.add(thread + halo - k).read()"),
    ),
    (
        "conv1d_halo_off_by_one",
        Rule::OutOfBounds,
        "tile.add(slot).write(sample)",
        None,
    ),
    (
        "copy_off_by_one",
        Rule::OutOfBounds,
        "2.0 * *input.get_unchecked(i)",
        None,
    ),
    (
        "dot_missing_barrier",
        Rule::WriteAfterRead,
        "slots.add(thread).write(sum)",
        Some("slots.add(thread + half).read()"),
    ),
    (
        "load_misaligned",
        Rule::Misaligned,
        ".cast::<Four>().read()",
        None,
    ),
    (
        "matmul_accumulates",
        Rule::UninitialisedMemory,
        "element.write(sum)",
        Some("element.read()"),
    ),
    (
        "matmul_missing_barrier",
        Rule::WriteAfterRead,
        "tile_a.add(y * tile + x).write(from_a)",
        Some("tile_a.add(y * tile + k).read()"),
    ),
    (
        "matmul_uncovered_grid",
        Rule::UnwrittenOutput,
        "c.add(row * cols + col).write(sum)",
        None,
    ),
    (
        "named_barrier_wrong_count",
        Rule::InvalidOperand,
        "core::arch::asm!",
        None,
    ),
    (
        "reverse_copy_too_early",
        Rule::AsyncCopy,
        "tile.add(mirrored).read()",
        Some("core::arch::asm!"),
    ),
    (
        "reverse_missing_barrier",
        Rule::WriteAfterRead,
        "tile.add(thread).write(",
        Some("tile.add(count - 1 - thread).read()"),
    ),
    (
        "reverse_shared_too_small",
        Rule::OutOfBounds,
        ".write(*input.get_unchecked(",
        None,
    ),
    (
        "sum_barrier_in_branch",
        Rule::DivergentBarrier,
        "thread::sync_threads()",
        None,
    ),
    (
        "sum_blocks_race",
        Rule::ReadAfterWrite,
        "total.read() + sum",
        Some("total.write("),
    ),
    (
        "sum_shuffle_wrong_mask",
        Rule::InvalidMembers,
        "warp::warp_shuffle_down(",
        None,
    ),
    (
        "sum_unwritten_partials",
        Rule::UninitialisedMemory,
        "partials.write(sum)",
        Some("partials.add(lane).read()"),
    ),
];

#[test]
fn each_mistake_is_reported_at_its_lines() {
    let module = Module::parse(&files("broken_kernels")[0].text).expect("good PTX");
    let jobs = jobs::broken();
    for (kernel, rule, here, other) in REPORTED {
        let job = jobs.iter().find(|job| job.plan.kernel == kernel);
        let outcome = job
            .unwrap_or_else(|| panic!("no job for {kernel}"))
            .check(&module, &Limits::default(), &CheckOptions::default())
            .unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let fits = |finding: &Finding| {
            let mut others = finding.others.iter();
            finding.rule == rule
                && stands(kernel, &finding.site, here)
                && other.is_none_or(|text| others.any(|site| stands(kernel, site, text)))
        };
        let findings = &outcome.report.findings;
        assert!(findings.iter().any(fits), "{kernel}: {findings:#?}");
    }
}

/// Whether the line that a site names is in the kernel's own file and contains `text`.
fn stands(kernel: &str, site: &Site, text: &str) -> bool {
    let name = format!("broken_kernels/src/{kernel}.rs");
    let path = format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let place = site.place.to_string();
    let lines = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(text));
    lines
        .into_iter()
        .any(|(index, _)| place.contains(&format!("{name}:{}:", index + 1)))
}
