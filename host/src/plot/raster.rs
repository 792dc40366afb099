//! Pictures as pixels, twice as dense as the SVG's. Letters are those of a raster, so that no font
//! has to be found.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster};

use super::color::Color;
use super::figure::{ADVANCE, Figure, Mark, Point};

/// Pixels for one of the SVG's.
const DENSITY: f64 = 2.0;

pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Red, green and blue of each.
    pub(super) pixels: Vec<u8>,
}

/// How much of each pixel of a rectangle a shape covers.
struct Mask {
    left: usize,
    top: usize,
    width: usize,
    covered: Vec<f32>,
}

pub(super) fn raster(figure: &Figure) -> Raster {
    let [width, height] = [figure.size.0, figure.size.1].map(|side| (DENSITY * side) as usize);
    let mut raster = Raster {
        width,
        height,
        pixels: vec![255; 3 * width * height],
    };
    for mark in &figure.marks {
        raster.draw(mark);
    }
    raster
}

impl Raster {
    fn draw(&mut self, mark: &Mark) {
        let dense = |&(x, y): &Point| (DENSITY * x, DENSITY * y);
        match mark {
            Mark::Box(area, color) => {
                let (left, top) = dense(&(area.left, area.top));
                let (right, bottom) = dense(&(area.right(), area.bottom()));
                let mut mask = self.mask([left, top, right, bottom]);
                // The part of a pixel between two edges.
                let part = |at: f64, low: f64, high: f64| {
                    ((at + 0.5).min(high) - (at - 0.5).max(low)).clamp(0.0, 1.0)
                };
                mask.cover([left, top, right, bottom], |x, y| {
                    part(x, left, right) * part(y, top, bottom)
                });
                self.blend(&mask, *color);
            }
            Mark::Disc(at, radius, color) => {
                self.stroke(&[dense(at)], DENSITY * radius, *color);
            }
            Mark::Line(points, thick, color) => {
                let points: Vec<_> = points.iter().map(dense).collect();
                self.stroke(&points, DENSITY * thick / 2.0, *color);
            }
            Mark::Text {
                at,
                text,
                bold,
                color,
            } => self.letters(dense(at), text, *bold, *color),
        }
    }

    /// All that is within a radius of the points and of the lines between them.
    fn stroke(&mut self, points: &[Point], radius: f64, color: Color) {
        let reach = radius + 1.0;
        let around = |points: &[Point]| {
            let mut bounds = [
                f64::INFINITY,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NEG_INFINITY,
            ];
            for &(x, y) in points {
                bounds = [
                    bounds[0].min(x - reach),
                    bounds[1].min(y - reach),
                    bounds[2].max(x + reach),
                    bounds[3].max(y + reach),
                ];
            }
            bounds
        };
        let mut mask = self.mask(around(points));
        let mut segment = |ends: &[Point]| {
            let (from, to) = (ends[0], ends[ends.len() - 1]);
            mask.cover(around(ends), |x, y| {
                (radius + 0.5 - distance((x, y), from, to)).clamp(0.0, 1.0)
            });
        };
        match points {
            [_] => segment(points),
            _ => points.windows(2).for_each(segment),
        }
        self.blend(&mask, color);
    }

    fn letters(&mut self, (x, y): Point, text: &str, bold: bool, color: Color) {
        let advance = DENSITY * ADVANCE;
        for (place, letter) in text.chars().enumerate() {
            let Some(glyph) = glyph(letter) else {
                continue;
            };
            let left = x + advance * place as f64;
            let (wide, high) = (glyph.width() as f64, glyph.height() as f64);
            // A bold letter is drawn a second time, a pixel further right.
            let mut mask = self.mask([left, y, left + wide + 1.0, y + high]);
            for shift in 0..=usize::from(bold) {
                let shift = left + shift as f64;
                mask.cover([shift, y, shift + wide, y + high], |px, py| {
                    let row = glyph.raster().get((py - y) as usize);
                    let shade = row.and_then(|row| row.get((px - shift) as usize));
                    f64::from(shade.copied().unwrap_or(0)) / 255.0
                });
            }
            self.blend(&mask, color);
        }
    }

    /// An empty mask of the pixels within [left, top, right, bottom] that the picture has.
    fn mask(&self, [left, top, right, bottom]: [f64; 4]) -> Mask {
        // A float beyond the range of an integer becomes its nearest.
        let inside = |edge: f64, most: usize| (edge.max(0.0) as usize).min(most);
        let [left, right] = [left.floor(), right.ceil()].map(|edge| inside(edge, self.width));
        let [top, bottom] = [top.floor(), bottom.ceil()].map(|edge| inside(edge, self.height));
        let (width, height) = (right.saturating_sub(left), bottom.saturating_sub(top));
        Mask {
            left,
            top,
            width,
            covered: vec![0.0; width * height],
        }
    }

    fn blend(&mut self, mask: &Mask, Color(red, green, blue): Color) {
        for (at, &covered) in mask.covered.iter().enumerate() {
            if covered > 0.0 {
                let (x, y) = (mask.left + at % mask.width, mask.top + at / mask.width);
                let pixel = &mut self.pixels[3 * (y * self.width + x)..][..3];
                for (old, new) in pixel.iter_mut().zip([red, green, blue]) {
                    let mixed = f32::from(*old) + covered * (f32::from(new) - f32::from(*old));
                    *old = mixed.round() as u8;
                }
            }
        }
    }
}

impl Mask {
    /// Adds a shape: the greatest cover of a pixel counts.
    fn cover(&mut self, [left, top, right, bottom]: [f64; 4], cover: impl Fn(f64, f64) -> f64) {
        let height = self.covered.len().checked_div(self.width).unwrap_or(0);
        let within = |low: f64, high: f64, first: usize, count: usize| {
            let edge = |edge: f64| (edge.max(0.0) as usize).saturating_sub(first).min(count);
            edge(low.floor())..edge(high.ceil())
        };
        for row in within(top, bottom, self.top, height) {
            for column in within(left, right, self.left, self.width) {
                let at = (
                    (self.left + column) as f64 + 0.5,
                    (self.top + row) as f64 + 0.5,
                );
                let covered = &mut self.covered[row * self.width + column];
                *covered = covered.max(cover(at.0, at.1) as f32);
            }
        }
    }
}

/// From a point to the line between two others.
fn distance((x, y): Point, from: Point, to: Point) -> f64 {
    let (along_x, along_y) = (to.0 - from.0, to.1 - from.1);
    let length = along_x * along_x + along_y * along_y;
    let share = match length > 0.0 {
        true => (((x - from.0) * along_x + (y - from.1) * along_y) / length).clamp(0.0, 1.0),
        false => 0.0,
    };
    f64::hypot(x - from.0 - share * along_x, y - from.1 - share * along_y)
}

/// A question mark stands for a letter that the raster lacks.
fn glyph(letter: char) -> Option<RasterizedChar> {
    let of = |letter| get_raster(letter, FontWeight::Regular, RasterHeight::Size32);
    of(letter).or(of('?'))
}

#[cfg(test)]
mod tests {
    use noto_sans_mono_bitmap::get_raster_width;

    use super::*;
    use crate::plot::color::{BLUE, INK};
    use crate::plot::figure::{Anchor, Area, BASE, LINE};

    fn shade(raster: &Raster, x: usize, y: usize) -> [u8; 3] {
        let at = 3 * (y * raster.width + x);
        [0, 1, 2].map(|channel| raster.pixels[at + channel])
    }

    #[test]
    fn shapes_cover_their_pixels_and_no_others() {
        let mut figure = Figure::new("", 20.0, 10.0);
        let area = Area {
            left: 2.0,
            top: 1.0,
            width: 4.0,
            height: 2.25,
        };
        figure.area(area, BLUE);
        figure.disc((15.0, 5.0), 3.0, BLUE);
        // Beyond all edges.
        figure.line(vec![(-1e9, 9.5), (1e9, 9.5)], 1.0, BLUE);
        let raster = raster(&figure);
        assert_eq!((raster.width, raster.height), (40, 20));
        let (full, none) = ([0, 114, 178], [255; 3]);
        assert_eq!(shade(&raster, 4, 2), full);
        assert_eq!(shade(&raster, 11, 5), full);
        // Half of the last row is covered.
        assert_eq!(shade(&raster, 4, 6), [128, 185, 217]);
        assert_eq!((shade(&raster, 3, 2), shade(&raster, 12, 2)), (none, none));
        assert_eq!(
            (shade(&raster, 30, 10), shade(&raster, 24, 4)),
            (full, none)
        );
        assert_eq!(
            (shade(&raster, 0, 19), shade(&raster, 39, 18)),
            (full, full)
        );
    }

    #[test]
    fn letters_are_as_wide_and_as_deep_as_the_svg_says() {
        let width = get_raster_width(FontWeight::Regular, RasterHeight::Size32);
        assert_eq!(width as f64, DENSITY * ADVANCE);
        assert_eq!(RasterHeight::Size32.val() as f64, DENSITY * LINE);
        let mut figure = Figure::new("", 40.0, 20.0);
        figure.text((3.0, 8.0), Anchor::Left, "H", INK);
        let raster = raster(&figure);
        let is_dark = |y: usize| (0..raster.width).any(|x| shade(&raster, x, y)[0] < 128);
        let last = (0..raster.height).rev().find(|&y| is_dark(y));
        assert_eq!(last, Some((DENSITY * BASE) as usize - 1));
    }
}
