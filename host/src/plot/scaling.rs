//! How much faster more GPUs are, beside the line of perfect scaling.

use std::path::{Path, PathBuf};

use super::axis::{Axis, plain};
use super::chart::{Frame, MARGIN, Scale, WIDTH, across, around};
use super::color::{GRID, INK, QUIET, SERIES, WHITE};
use super::figure::Figure;
use super::{PlotError, write};

/// Of the chart's area.
const HEIGHT: f64 = 320.0;
/// Room for the numbers on the left.
const LEFT: f64 = 50.0;
const RADIUS: f64 = 5.0;

/// What is known of one number of GPUs.
pub(crate) struct Scaled {
    pub gpus: usize,
    /// Times as fast as one GPU.
    pub speed_up: f64,
    /// What takes most of the time.
    pub bound: String,
    /// Whether the arrays fit in the GPUs' memory.
    pub fits: bool,
}

/// Draws `scale` into a folder, as PNG and SVG; returns the files.
///
/// # Errors
/// [`PlotError`].
pub(crate) fn scaling(
    folder: &Path,
    title: &str,
    mut points: Vec<Scaled>,
) -> Result<[PathBuf; 2], PlotError> {
    points.sort_by_key(|point| point.gpus);
    write(folder, "scale", &figure(title, &points))
}

fn figure(title: &str, points: &[Scaled]) -> Figure {
    let mut bounds: Vec<&str> = Vec::new();
    for point in points {
        if !bounds.contains(&&*point.bound) {
            bounds.push(&point.bound);
        }
    }
    let color = |bound: &str| {
        let place = bounds.iter().position(|known| *known == bound);
        SERIES[place.unwrap_or(0) % SERIES.len()]
    };
    let mut legend = vec![("perfect".to_owned(), QUIET)];
    // In the curve's colour, here where it covers nothing.
    legend.extend(points.last().map(|last| {
        let text = format!("predicted: {} on {}", plain(last.speed_up), last.gpus);
        (text, INK)
    }));
    legend.extend((bounds.iter()).map(|bound| (format!("bound by {bound}"), color(bound))));
    if points.iter().any(|point| !point.fits) {
        legend.push(("hollow: does not fit in memory".to_owned(), GRID));
    }
    let [above, below] = around(&legend);
    let height = above + HEIGHT + below;
    let mut figure = Figure::new(title, WIDTH, height + 2.0 * MARGIN);
    let gpus = points.iter().map(|point| point.gpus as f64);
    let most = gpus.clone().fold(1.0, f64::max);
    let least = gpus.fold(most, f64::min);
    let slowest = (points.iter()).fold(least, |low, point| low.min(point.speed_up));
    let frame = Frame {
        place: across(MARGIN, height),
        title,
        legend: &legend,
        x: Scale {
            axis: Axis::log(least, most),
            label: "GPUs",
            number: plain,
        },
        y: Some(Scale {
            axis: Axis::log(slowest, most),
            label: "times as fast as one GPU",
            number: plain,
        }),
        left: LEFT,
    };
    let chart = frame.draw(&mut figure);
    let perfect = vec![chart.at(least, least), chart.at(most, most)];
    figure.line(perfect, 1.5, QUIET);
    let at = |point: &Scaled| chart.at(point.gpus as f64, point.speed_up);
    figure.line(points.iter().map(at).collect(), 2.0, INK);
    for point in points {
        figure.disc(at(point), RADIUS, color(&point.bound));
        if !point.fits {
            figure.disc(at(point), RADIUS - 2.0, WHITE);
        }
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::as_svg;

    fn point(gpus: usize, speed_up: f64, bound: &str, fits: bool) -> Scaled {
        Scaled {
            gpus,
            speed_up,
            bound: bound.to_owned(),
            fits,
        }
    }

    #[test]
    fn the_curve_is_beside_the_perfect_line_with_what_binds() {
        let points = [
            point(1, 1.0, "memory", false),
            point(8, 7.5, "memory", true),
            point(64, 20.0, "link bandwidth", true),
        ];
        let svg = as_svg(&figure("matmul", &points));
        for text in [
            ">GPUs<",
            ">times as fast as one GPU<",
            ">perfect<",
            ">bound by memory<",
            ">bound by link bandwidth<",
            ">hollow: does not fit in memory<",
            ">predicted: 20 on 64<",
        ] {
            assert!(svg.contains(text), "{text}\n{svg}");
        }
        assert_eq!(svg.matches("bound by").count(), 2);
        let fitting = as_svg(&figure("matmul", &points[1..]));
        assert!(!fitting.contains("hollow"), "{fitting}");
        // A point on the perfect line is there, and one below it is lower in the picture.
        let discs = svg.matches("<circle").count();
        assert_eq!(discs, 4, "three points, one of them hollow\n{svg}");
    }

    #[test]
    fn one_number_of_gpus_and_none_are_pictures_too() {
        assert!(
            as_svg(&figure("sum", &[point(1, 1.0, "memory", true)])).contains("predicted: 1 on 1")
        );
        let slower = as_svg(&figure("sum", &[point(2, 0.25, "latency", true)]));
        assert!(slower.contains("predicted: 0.25 on 2"), "{slower}");
        assert!(as_svg(&figure("sum", &[])).contains(">perfect<"));
    }
}
