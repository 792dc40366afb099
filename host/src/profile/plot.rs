//! Plots of a profile: the kernels on the device's roofline, and the cost of each line of a kernel.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use ptx_emulator::metrics::{DeviceModel, Precision};

use super::KernelReport;
use super::text::short;
use crate::plot::{self, Drawing, PlotError};

const SIZE: (u32, u32) = (1000, 600);
/// The most lines of a kernel that are drawn: the costliest.
const MOST_LINES: usize = 24;
/// Pixels for a line's bars, for the names on the left, and for title and axis.
const LINE: u32 = 44;
const LEFT: u32 = 300;
const AROUND: u32 = 130;

/// One color for each kernel, or for each kind of cost.
const COLORS: [RGBColor; 6] = [
    RGBColor(31, 105, 180),
    RGBColor(190, 50, 45),
    RGBColor(40, 130, 60),
    RGBColor(130, 80, 190),
    RGBColor(190, 110, 20),
    RGBColor(90, 90, 90),
];

/// Draws `roofline` and, for each kernel, `lines_NAME` into a folder, as PNG and SVG; returns the
/// files.
///
/// # Errors
/// [`PlotError`].
pub fn plot(
    folder: &Path,
    kernels: &[KernelReport],
    model: &DeviceModel,
) -> Result<Vec<PathBuf>, PlotError> {
    let roof = Roof { kernels, model };
    let mut files = plot::write(folder, "roofline", SIZE, &roof)?.to_vec();
    for kernel in kernels {
        let lines = Lines::of(kernel);
        let height = AROUND + LINE * lines.rows.len() as u32;
        let name = format!("lines_{}", kernel.name);
        files.extend(plot::write(folder, &name, (SIZE.0, height), &lines)?);
    }
    Ok(files)
}

struct Roof<'a> {
    kernels: &'a [KernelReport],
    model: &'a DeviceModel,
}

impl Roof<'_> {
    fn bandwidth(&self) -> f64 {
        self.model.bandwidth_gb_s * 1e9
    }

    /// The peaks that kernels are compared with: each mix of operations has its own.
    fn peaks(&self) -> Vec<f64> {
        let of_kernels = self
            .kernels
            .iter()
            .filter_map(|kernel| kernel.roofline.ridge);
        let mut peaks: Vec<f64> = of_kernels.map(|ridge| ridge * self.bandwidth()).collect();
        peaks.sort_by(f64::total_cmp);
        peaks.dedup_by(|a, b| (*a - *b).abs() < 1e-3 * b.abs());
        if peaks.is_empty() {
            peaks.push(self.model.peak_flops(Precision::Single));
        }
        peaks
    }

    /// A kernel's points: its intensity without caches and with perfect ones, and the device's
    /// limit at each.
    fn place(&self, kernel: &KernelReport) -> Option<[(f64, f64); 2]> {
        let (low, high) = kernel.roofline.intensity()?;
        let peak = kernel.roofline.ridge? * self.bandwidth();
        Some([low, high].map(|intensity| (intensity, (intensity * self.bandwidth()).min(peak))))
    }
}

impl Drawing for Roof<'_> {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (peaks, bandwidth) = (self.peaks(), self.bandwidth());
        let highest = peaks.iter().copied().fold(0.0, f64::max);
        let places: Vec<_> = self
            .kernels
            .iter()
            .map(|kernel| self.place(kernel))
            .collect();
        let seen = places
            .iter()
            .flatten()
            .flatten()
            .map(|(intensity, _)| *intensity);
        let (mut left, mut right) = (0.1_f64, 10.0 * highest / bandwidth);
        for intensity in seen {
            left = left.min(intensity / 2.0);
            right = right.max(intensity * 2.0);
        }
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(
                format!("Roofline of {}", self.model.product),
                ("sans-serif", 28),
            )
            .margin(20)
            .x_label_area_size(55)
            .y_label_area_size(90)
            .build_cartesian_2d(
                (left..right).log_scale(),
                (left * bandwidth..2.0 * highest).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("operations per byte of device memory: without caches, and with perfect ones")
            .y_desc("operations per second, at most")
            .axis_desc_style(("sans-serif", 20))
            .label_style(("sans-serif", 16))
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|x| format!("{x}"))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .draw()?;
        for &peak in &peaks {
            let roof = [left, peak / bandwidth, right];
            let roof = roof.map(|intensity| (intensity, (intensity * bandwidth).min(peak)));
            chart.draw_series(LineSeries::new(roof, BLACK.stroke_width(2)))?;
            let label = format!("{:.1} TFLOP/s", peak / 1e12);
            let style = ("sans-serif", 16).into_font().color(&BLACK);
            chart.draw_series([Text::new(label, (right / 5.0, peak * 1.4), style)])?;
        }
        for (number, (kernel, place)) in self.kernels.iter().zip(&places).enumerate() {
            let color = COLORS[number % COLORS.len()];
            let label = match place {
                Some(_) => format!("{}: {}", kernel.name, kernel.roofline.side.name()),
                None => format!("{}: no arithmetic, bound by memory", kernel.name),
            };
            let points: Vec<_> = place.iter().flatten().copied().collect();
            let line = LineSeries::new(points.clone(), color.stroke_width(6));
            chart.draw_series(line)?.label(label).legend(move |(x, y)| {
                Rectangle::new([(x, y - 6), (x + 16, y + 6)], color.filled())
            });
            let ends = points
                .into_iter()
                .map(|point| Circle::new(point, 7, color.filled()));
            chart.draw_series(ends)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK)
            .label_font(("sans-serif", 16))
            .draw()?;
        area.present()
    }
}

/// The counts drawn per line.
const COSTS: [&str; 3] = ["warp instructions", "wavefronts", "sectors"];

/// The costliest lines of a kernel, in source order.
struct Lines<'a> {
    kernel: &'a str,
    rows: Vec<(String, [u64; 3])>,
}

impl<'a> Lines<'a> {
    fn of(kernel: &'a KernelReport) -> Self {
        let lines = kernel.profile.lines().map(|line| {
            let file = line.file.as_deref().map_or_else(|| "PTX".to_owned(), short);
            // The end of a long path is the most informative part.
            let name: Vec<char> = format!("{file}:{}", line.line).chars().collect();
            let name = name[name.len().saturating_sub(34)..].iter().collect();
            let counters = &line.counters;
            let costs = [
                counters.warp_instructions,
                counters.shared().wavefronts,
                counters.global().sectors,
            ];
            (name, costs)
        });
        let mut rows: Vec<(usize, (String, [u64; 3]))> = lines.enumerate().collect();
        rows.sort_by_key(|(_, (_, costs))| std::cmp::Reverse(costs.iter().sum::<u64>()));
        rows.truncate(MOST_LINES);
        rows.sort_by_key(|(place, _)| *place);
        Self {
            kernel: &kernel.name,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        }
    }
}

impl Drawing for Lines<'_> {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let count = self.rows.len() as f64;
        let costs = self.rows.iter().flat_map(|(_, costs)| costs).copied();
        let most = costs.max().unwrap_or(0).max(1) as f64;
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(area)
            .caption(
                format!("Cost of each line of {}", self.kernel),
                ("sans-serif", 24),
            )
            .margin(20)
            .x_label_area_size(40)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..most, 0.0..count.max(1.0))?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .x_labels(8)
            .label_style(("sans-serif", 16))
            .x_label_formatter(&|x| format!("{x:.0}"))
            .draw()?;
        let style = ("sans-serif", 16).into_font().color(&BLACK);
        // The first line is at the top.
        for (place, (name, costs)) in self.rows.iter().enumerate() {
            let top = count - place as f64 - 0.06;
            for (kind, &cost) in costs.iter().enumerate() {
                let high = top - 0.3 * kind as f64;
                let bar = [(0.0, high - 0.27), (cost as f64, high)];
                chart.draw_series([Rectangle::new(bar, COLORS[kind].filled())])?;
            }
            let at = chart.backend_coord(&(0.0, top - 0.28));
            area.draw(&Text::new(name.clone(), (20, at.1), style.clone()))?;
        }
        let (_, height) = area.dim_in_pixel();
        for (kind, label) in COSTS.into_iter().enumerate() {
            let (x, y) = (330 + 190 * kind as i32, height as i32 - 22);
            let mark = [(x, y), (x + 14, y + 14)];
            area.draw(&Rectangle::new(mark, COLORS[kind].filled()))?;
            area.draw(&Text::new(label, (x + 20, y), style.clone()))?;
        }
        area.present()
    }
}
