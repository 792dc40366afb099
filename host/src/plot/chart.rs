//! Charts: a title, a legend that covers nothing, and axes around an area.

use super::axis::Axis;
use super::color::{Color, GRID, INK, QUIET};
use super::figure::{ADVANCE, Anchor, Area, Figure, LINE, Point, width};

/// Width of every picture. A page shows it so wide or shrinks it a little.
pub(crate) const WIDTH: f64 = 760.0;
/// From a picture's edge to what is in it.
pub(crate) const MARGIN: f64 = 16.0;

/// Of a legend's row, and of the lines of numbers.
const ROW: f64 = LINE + 4.0;
/// Of the mark of a legend.
const SWATCH: f64 = 11.0;

/// An axis with its words.
#[derive(Clone, Copy)]
pub(crate) struct Scale<'a> {
    pub axis: Axis,
    /// What is measured, and its unit.
    pub label: &'a str,
    pub number: fn(f64) -> String,
}

/// What surrounds an area.
pub(crate) struct Frame<'a> {
    /// All of it.
    pub place: Area,
    pub title: &'a str,
    pub legend: &'a [(String, Color)],
    pub x: Scale<'a>,
    /// None for rows with names, which the caller draws.
    pub y: Option<Scale<'a>>,
    /// Room on the left, for numbers or names.
    pub left: f64,
}

/// The area, once its surroundings are drawn.
#[derive(Clone, Copy)]
pub(crate) struct Chart {
    pub area: Area,
    x: Axis,
    y: Axis,
}

/// An area as wide as the picture, without its margins.
pub(crate) fn across(top: f64, height: f64) -> Area {
    Area {
        left: MARGIN,
        top,
        width: WIDTH - 2.0 * MARGIN,
        height,
    }
}

/// Heights above and below an area.
pub(crate) fn around(legend: &[(String, Color)]) -> [f64; 2] {
    let rows = rows(legend, WIDTH - 2.0 * MARGIN).len() as f64;
    // The label of y, or the numbers of x, which rows with names have above as well.
    [2.5 * ROW + ROW * rows, 2.0 * ROW + 4.0]
}

/// The legend's marks, as many in a row as fit.
fn rows(legend: &[(String, Color)], room: f64) -> Vec<Vec<&(String, Color)>> {
    let mut rows: Vec<Vec<_>> = Vec::new();
    let mut left = 0.0;
    for mark in legend {
        let wide = entry(&mark.0);
        match rows.last_mut() {
            Some(row) if left + wide <= room => row.push(mark),
            _ => {
                rows.push(vec![mark]);
                left = 0.0;
            }
        }
        left += wide;
    }
    rows
}

fn entry(label: &str) -> f64 {
    SWATCH + ADVANCE + width(label) + 3.0 * ADVANCE
}

impl Frame<'_> {
    pub(crate) fn draw(&self, figure: &mut Figure) -> Chart {
        let Area { left, top, .. } = self.place;
        let [above, below] = around(self.legend);
        figure.bold((left, top + LINE / 2.0), self.title, INK);
        let mut line = top + 1.5 * ROW + LINE / 2.0;
        for row in rows(self.legend, self.place.width) {
            let mut at = left;
            for (label, color) in row {
                let swatch = Area {
                    left: at,
                    top: line - SWATCH / 2.0,
                    width: SWATCH,
                    height: SWATCH,
                };
                figure.area(swatch, *color);
                let text = (at + SWATCH + ADVANCE, line);
                figure.text(text, Anchor::Left, label, INK);
                at += entry(label);
            }
            line += ROW;
        }
        let chart = Chart {
            area: Area {
                left: left + self.left,
                top: top + above,
                width: self.place.width - self.left,
                height: self.place.height - above - below,
            },
            x: self.x.axis,
            y: self.y.map_or(Axis::linear(0.0, 1.0), |y| y.axis),
        };
        let area = chart.area;
        if let Some(y) = self.y {
            figure.text((left, area.top - ROW + 2.0), Anchor::Left, y.label, QUIET);
            for tick in y.axis.ticks((area.height / 28.0) as usize) {
                let (_, height) = chart.at(0.0, tick);
                figure.line(vec![(area.left, height), (area.right(), height)], 1.0, GRID);
                let number = (y.number)(tick);
                figure.text((area.left - ADVANCE, height), Anchor::Right, &number, QUIET);
            }
        }
        chart.ticks(figure, self.x, self.y.is_none());
        let foot = area.bottom() + ROW + LINE;
        figure.text((area.right(), foot), Anchor::Right, self.x.label, QUIET);
        let floor = vec![(area.left, area.bottom()), (area.right(), area.bottom())];
        figure.line(floor, 1.0, QUIET);
        chart
    }
}

impl Chart {
    /// Where a pair of values is.
    pub(crate) fn at(&self, x: f64, y: f64) -> Point {
        (
            self.area.left + self.x.share(x) * self.area.width,
            self.area.bottom() - self.y.share(y) * self.area.height,
        )
    }

    /// The ticks of x, and their numbers where there is room: below, and perhaps above.
    fn ticks(&self, figure: &mut Figure, x: Scale<'_>, is_above_too: bool) {
        let area = self.area;
        let mut free = f64::NEG_INFINITY;
        for tick in x.axis.ticks((area.width / 70.0) as usize) {
            let (across, _) = self.at(tick, 0.0);
            figure.line(vec![(across, area.top), (across, area.bottom())], 1.0, GRID);
            let number = (x.number)(tick);
            let half = width(&number) / 2.0;
            // Within the picture, and not over the number before.
            let middle = across.min(area.right() + MARGIN - half - 2.0);
            if middle - half < free {
                continue;
            }
            free = middle + half + 2.0 * ADVANCE;
            let apart = LINE / 2.0 + 4.0;
            figure.text(
                (middle, area.bottom() + apart),
                Anchor::Middle,
                &number,
                QUIET,
            );
            if is_above_too {
                figure.text(
                    (middle, area.top - apart + 2.0),
                    Anchor::Middle,
                    &number,
                    QUIET,
                );
            }
        }
    }
}
