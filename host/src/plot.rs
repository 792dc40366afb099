//! Plots as PNG and SVG, and those of the two-tone filter: the signal before and after, and both
//! spectra.

mod bitmap;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::io::{FileError, OutputFile};
use bitmap::Bitmap;

/// Width and height of a plot, in pixels.
const SIZE: (u32, u32) = (1000, 600);
/// Seconds of the signal that are drawn: more would be a solid band.
const SHOWN: f64 = 0.04;
/// Seconds that contain whole periods of both tones: one of 50 Hz, 140 of 7 kHz. A tone is then one
/// line of the spectrum, as high as its amplitude; otherwise it would leak into its neighbours.
const PERIODS: f64 = 0.02;

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
    /// The drawing itself failed.
    #[error("cannot draw {name}: {reason}")]
    Drawing {
        /// The picture.
        name: String,
        /// The reason, in words.
        reason: String,
    },
}

/// One curve of a picture.
struct Curve {
    points: Vec<(f64, f64)>,
    shape: Shape,
    color: RGBColor,
}

/// How the points of a curve are drawn.
enum Shape {
    Line,
    /// From the axis up: a spectrum's peaks are one point wide, and a line would lose them.
    Bars,
}

/// A plot with one curve.
struct Picture<'a> {
    name: &'a str,
    title: &'a str,
    x_label: &'a str,
    y_label: &'a str,
    curve: Curve,
}

/// Draws `before`, `after` and their spectra as PNG and SVG; returns the files.
///
/// # Errors
/// [`PlotError`].
pub fn two_tones(
    folder: &Path,
    sample_rate: f64,
    before: &[f64],
    after: &[f64],
) -> Result<Vec<PathBuf>, PlotError> {
    let (blue, red) = (RGBColor(31, 105, 180), RGBColor(190, 50, 45));
    let signal = |samples, color| Curve {
        points: in_time(samples, sample_rate),
        shape: Shape::Line,
        color,
    };
    let frequencies = |samples, color| Curve {
        points: peaks(&spectrum(steady(samples, sample_rate), sample_rate)),
        shape: Shape::Bars,
        color,
    };
    let picture = |name, title, curve| Picture {
        name,
        title,
        x_label: "time / s",
        y_label: "amplitude",
        curve,
    };
    let in_frequency = |name, title, curve| Picture {
        name,
        title,
        x_label: "frequency / Hz",
        y_label: "amplitude",
        curve,
    };
    let pictures = [
        picture("before", "Before: 50 Hz + 7 kHz", signal(before, blue)),
        picture("after", "After: mean over 10 samples", signal(after, red)),
        in_frequency(
            "before_spectrum",
            "Before: spectrum",
            frequencies(before, blue),
        ),
        in_frequency("after_spectrum", "After: spectrum", frequencies(after, red)),
    ];
    let mut files = Vec::new();
    for picture in &pictures {
        files.extend(write(folder, picture.name, SIZE, picture)?);
    }
    Ok(files)
}

/// A drawing for any backend.
pub(crate) trait Drawing {
    /// Draws on an empty area.
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>>;
}

/// Draws into a folder as PNG and SVG of this size in pixels; returns the files.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    size: (u32, u32),
    drawing: &impl Drawing,
) -> Result<[PathBuf; 2], PlotError> {
    std::fs::create_dir_all(folder).map_err(|source| PlotError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let failed = |reason| PlotError::Drawing {
        name: name.to_owned(),
        reason,
    };
    let files = ["png", "svg"].map(|extension| folder.join(format!("{name}.{extension}")));
    let [png, svg] = files.each_ref().map(|path| OutputFile::prepare(path));
    let (png, svg) = (png?, svg?);
    png.write(&encoded(size, drawing).map_err(failed)?)?;
    let mut text = String::new();
    let drawn = drawing.draw(&SVGBackend::with_string(&mut text, size).into_drawing_area());
    drawn.map_err(|error| failed(error.to_string()))?;
    svg.write(text.as_bytes())?;
    Ok(files)
}

/// A drawing as a PNG file's bytes.
fn encoded((width, height): (u32, u32), drawing: &impl Drawing) -> Result<Vec<u8>, String> {
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let bitmap = BitMapBackend::with_buffer(&mut pixels, (width, height));
    let area = Bitmap(bitmap).into_drawing_area();
    drawing.draw(&area).map_err(|error| error.to_string())?;
    drop(area);
    png((width, height), &pixels).map_err(|error| error.to_string())
}

/// Pixels of three bytes as a PNG file: a header, the packed rows, an end.
fn png((width, height): (u32, u32), pixels: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks(3 * width as usize) {
        // How the row is predicted: not at all.
        rows.write_all(&[0])?;
        rows.write_all(row)?;
    }
    // Eight bits of red, green and blue; the usual packing, prediction and order of rows.
    let header = [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        &[8, 2, 0, 0, 0],
    ]
    .concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [
        (b"IHDR", header),
        (b"IDAT", rows.finish()?),
        (b"IEND", Vec::new()),
    ] {
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&data);
        file.extend((data.len() as u32).to_be_bytes());
        file.extend(kind);
        file.extend(data);
        file.extend(sum.sum().to_be_bytes());
    }
    Ok(file)
}

/// The first part of a signal, as (seconds, value).
fn in_time(samples: &[f64], sample_rate: f64) -> Vec<(f64, f64)> {
    let shown = (SHOWN * sample_rate) as usize;
    samples
        .iter()
        .take(shown)
        .enumerate()
        .map(|(i, &value)| (i as f64 / sample_rate, value))
        .collect()
}

/// The samples after the filter's start that fill whole periods; all samples of a signal too short
/// for that.
fn steady(samples: &[f64], sample_rate: f64) -> &[f64] {
    let period = (PERIODS * sample_rate).round() as usize;
    let periods = (samples.len().checked_div(period).unwrap_or(0)).saturating_sub(1);
    match periods {
        0 => samples,
        _ => &samples[period..period + periods * period],
    }
}

/// The amplitude of each frequency up to half the sample rate, as (Hz, amplitude): a sine of
/// amplitude 1 gives a peak of 1. Computed by the definition, which takes half a second for the ten
/// thousand samples here.
fn spectrum(samples: &[f64], sample_rate: f64) -> Vec<(f64, f64)> {
    let count = samples.len();
    let turn = |i| std::f64::consts::TAU * i as f64 / count as f64;
    let turns: Vec<_> = (0..count).map(|i| turn(i).sin_cos()).collect();
    let amplitude = |frequency: usize| {
        let (mut sine, mut cosine, mut at) = (0.0, 0.0, 0);
        for &value in samples {
            let (s, c) = turns[at];
            sine += value * s;
            cosine += value * c;
            // At most `count / 2` is added to less than `count`.
            at += frequency;
            at -= if at >= count { count } else { 0 };
        }
        2.0 * f64::hypot(sine, cosine) / count as f64
    };
    let frequencies = 0..count / 2 + 1;
    let hertz = |frequency| frequency as f64 * sample_rate / count as f64;
    frequencies
        .map(|frequency| (hertz(frequency), amplitude(frequency)))
        .collect()
}

/// The maximum of every few points, about one per column of pixels.
fn peaks(spectrum: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let width = spectrum.len().div_ceil(SIZE.0 as usize).max(1);
    let highest = |points: &[(f64, f64)]| points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    spectrum.chunks(width).filter_map(highest).collect()
}

impl Drawing for Picture<'_> {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let points = &self.curve.points;
        let right = points.last().map_or(1.0, |&(x, _)| x);
        let (low, high) = points
            .iter()
            .fold((0.0_f64, 0.0_f64), |(low, high), &(_, y)| {
                (low.min(y), high.max(y))
            });
        let margin = ((high - low) * 0.05).max(1e-3);
        let bottom = if low < 0.0 { low - margin } else { 0.0 };
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 30))
            .margin(20)
            .x_label_area_size(55)
            .y_label_area_size(75)
            .build_cartesian_2d(0.0..right, bottom..high + margin)?;
        chart
            .configure_mesh()
            .x_desc(self.x_label)
            .y_desc(self.y_label)
            .axis_desc_style(("sans-serif", 22))
            .label_style(("sans-serif", 18))
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .draw()?;
        let color = self.curve.color;
        match self.curve.shape {
            Shape::Line => {
                chart.draw_series(LineSeries::new(points.iter().copied(), color))?;
            }
            Shape::Bars => {
                let half = right / 1000.0;
                let bar = |&(x, y): &(f64, f64)| {
                    Rectangle::new([(x - half, 0.0), (x + half, y)], color.filled())
                };
                chart.draw_series(points.iter().map(bar))?;
            }
        }
        area.present()
    }
}

/// A tick's number without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_of_amplitude_one_has_a_peak_of_one_at_its_frequency() {
        let samples: Vec<f64> = (0..1000)
            .map(|i| (std::f64::consts::TAU * 125.0 * i as f64 / 1000.0).sin())
            .collect();
        let spectrum = spectrum(&samples, 1000.0);
        let peak = spectrum
            .iter()
            .copied()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap();
        assert!(
            (peak.0 - 125.0).abs() < 1e-9 && (peak.1 - 1.0).abs() < 1e-9,
            "{peak:?}"
        );
    }

    #[test]
    fn a_picture_is_a_png_file_that_holds_its_pixels() {
        let pixels = [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7];
        let file = png((2, 2), &pixels).unwrap();
        // Of the format's definition: the end of a file with its checksum.
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
        let data = &file[8 + 25..file.len() - 12];
        assert_eq!(&data[4..8], b"IDAT");
        let mut rows = Vec::new();
        let mut unpacked = flate2::read::ZlibDecoder::new(&data[8..data.len() - 4]);
        std::io::Read::read_to_end(&mut unpacked, &mut rows).unwrap();
        let expected = [&[0][..], &pixels[..6], &[0], &pixels[6..]].concat();
        assert_eq!(rows, expected);
    }

    #[test]
    fn four_pictures_in_two_formats_appear() {
        let folder = tempfile::tempdir().unwrap();
        let samples: Vec<f64> = (0..2000).map(|i| f64::from(i % 7)).collect();
        let files = two_tones(&folder.path().join("new"), 16_000.0, &samples, &samples).unwrap();
        assert_eq!(files.len(), 8);
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let is_png = file.extension().is_some_and(|extension| extension == "png");
            assert!(
                bytes.starts_with(if is_png { b"\x89PNG" } else { b"<svg" }),
                "{}",
                file.display()
            );
        }
        assert!(two_tones(Path::new("/dev/null/plots"), 1.0, &[1.0], &[1.0]).is_err());
    }
}
