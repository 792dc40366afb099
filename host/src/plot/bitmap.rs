//! A bitmap's text, from rasterised glyphs: no font is there to be found, read and drawn.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster};
use plotters::backend::BitMapBackend;
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

/// A bitmap that draws text itself.
pub(super) struct Bitmap<'a>(pub(super) BitMapBackend<'a>);

type Error = <BitMapBackend<'static> as DrawingBackend>::ErrorType;

impl DrawingBackend for Bitmap<'_> {
    type ErrorType = Error;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Error>> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Error>> {
        self.0.present()
    }

    fn draw_pixel(
        &mut self,
        at: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Error>> {
        self.0.draw_pixel(at, color)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Error>> {
        let (width, height) = self.estimate_text_size(text, style)?;
        let (width, height) = (width as i32, height as i32);
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let (turn, color) = (style.transform(), style.color());
        let mut left = left;
        for glyph in glyphs(text, style.size()) {
            for (row, shades) in (top..).zip(glyph.raster()) {
                for (column, &shade) in (left..).zip(*shades) {
                    let (right, down) = turn.transform(column, row);
                    let alpha = color.alpha * f64::from(shade) / 255.0;
                    self.draw_pixel((x + right, y + down), BackendColor { alpha, ..color })?;
                }
            }
            left += glyph.width() as i32;
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Error>> {
        let width: usize = glyphs(text, style.size()).map(|glyph| glyph.width()).sum();
        Ok((width as u32, height(style.size()).val() as u32))
    }
}

/// The raster nearest to a font's size.
fn height(size: f64) -> RasterHeight {
    match size {
        ..19.0 => RasterHeight::Size16,
        ..23.0 => RasterHeight::Size20,
        _ => RasterHeight::Size24,
    }
}

/// The glyphs of a text; a question mark stands for one that is not there.
fn glyphs(text: &str, size: f64) -> impl Iterator<Item = RasterizedChar> + '_ {
    let glyph = move |c| get_raster(c, FontWeight::Regular, height(size));
    text.chars().filter_map(move |c| glyph(c).or(glyph('?')))
}
