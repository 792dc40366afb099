//! The chart: how close each work comes to its ceiling.

use plotters::prelude::*;

use super::{OURS, Report, Row, TWIN};

/// Width of the picture and height of a work's two bars, in pixels.
const WIDTH: u32 = 1000;
const HEIGHT: u32 = 46;
/// Pixels for the names on the left, and for title and axis.
const LEFT: u32 = 260;
const AROUND: u32 = 130;

/// An SVG with two bars for each work: our fastest row, and the fastest of all peers. The twins of
/// our own kernels are left out.
///
/// # Errors
/// What the drawing library says.
pub fn svg(report: &Report) -> Result<String, String> {
    let works = bars(report);
    let mut text = String::new();
    draw(&mut text, report, &works).map_err(|error| error.to_string())?;
    Ok(text)
}

type Bars<'a> = (&'a str, Option<f64>, Option<f64>);

/// For each work, the fractions of the ceiling that our fastest row and the fastest peer reach.
fn bars(report: &Report) -> Vec<Bars<'_>> {
    let of_work = |(work, rows): (_, Vec<&Row>)| {
        let fastest = |whose: fn(&str) -> bool| {
            let row = rows
                .iter()
                .find(|row| row.passed && whose(&row.implementation));
            row.and_then(|row| row.of_ceiling())
        };
        let peer = |whose: &str| whose != OURS && whose != TWIN;
        (work, fastest(|whose| whose == OURS), fastest(peer))
    };
    report.by_work().into_iter().map(of_work).collect()
}

fn draw(
    text: &mut String,
    report: &Report,
    works: &[Bars<'_>],
) -> Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>> {
    let count = works.len();
    let size = (WIDTH, AROUND + HEIGHT * count as u32);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&WHITE)?;
    let highest = works
        .iter()
        .flat_map(|(_, ours, peer)| [ours, peer])
        .flatten()
        .fold(1.0_f64, |highest, &share| highest.max(share));
    let title = format!(
        "% of copy bandwidth or FMA peak: {}, {}",
        report.run.device, report.run.date
    );
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 24))
        .margin(20)
        .x_label_area_size(40)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(0.0..100.0 * highest, 0.0..count as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(0)
        .x_labels(10)
        .label_style(("sans-serif", 18))
        .x_label_formatter(&|x| format!("{x:.0}"))
        .draw()?;
    let (blue, grey) = (RGBColor(31, 105, 180), RGBColor(150, 150, 150));
    // The first work is the uppermost.
    for (place, (work, ours, peer)) in works.iter().enumerate() {
        let middle = count as f64 - place as f64 - 0.5;
        for (share, color, low) in [(ours, blue, middle), (peer, grey, middle - 0.38)] {
            let share = 100.0 * share.unwrap_or(0.0);
            let bar = Rectangle::new([(0.0, low), (share, low + 0.36)], color.filled());
            chart.draw_series([bar])?;
        }
        let at = chart.backend_coord(&(0.0, middle + 0.2));
        let style = ("sans-serif", 18).into_font().color(&BLACK);
        area.draw(&Text::new((*work).to_owned(), (20, at.1), style))?;
    }
    for (label, color, x) in [("blockwise", blue, 280), ("fastest peer", grey, 420)] {
        let y = size.1 as i32 - 22;
        area.draw(&Rectangle::new([(x, y), (x + 14, y + 14)], color.filled()))?;
        let style = ("sans-serif", 18).into_font().color(&BLACK);
        area.draw(&Text::new(label, (x + 20, y), style))?;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_the_fastest_that_is_right_and_no_twin_of_ours() {
        let text = include_str!("../../../docs/bench/h200.json");
        let report: Report = serde_json::from_str(text).expect("a report");
        let bars = bars(&report);
        let (_, ours, peer) = bars
            .iter()
            .find(|bars| bars.0 == "sum/f32/2^29")
            .expect("a work");
        let share = |by: &str, rung: &str| {
            let mut rows = report.rows.iter();
            let row = rows.find(|row| {
                (&*row.work, &*row.implementation, &*row.rung) == ("sum/f32/2^29", by, rung)
            });
            row.expect("a row").of_ceiling()
        };
        let (twin, cub) = (share(TWIN, "wide"), share("cupy", "cupy.sum (CUB)"));
        assert_eq!((*ours, *peer), (share(OURS, "wide"), cub));
        // Otherwise the twin would look like a peer.
        assert!(twin > cub);
    }
}
