//! Barriers that threads may miss, as users write them.

use std::collections::BTreeSet;

use cuda_builder::{CudaBuilder, CudaBuilderError};

use crate::common::{assert_success, child_folder, in_child, member, repository, text, workspace};

const SOURCE: &str = include_str!("divergence.rs");

#[track_caller]
fn reports(result: Result<impl Sized, CudaBuilderError>) -> Vec<String> {
    match result.err() {
        Some(CudaBuilderError::Divergence { reports }) => reports,
        Some(error) => panic!("{error}"),
        None => panic!("nothing is reported"),
    }
}

/// The report that begins so.
#[track_caller]
fn report_of<'r>(reports: &'r [String], kernel: &str) -> &'r str {
    let start = format!("kernel `{kernel}`: ");
    let found = reports.iter().find(|report| report.starts_with(&start));
    found.unwrap_or_else(|| panic!("nothing of {kernel}: {reports:#?}"))
}

/// `src/lib.rs:7:`, for the line with this mark.
#[track_caller]
fn line(mark: &str) -> String {
    let mark = format!("// {mark}");
    let line = SOURCE.lines().position(|line| line.ends_with(&mark));
    format!("src/lib.rs:{}:", 1 + line.unwrap())
}

/// The crate of [`SOURCE`] is built once for all: whether findings are errors changes no file.
#[test]
fn every_way_to_miss_a_barrier_is_reported_with_both_lines_and_no_other() {
    if let Some(folder) = child_folder() {
        CudaBuilder::new(folder).build().unwrap();
        return;
    }
    let folder = member("missed", "", SOURCE);
    let reports = reports(CudaBuilder::new(&folder).deny_divergence(true).build());
    let at_branches = [
        "branch",
        "early_return",
        "rounds",
        "through_calls",
        "short_circuit",
        "dropped",
        "after_a_loop",
        "own_element",
        "half_a_warp",
    ];
    for kernel in at_branches {
        let report = report_of(&reports, kernel);
        let (wait, branch) = report.split_once(": the branch at ").unwrap();
        let (_, wait) = wait.split_once(" at ").unwrap();
        let (first_wait, first_branch) = match kernel {
            // The kernel's own line comes first, in whatever function the rest is.
            "through_calls" => ("kernel", "kernel"),
            "short_circuit" => ("branch", "branch"),
            _ => ("wait", "branch"),
        };
        for (place, mark) in [(wait, first_wait), (branch, first_branch)] {
            let expected = format!("members/missed/{}", line(&format!("{kernel}: {mark}")));
            assert!(place.starts_with(&expected), "{expected} {report}");
        }
        let of_library = ["cuda_std", "library/core"];
        assert!(
            !of_library.iter().any(|name| report.contains(name)),
            "{report}"
        );
    }
    let through = report_of(&reports, "through_calls");
    let places = [
        "through_calls: kernel",
        "through_calls: inner wait",
        "step: wait",
        "through_calls: inner branch",
    ];
    let places = places.map(|mark| through.find(&line(mark)).unwrap());
    assert!(places.is_sorted(), "{through}");
    assert!(through.contains("in `missed::step` at "), "{through}");

    let shuffle = report_of(&reports, "half_a_warp");
    assert!(shuffle.contains("`shfl.sync.down.b32` at "), "{shuffle}");
    let object = report_of(&reports, "trait_object");
    assert!(
        object.contains("`<missed::Waits as missed::Stage>::run` may be reached through a pointer"),
        "{object}"
    );
    let recursive = report_of(&reports, "recursive");
    assert!(
        recursive.contains("`missed::countdown`, called at "),
        "{recursive}"
    );
    assert!(recursive.contains(&line("recursive: wait")), "{recursive}");

    let kernels: BTreeSet<_> = reports
        .iter()
        .filter_map(|report| report.split('`').nth(1))
        .collect();
    let expected = at_branches.into_iter().chain(["trait_object", "recursive"]);
    assert_eq!(kernels, expected.collect(), "{reports:#?}");

    // Otherwise it is a warning, which every build shows.
    let target = workspace("missed").join("target");
    let built = || {
        let ptx = target.join("cuda-builder/sm_80/ptx/missed.ptx");
        std::fs::metadata(ptx).unwrap().modified().unwrap()
    };
    let before = built();
    let warning =
        "cargo:warning=kernel `early_return`: not all threads of the block reach the barrier at ";
    for _ in 0..2 {
        let test =
            "uniformity::every_way_to_miss_a_barrier_is_reported_with_both_lines_and_no_other";
        let out = [("OUT_DIR", target.to_str().unwrap())];
        let said = assert_success(&in_child(test, &folder, &out));
        assert_eq!(said.matches(warning).count(), 1, "{said}");
        assert!(!said.contains("warning=kernel `whole_warps`"), "{said}");
    }
    assert_eq!(built(), before, "nothing was built again");
}

/// What `#[kernel]` writes of a safe kernel, and of one that says why it may.
const MARKED: &str = "
    use cuda_std::prelude::*;
    fn miss() { if thread::thread_idx_x() < 40 { thread::sync_threads() } }
    #[unsafe(no_mangle)] #[unsafe(link_section = \"cuda_std.kernel.uniform=MARK\")]
    pub extern \"ptx-kernel\" fn marked() { miss() }";

#[test]
fn a_safe_kernel_is_refused_and_one_that_says_why_is_not() {
    let folder = member("safe", "", &MARKED.replace("MARK", "error"));
    let refused = reports(CudaBuilder::new(folder).build());
    assert!(
        matches!(&refused[..], [report] if report.starts_with("kernel `marked`: ")),
        "{refused:#?}"
    );

    let folder = member("allowed", "", &MARKED.replace("MARK", "allow"));
    CudaBuilder::new(folder)
        .deny_divergence(true)
        .build()
        .unwrap();
}

#[test]
fn marks_leave_nothing_in_the_code() {
    let source = "use cuda_std::prelude::*;
        unsafe extern \"C\" { fn __cuda_std_warp_uniform(value: u32) -> u32; }
        #[kernel] pub unsafe fn marked(out: *mut u32) {
            unsafe { *out = __cuda_std_warp_uniform(thread::thread_idx_x()) + 1 };
        }";
    let ptx = text(
        CudaBuilder::new(member("marks", "", source))
            .build()
            .unwrap(),
    );
    assert!(!ptx.contains("__cuda_std_warp_uniform"), "{ptx}");
}

#[test]
fn of_the_broken_kernels_those_are_reported_that_miss_something() {
    let broken = CudaBuilder::new(repository().join("broken_kernels"));
    let reports = reports(broken.deny_divergence(true).build());
    let kernels: Vec<_> = reports
        .iter()
        .filter_map(|report| report.split('`').nth(1))
        .collect();
    assert_eq!(
        kernels,
        [
            "conv1d_early_return",
            "sum_barrier_in_branch",
            "sum_shuffle_wrong_mask"
        ]
    );
}
