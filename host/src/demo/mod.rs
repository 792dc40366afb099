//! The tutorials' experiments, with each figure checked against a reference or a closed form.
//!
//! One file per demo. A demo computes the rows of a table; one row beyond its tolerance makes the
//! whole demo fail.

mod conv;
mod reduce;
mod row;
mod shared;
mod tiling;

use std::path::Path;
use std::time::Instant;

use blockwise::Device;
use blockwise_ops::LaunchError;
use blockwise_ops::compare::ShapeMismatch;
use blockwise_ops::named_enum;
use kernels::peak::fma::peak_fma_f32;

use crate::plot::PlotError;

pub use row::{Row, table};

named_enum! {
    /// Which experiments to run.
    pub enum Demo("demo") {
        /// The MATLAB and the Numba document: one-dimensional convolution.
        Conv = "conv",
        /// The Julia document: dot product and other reductions.
        Reduce = "reduce",
        /// The CUDA C++ document: tiled matrix product; and the transpose.
        Tiling = "tiling",
        /// "Using Shared Memory": array reverse.
        Shared = "shared",
        /// All of them.
        All = "all",
    }
}

/// Why a demo could not be carried out. A wrong result is not an error but a row that did not pass.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A launch was refused or failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] blockwise::Error),
    /// A result's shape differs from its reference's: a bug in this program.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// A plot could not be drawn or written.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

impl Demo {
    /// The number of rows that it computes.
    pub fn checks(self) -> usize {
        match self {
            Demo::Conv => 16,
            Demo::Reduce => 30,
            Demo::Tiling => 20,
            Demo::Shared => 10,
            Demo::All => {
                let each = [Demo::Conv, Demo::Reduce, Demo::Tiling, Demo::Shared];
                each.map(Demo::checks).iter().sum()
            }
        }
    }
}

impl DemoError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            DemoError::Launch(error) => error.hint(),
            DemoError::Device(error) => error.hint(),
            DemoError::Shape(_) => None,
            DemoError::Plot(_) => Some("give --plot a folder that you may write in"),
        }
    }
}

/// Outputs are filled with this before a launch, so that an element that no thread writes is
/// noticed.
const UNWRITTEN: u8 = 0xFF;

/// The results of the demos.
pub struct Outcome<'a> {
    /// One row for each kernel and size.
    pub rows: Vec<Row>,
    /// Remarks for the reader, such as timings over many runs.
    pub remarks: Vec<String>,
    /// Called with each row as it is computed.
    watcher: &'a mut dyn FnMut(&Row),
    /// When the current check began.
    began: Instant,
}

impl Outcome<'_> {
    fn push(&mut self, mut row: Row) {
        row.check_seconds = self.began.elapsed().as_secs_f64();
        (self.watcher)(&row);
        self.rows.push(row);
        self.began = Instant::now();
    }
}

/// Runs the experiments on a device, and calls `watcher` with each row as it is computed. With
/// `plots`, draws the MATLAB document's figures into that folder.
///
/// # Errors
/// [`DemoError`].
pub fn run<'a>(
    device: &Device,
    demo: Demo,
    plots: Option<&Path>,
    watcher: &'a mut dyn FnMut(&Row),
) -> Result<Outcome<'a>, DemoError> {
    // Loads the kernels, all of which are in one module. Otherwise the first row's time would
    // include it.
    let _ = peak_fma_f32::on(device)?;
    let mut outcome = Outcome {
        rows: Vec::new(),
        remarks: Vec::new(),
        watcher,
        began: Instant::now(),
    };
    let wanted = |one: Demo| demo == one || demo == Demo::All;
    if wanted(Demo::Conv) {
        conv::run(device, plots, &mut outcome)?;
    }
    if wanted(Demo::Reduce) {
        reduce::run(device, &mut outcome)?;
    }
    if wanted(Demo::Tiling) {
        tiling::run(device, &mut outcome)?;
    }
    if wanted(Demo::Shared) {
        shared::run(device, &mut outcome)?;
    }
    Ok(outcome)
}
