//! Plots of a profile: the kernels on the device's roofline, and the cost of each line of a kernel.

use std::path::{Path, PathBuf};

use ptx_emulator::metrics::{DeviceModel, Precision};

use super::KernelReport;
use super::text::short;
use crate::plot::{
    self, Anchor, Area, Axis, Chart, Color, Figure, Frame, INK, LINE, MARGIN, PlotError, Point,
    QUIET, SERIES, Scale, WIDTH, across, around, plain, prefixed, width,
};

/// Height of the roofline's area.
const ROOF: f64 = 300.0;
/// Of a kernel's row below the roof.
const ROW: f64 = 22.0;
/// The most lines of a kernel that are drawn: the costliest.
const MOST_LINES: usize = 24;
/// The most letters of a line's place.
const MOST_LETTERS: usize = 36;
/// Of a bar.
const BAR: f64 = 13.0;
/// Between a bar and the number at its end.
const GAP: f64 = 6.0;

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
    let mut files = plot::write(folder, "roofline", &roof.figure())?.to_vec();
    for kernel in kernels {
        let name = format!("lines_{}", kernel.name);
        files.extend(plot::write(folder, &name, &Lines::of(kernel).figure())?);
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

    /// The roof with each kernel's two points, and a row for each kernel below it.
    fn figure(&self) -> Figure {
        let (peaks, bandwidth) = (self.peaks(), self.bandwidth());
        let highest = peaks.iter().copied().fold(0.0, f64::max);
        let places: Vec<_> = self
            .kernels
            .iter()
            .map(|kernel| self.place(kernel))
            .collect();
        let seen = places.iter().flatten().flatten().map(|place| place.0);
        let (mut left, mut right) = (0.1_f64, 10.0 * highest / bandwidth);
        for intensity in seen {
            left = left.min(intensity / 2.0);
            right = right.max(intensity * 2.0);
        }
        let title = format!("Roofline of {}", self.model.product);
        let [above, below] = around(&[]);
        let table = (self.kernels.len() + 1) as f64 * ROW;
        let height = above + ROOF + below;
        let mut figure = Figure::new(&title, WIDTH, height + table + 3.0 * MARGIN);
        let frame = Frame {
            place: across(MARGIN, height),
            title: &title,
            legend: &[],
            x: Scale {
                axis: Axis::log(left, right),
                label: "operations per byte of device memory",
                number: plain,
            },
            y: Some(Scale {
                axis: Axis::log(left * bandwidth, 2.5 * highest),
                label: "operations per second, at most",
                number: prefixed,
            }),
            left: 50.0,
        };
        let chart = frame.draw(&mut figure);
        self.roof(&mut figure, chart, (left, right), &peaks);
        for (number, place) in places.iter().enumerate() {
            // Of kernels at one place, each shows around the next.
            let radius = (8.0 - 1.5 * number as f64).max(3.0);
            for &(intensity, speed) in place.iter().flatten() {
                figure.disc(chart.at(intensity, speed), radius, color(number));
            }
        }
        self.table(&mut figure, MARGIN + height + MARGIN, &places);
        figure
    }

    /// The slope of the memory, and each peak's flat part with its name.
    fn roof(&self, figure: &mut Figure, chart: Chart, ends: (f64, f64), peaks: &[f64]) {
        let (bandwidth, (left, right)) = (self.bandwidth(), ends);
        for &peak in peaks {
            let roof = [left, peak / bandwidth, right];
            let roof = roof.map(|intensity| chart.at(intensity, (intensity * bandwidth).min(peak)));
            figure.line(roof.to_vec(), 2.0, INK);
            let label = format!("{}FLOP/s", prefixed(peak));
            let (_, height) = chart.at(right, peak);
            let at = (chart.area.right(), height - LINE / 2.0 - 2.0);
            figure.label(at, Anchor::Right, &label, INK);
        }
        let middle = left * 2.0;
        let label = format!("memory: {}B/s", prefixed(bandwidth));
        let (x, y) = chart.at(middle, middle * bandwidth);
        figure.label((x + 2.0 * GAP, y + LINE / 2.0), Anchor::Left, &label, INK);
    }

    /// The kernels by name: their intensity, the device's limit there, and what binds them.
    fn table(&self, figure: &mut Figure, top: f64, places: &[Option<[Point; 2]>]) {
        let heading = [
            "operations/byte, no caches \u{b7} perfect",
            "at most, FLOP/s",
            "bound by",
        ];
        let names = self.kernels.iter().map(|kernel| width(&kernel.name));
        let name = 2.0 * MARGIN;
        let mut columns = [name + names.fold(width("kernel"), f64::max) + 2.0 * MARGIN; 3];
        columns[1] += width(heading[0]) + MARGIN;
        columns[2] = columns[1] + width("66.9 T \u{b7} 66.9 T") + 2.0 * MARGIN;
        let mut middle = top + ROW / 2.0;
        figure.text((name, middle), Anchor::Left, "kernel", QUIET);
        for (at, text) in columns.into_iter().zip(heading) {
            figure.text((at, middle), Anchor::Left, text, QUIET);
        }
        for (number, (kernel, place)) in self.kernels.iter().zip(places).enumerate() {
            middle += ROW;
            let swatch = Area {
                left: MARGIN,
                top: middle - 5.5,
                width: 11.0,
                height: 11.0,
            };
            figure.area(swatch, color(number));
            figure.text((name, middle), Anchor::Left, &kernel.name, INK);
            let both = |number: fn(f64) -> String, [low, high]: [f64; 2]| {
                let [low, high] = [low, high].map(number);
                match low == high {
                    true => low,
                    false => format!("{low} \u{b7} {high}"),
                }
            };
            let cells = match place {
                Some([low, high]) => [
                    both(plain, [low.0, high.0]),
                    both(prefixed, [low.1, high.1]),
                    kernel.roofline.side.name().to_owned(),
                ],
                None => [
                    "no arithmetic".to_owned(),
                    String::new(),
                    "memory".to_owned(),
                ],
            };
            for (at, text) in columns.into_iter().zip(&cells) {
                figure.text((at, middle), Anchor::Left, text, INK);
            }
        }
    }
}

fn color(number: usize) -> Color {
    SERIES[number % SERIES.len()]
}

/// The end of a long path is the most informative part: whole names, if there is room for one.
fn ending(path: &str) -> String {
    let letters: Vec<char> = path.chars().collect();
    let Some(left_out) = letters
        .len()
        .checked_sub(MOST_LETTERS)
        .filter(|&more| more > 0)
    else {
        return path.to_owned();
    };
    let rest = &letters[left_out + 2..];
    let name = rest.iter().position(|&letter| letter == '/').unwrap_or(0);
    format!("..{}", rest[name..].iter().collect::<String>())
}

/// The counts drawn per line.
const COSTS: [&str; 3] = ["warp instructions", "shared wavefronts", "global sectors"];

/// The costliest lines of a kernel, in source order.
struct Lines<'a> {
    kernel: &'a str,
    rows: Vec<(String, [u64; 3])>,
}

impl<'a> Lines<'a> {
    fn of(kernel: &'a KernelReport) -> Self {
        let lines = kernel.profile.lines().map(|line| {
            let file = line.file.as_deref().map_or_else(|| "PTX".to_owned(), short);
            let name = ending(&format!("{file}:{}", line.line));
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

impl Lines<'_> {
    /// A group of bars for each line, each bar with its number.
    fn figure(&self) -> Figure {
        let costs = || self.rows.iter().flat_map(|row| row.1);
        let most = costs().max().unwrap_or(0).max(1) as f64;
        let title = format!("Cost of each line of {}", self.kernel);
        let legend: Vec<_> = COSTS.into_iter().map(str::to_owned).zip(SERIES).collect();
        // A line without a cost of a kind has no bar of that kind.
        let bars = |costs: &[u64; 3]| costs.iter().filter(|&&cost| cost > 0).count().max(1) as f64;
        let group = |costs: &[u64; 3]| BAR * bars(costs) + GAP;
        let groups: f64 = self.rows.iter().map(|row| group(&row.1)).sum();
        let [above, below] = around(&legend);
        let height = above + groups + below;
        let names = self.rows.iter().map(|row| width(&row.0));
        let mut figure = Figure::new(&title, WIDTH, height + 2.0 * MARGIN);
        let frame = Frame {
            place: across(MARGIN, height),
            title: &title,
            legend: &legend,
            x: Scale {
                // Room for the number at the longest bar.
                axis: Axis::linear(0.0, 1.12 * most),
                label: "count in one launch",
                number: prefixed,
            },
            y: None,
            left: names.fold(0.0, f64::max) + MARGIN,
        };
        let chart = frame.draw(&mut figure);
        let mut top = chart.area.top;
        for (name, costs) in &self.rows {
            let high = group(costs);
            figure.text((MARGIN, top + high / 2.0), Anchor::Left, name, INK);
            let mut line = top + GAP / 2.0;
            for (&cost, color) in costs.iter().zip(SERIES).filter(|(cost, _)| **cost > 0) {
                let (end, _) = chart.at(cost as f64, 0.0);
                let bar = Area {
                    left: chart.area.left,
                    top: line,
                    width: end - chart.area.left,
                    height: BAR - 1.0,
                };
                figure.area(bar, color);
                let at = (end + GAP, line + BAR / 2.0);
                figure.label(at, Anchor::Left, &prefixed(cost as f64), INK);
                line += BAR;
            }
            top += high;
        }
        figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_keeps_whole_names_at_its_end() {
        assert_eq!(ending("src/lib.rs:7"), "src/lib.rs:7");
        let long = "kernels/src/a_folder_with_a_name/matmul/pipelined.rs:133";
        assert_eq!(ending(long), "../matmul/pipelined.rs:133");
        let name = "x".repeat(60);
        let ended = ending(&name);
        assert!(
            ended.starts_with("..x") && ended.len() == MOST_LETTERS,
            "{ended}"
        );
    }
}
