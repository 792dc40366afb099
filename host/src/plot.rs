//! Plots as PNG and SVG: every picture of the command is drawn here.

mod axis;
mod chart;
mod color;
mod figure;
mod png;
mod raster;
mod scaling;
mod svg;
mod two_tones;

use std::path::{Path, PathBuf};

use crate::io::{FileError, OutputFile};

pub(crate) use axis::{Axis, plain, prefixed};
pub(crate) use chart::{Chart, Frame, MARGIN, Scale, WIDTH, across, around};
pub(crate) use color::{BAND, Color, INK, QUIET, SERIES, of_implementation};
pub(crate) use figure::{Anchor, Area, Figure, LINE, Point, width};
pub(crate) use scaling::{Scaled, scaling};
pub(crate) use svg::svg as as_svg;
pub use two_tones::two_tones;

/// Why a plot could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The folder cannot be made.
    #[error("cannot create {}: {source}", path.display())]
    Folder {
        /// The folder's path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Draws a picture into a folder as PNG and SVG; returns the files.
pub(crate) fn write(folder: &Path, name: &str, figure: &Figure) -> Result<[PathBuf; 2], PlotError> {
    std::fs::create_dir_all(folder).map_err(|source| PlotError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let files = ["png", "svg"].map(|extension| folder.join(format!("{name}.{extension}")));
    let [png, svg] = files.each_ref().map(|path| OutputFile::prepare(path));
    let (png, svg) = (png?, svg?);
    let raster = raster::raster(figure);
    let packed = png::png((raster.width, raster.height), &raster.pixels);
    png.write(&packed)?;
    svg.write(as_svg(figure).as_bytes())?;
    Ok(files)
}
