//! The chart: how close each work comes to its ceiling, by us and by each peer.

use super::{OURS, Report, Row, TWIN};
use crate::plot::{
    Anchor, Axis, BAND, Color, Figure, Frame, INK, LINE, MARGIN, QUIET, Scale, WIDTH, across,
    around, as_svg, of_implementation, plain, width,
};

/// Of a work.
const HEIGHT: f64 = 20.0;
/// The most room for the works' names.
const MOST_LEFT: f64 = 300.0;

/// An SVG with a row for each work: our fastest kernel, and the fastest of each peer. The twins of
/// our own kernels are left out. By powers of ten, because a work that needs fewer operations than
/// the ceiling assumes can be far beyond it.
pub fn svg(report: &Report) -> String {
    let (works, left_out) = shares(report);
    let mut all: Vec<&str> = Vec::new();
    for (name, _) in works.iter().flat_map(|(_, marks)| marks) {
        if !all.contains(name) {
            all.push(name);
        }
    }
    all.sort_by_key(|name| *name != OURS);
    let label = |name: &&str| match report.run.versions.get(*name) {
        Some(version) => (format!("{name} {version}"), of_implementation(name)),
        None => ((*name).to_owned(), of_implementation(name)),
    };
    let legend: Vec<(String, Color)> = all.iter().map(label).collect();
    let [above, below] = around(&legend);
    let height = above + below + HEIGHT * works.len() as f64;
    let title = format!(
        "Speed, % of the ceiling (copy bandwidth or FMA peak): {}, {}",
        report.run.device, report.run.date
    );
    let mut figure = Figure::new(&title, WIDTH, height + 2.0 * MARGIN);
    let left = works.iter().map(|(work, _)| width(work) + MARGIN);
    let left = left.fold(MARGIN, f64::max).min(MOST_LEFT);
    for place in (1..works.len()).step_by(2) {
        let band = across(MARGIN + above + HEIGHT * place as f64, HEIGHT);
        figure.area(band, BAND);
    }
    let shares = || {
        works
            .iter()
            .flat_map(|(_, marks)| marks)
            .map(|mark| 100.0 * mark.1)
    };
    let frame = Frame {
        place: across(MARGIN, height),
        title: &title,
        legend: &legend,
        x: Scale {
            axis: Axis::log(
                0.8 * shares().fold(100.0, f64::min),
                1.25 * shares().fold(100.0, f64::max),
            ),
            label: "% of the ceiling, by powers of ten; further right is faster",
            number: plain,
        },
        y: None,
        left,
    };
    let chart = frame.draw(&mut figure);
    let ceiling = chart.at(100.0, 0.0).0;
    let area = chart.area;
    figure.line(
        vec![(ceiling, area.top), (ceiling, area.bottom())],
        1.5,
        QUIET,
    );
    for (place, (work, marks)) in works.iter().enumerate() {
        let middle = area.top + HEIGHT * (place as f64 + 0.5);
        figure.text((MARGIN, middle), Anchor::Left, work, INK);
        let at = |share: f64| (chart.at(100.0 * share, 0.0).0, middle);
        // From ours to the fastest peer.
        let peer = marks
            .iter()
            .filter(|mark| mark.0 != OURS)
            .map(|mark| mark.1);
        let ours = marks.iter().find(|mark| mark.0 == OURS);
        if let (Some(&(_, ours)), Some(peer)) = (ours, peer.reduce(f64::max)) {
            figure.line(vec![at(ours), at(peer)], 2.0, QUIET);
        }
        // Ours is drawn last.
        for (name, share) in marks.iter().rev() {
            let radius = if *name == OURS { 5.5 } else { 4.0 };
            figure.disc(at(*share), radius, of_implementation(name));
        }
    }
    if left_out > 0 {
        let note = format!("not shown: {left_out} works without a measured ceiling");
        let foot = MARGIN + height - LINE / 2.0;
        figure.text((MARGIN, foot), Anchor::Left, &note, QUIET);
    }
    as_svg(&figure)
}

/// A work, and who reaches which fraction of the ceiling.
type Shares<'a> = (&'a str, Vec<(&'a str, f64)>);

/// For each work, the fractions of the ceiling that our fastest row and those of the peers reach,
/// ours first; and the number of works that have no ceiling.
fn shares(report: &Report) -> (Vec<Shares<'_>>, usize) {
    let ceilings = &report.ceilings;
    // Operations per byte from which on arithmetic is the limit.
    let ridge = ceilings.fma_per_second / ceilings.copy_bytes_per_second;
    let has_ceiling =
        |row: &Row| row.of_fma.is_some() || row.operations as f64 <= ridge * row.bytes as f64;
    let of_work = |(work, rows): (_, Vec<_>)| (work, marks(&rows, has_ceiling));
    let all: Vec<Shares<'_>> = report.by_work().into_iter().map(of_work).collect();
    let count = all.len();
    let with_marks = |(_, marks): &Shares<'_>| !marks.is_empty();
    let works: Vec<_> = all.into_iter().filter(with_marks).collect();
    let left_out = count - works.len();
    (works, left_out)
}

fn marks<'a>(rows: &[&'a Row], has_ceiling: impl Fn(&Row) -> bool) -> Vec<(&'a str, f64)> {
    let mut marks: Vec<(&str, f64)> = Vec::new();
    // The fastest of each is the first.
    for &row in rows {
        let by = row.implementation.as_str();
        let is_new = by != TWIN && marks.iter().all(|mark| mark.0 != by);
        if let (true, true, Some(share)) =
            (is_new, row.passed && has_ceiling(row), row.of_ceiling())
        {
            marks.push((by, share));
        }
    }
    marks.sort_by_key(|mark| mark.0 != OURS);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = include_str!("../../../docs/bench/h200.json");

    fn report() -> Report {
        serde_json::from_str(RESULTS).expect("a report")
    }

    #[test]
    fn a_peer_is_the_fastest_that_is_right_and_no_twin_of_ours() {
        let report = report();
        let (works, left_out) = shares(&report);
        let (_, marks) = works
            .iter()
            .find(|work| work.0 == "sum/f32/2^29")
            .expect("a work");
        let share = |by: &str, rung: &str| {
            let mut rows = report.rows.iter();
            let row = rows.find(|row| {
                (&*row.work, &*row.implementation, &*row.rung) == ("sum/f32/2^29", by, rung)
            });
            row.expect("a row").of_ceiling().expect("a share")
        };
        assert_eq!(marks[0], (OURS, share(OURS, "wide")));
        assert!(marks.contains(&("cupy", share("cupy", "cupy.sum (CUB)"))));
        assert!(marks.iter().all(|mark| mark.0 != TWIN));
        // Arithmetic limits it, and of f64 the peak was not measured.
        assert!(
            works
                .iter()
                .all(|work| work.0 != "matmul/f64/8192x8192x8192")
        );
        assert!(works.iter().any(|work| work.0 == "sum/f64/2^27") && left_out > 0);
    }

    #[test]
    fn every_peer_of_the_results_has_a_colour_of_its_own() {
        let report = report();
        let mut seen: Vec<(&str, Color)> = Vec::new();
        for (name, _) in shares(&report).0.into_iter().flat_map(|work| work.1) {
            let color = of_implementation(name);
            assert!(
                seen.iter()
                    .all(|&(other, same)| other == name || same != color),
                "{name}"
            );
            seen.push((name, color));
        }
        assert!(seen.len() > 3);
    }

    /// `BLOCKWISE_REDRAW=1` draws it again.
    #[test]
    fn the_chart_of_the_documents_is_that_of_their_results() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/bench/h200.svg");
        let drawn = svg(&report());
        if std::env::var_os("BLOCKWISE_REDRAW").is_some() {
            std::fs::write(path, &drawn).expect("a chart");
        }
        let kept = std::fs::read_to_string(path).expect("a chart");
        assert!(
            kept == drawn,
            "docs/bench/h200.svg: BLOCKWISE_REDRAW=1 cargo test draws it again"
        );
    }
}
