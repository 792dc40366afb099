//! `blockwise scale`: predictions, their JSON, and what is refused.

use std::path::Path;

use crate::command::Run;

fn line(line: &str) -> Run {
    Run::line(Path::new("."), line)
}

#[test]
fn every_operation_is_predicted_and_says_what_binds() {
    for (operation, bound) in [
        ("sum --sizes 2^33", "memory"),
        ("min --sizes 2^33 --type f64", "memory"),
        ("max --sizes 2^33", "memory"),
        ("dot --sizes 2^32", "memory"),
        ("conv --sizes 2^30,31", "memory"),
        ("matmul --sizes 16384,16384,16384", "arithmetic"),
        ("transpose --sizes 2^15,2^15", "memory"),
    ] {
        let run = line(&format!("--json scale {operation}")).ends(0).json();
        let rows = run["predictions"].as_array().unwrap();
        assert_eq!(rows.len(), 11, "{operation}");
        let first = &rows[0];
        assert_eq!(first["bound"], bound, "{operation}");
        assert_eq!(
            (&first["gpus"], &first["received_bytes"]),
            (&1.into(), &0.into())
        );
        assert_eq!(first["efficiency"], 1.0);
        let last = &rows[10];
        assert_eq!(last["gpus"], 1024);
        assert!(last["efficiency"].as_f64().unwrap() < 1.0, "{operation}");
    }
}

#[test]
fn links_and_hosts_are_chosen() {
    let seconds = |rest: &str| {
        let command = format!("--json scale transpose --sizes 2^15,2^15 --gpus 8 {rest}");
        let run = line(&command).ends(0).json();
        run["predictions"][0]["seconds"].as_f64().unwrap()
    };
    let nvlink = seconds("");
    assert!(seconds("--link pcie") > nvlink);
    assert!(seconds("--link host") > seconds("--link pcie"));
    assert!(seconds("--gpus-per-host 4") > nvlink);
    // An H100's memory is slower.
    let sum = |gpu: &str| {
        let run = line(&format!(
            "--json scale sum --sizes 2^33 --gpus 1 --gpu {gpu}"
        ));
        let run = run.ends(0).json();
        run["predictions"][0]["seconds"].as_f64().unwrap()
    };
    assert!(sum("h100") > 1.3 * sum("h200"));
}

#[test]
fn a_table_names_memory_that_does_not_suffice() {
    let run = line("scale sum --sizes 2^36 --gpus 1,4").ends(0);
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(
        lines[1].ends_with("memory; does not fit in memory"),
        "{run:?}"
    );
    assert!(lines[2].ends_with("memory"), "{run:?}");
}

#[test]
fn predictions_are_drawn_beside_the_perfect_line() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("new/plots");
    let run = line(&format!(
        "scale matmul --sizes 16384,16384,16384 --gpu h100 --plot {}",
        plots.display()
    ));
    let run = run.ends(0);
    for file in ["scale.png", "scale.svg"] {
        let file = plots.join(file);
        assert!(file.is_file());
        assert!(
            run.stdout.contains(&format!("plot: {}", file.display())),
            "{run:?}"
        );
    }
    let svg = std::fs::read_to_string(plots.join("scale.svg")).unwrap();
    for text in [
        "matmul of 16384 × 16384 × 16384 f32 on H100 over nvlink, predicted",
        "on 1024<",
        "bound by arithmetic",
    ] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    let json = line(&format!(
        "--json scale sum --sizes 2^33 --plot {}",
        plots.display()
    ));
    let json = json.ends(0).json();
    assert_eq!(json["plots"].as_array().map(Vec::len), Some(2));
    line("scale sum --sizes 2^20 --plot /dev/null/plots").refused("/dev/null/plots");
}

#[test]
fn extents_that_do_not_suit_are_refused() {
    line("scale matmul --sizes 3,4").refused("rows,inner,columns are wanted");
    line("scale sum --sizes 3,4").refused("the elements are wanted");
    line("scale conv --sizes 0,4").refused("the signal is empty");
    for (usage, why) in [
        ("scale sum --sizes x", "a whole number, such as"),
        ("scale sum --sizes 2^99", "a whole number, such as"),
        (
            "scale sum --sizes 5 --gpus 0",
            "a whole number from 1 to 4096",
        ),
    ] {
        let run = line(usage).ends(2);
        assert!(run.stderr.contains(why), "{run:?}");
    }
}
