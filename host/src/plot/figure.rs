//! What a picture consists of. Both formats draw the same list, and text is as wide in one as in the
//! other: every letter advances by the same width.

use super::color::{Color, WHITE};

/// Of a letter, to the next.
pub(crate) const ADVANCE: f64 = 7.0;
/// From the top of a line of text to the next.
pub(crate) const LINE: f64 = 16.0;
/// From the top of a line of text to the feet of its letters.
pub(super) const BASE: f64 = 11.5;

/// Right and down, in pixels of the SVG.
pub(crate) type Point = (f64, f64);

/// A rectangle, in the same pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Where a text's point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Left,
    Middle,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Box(Area, Color),
    /// Points joined in turn, of this width.
    Line(Vec<Point>, f64, Color),
    Disc(Point, f64, Color),
    /// From its upper left corner.
    Text {
        at: Point,
        text: String,
        bold: bool,
        color: Color,
    },
}

/// A picture on white.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(super) title: String,
    pub(super) size: Point,
    pub(super) marks: Vec<Mark>,
}

/// The width of a text.
pub(crate) fn width(text: &str) -> f64 {
    ADVANCE * text.chars().count() as f64
}

impl Area {
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

impl Figure {
    /// An empty picture; screen readers say the title.
    pub(crate) fn new(title: &str, width: f64, height: f64) -> Self {
        Self {
            title: title.to_owned(),
            size: (width.ceil(), height.ceil()),
            marks: Vec::new(),
        }
    }

    pub(crate) fn area(&mut self, area: Area, color: Color) {
        self.marks.push(Mark::Box(area, color));
    }

    pub(crate) fn line(&mut self, points: Vec<Point>, width: f64, color: Color) {
        self.marks.push(Mark::Line(points, width, color));
    }

    pub(crate) fn disc(&mut self, at: Point, radius: f64, color: Color) {
        self.marks.push(Mark::Disc(at, radius, color));
    }

    /// One line of text, centred on its point's height.
    pub(crate) fn text(&mut self, at: Point, anchor: Anchor, text: &str, color: Color) {
        self.lettered(at, anchor, text, color, false);
    }

    /// The same on a white ground, so that nothing crosses it out.
    pub(crate) fn label(&mut self, at: Point, anchor: Anchor, text: &str, color: Color) {
        let place = self.marks.len();
        self.text(at, anchor, text, color);
        if let Some(&Mark::Text { at: (x, y), .. }) = self.marks.get(place) {
            let ground = Area {
                left: x - 2.0,
                top: y + 1.0,
                width: width(text) + 4.0,
                height: LINE - 2.0,
            };
            self.marks.insert(place, Mark::Box(ground, WHITE));
        }
    }

    pub(crate) fn bold(&mut self, at: Point, text: &str, color: Color) {
        self.lettered(at, Anchor::Left, text, color, true);
    }

    fn lettered(&mut self, (x, y): Point, anchor: Anchor, text: &str, color: Color, bold: bool) {
        let before = match anchor {
            Anchor::Left => 0.0,
            Anchor::Middle => width(text) / 2.0,
            Anchor::Right => width(text),
        };
        self.marks.push(Mark::Text {
            at: ((x - before).round(), (y - LINE / 2.0).round()),
            // One character, one place: what is not printed would make the widths differ.
            text: text.replace(char::is_control, " "),
            bold,
            color,
        });
    }
}
