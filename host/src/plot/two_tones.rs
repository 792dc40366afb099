//! The two-tone filter: the signal and its spectrum, each before and after, on one scale.

use std::path::{Path, PathBuf};

use super::axis::{Axis, plain, prefixed};
use super::chart::{Chart, Frame, MARGIN, Scale, WIDTH, across};
use super::color::{BLUE, Color, INK, ORANGE};
use super::figure::{ADVANCE, Anchor, Figure, Point, width};
use super::{PlotError, write};

/// Seconds of the signal that are drawn: more would be a solid band.
const SHOWN: f64 = 0.04;
/// Seconds that contain whole periods of both tones: one of 50 Hz, 140 of 7 kHz. A tone is then one
/// line of the spectrum, as high as its amplitude; otherwise it would leak into its neighbours.
const PERIODS: f64 = 0.02;
/// Of each of the two charts in a picture.
const HEIGHT: f64 = 250.0;
/// Room for the numbers on the left.
const LEFT: f64 = 44.0;
/// Names and colours of the two charts.
const PANELS: [(&str, Color); 2] = [
    ("Before: 50 Hz + 7 kHz", BLUE),
    ("After: the mean of 10 samples", ORANGE),
];

/// Draws `signal` and `spectrum`, each before and after, as PNG and SVG; returns the files.
///
/// # Errors
/// [`PlotError`].
pub fn two_tones(
    folder: &Path,
    sample_rate: f64,
    before: &[f64],
    after: &[f64],
) -> Result<Vec<PathBuf>, PlotError> {
    let both = [before, after];
    let signals = both.map(|samples| in_time(samples, sample_rate));
    let spectra = both.map(|samples| spectrum(steady(samples, sample_rate), sample_rate));
    let mut files = write(folder, "signal", &signal(&signals))?.to_vec();
    files.extend(write(folder, "spectrum", &peaks(&spectra))?);
    Ok(files)
}

/// Two charts with the same axes, one above the other.
fn panels(
    title: &str,
    [x, y]: [Scale<'_>; 2],
    mut draw: impl FnMut(usize, Chart, &mut Figure),
) -> Figure {
    let mut figure = Figure::new(title, WIDTH, 2.0 * (HEIGHT + MARGIN) + MARGIN);
    for (place, (title, _)) in PANELS.into_iter().enumerate() {
        let frame = Frame {
            place: across(MARGIN + place as f64 * (HEIGHT + MARGIN), HEIGHT),
            title,
            legend: &[],
            x,
            y: Some(y),
            left: LEFT,
        };
        let chart = frame.draw(&mut figure);
        draw(place, chart, &mut figure);
    }
    figure
}

fn signal(signals: &[Vec<Point>; 2]) -> Figure {
    let all = || signals.iter().flatten();
    let most = all().map(|point| point.1.abs()).fold(0.0, f64::max);
    let end = all().map(|point| point.0).fold(0.0, f64::max);
    let scales = [
        Scale {
            axis: Axis::linear(0.0, end),
            label: "time / ms",
            number: plain,
        },
        Scale {
            axis: Axis::linear(-1.05 * most, 1.05 * most),
            label: "amplitude",
            number: plain,
        },
    ];
    panels(
        "The signal before and after the filter",
        scales,
        |place, chart, figure| {
            let points = signals[place].iter().map(|&(x, y)| chart.at(x, y));
            figure.line(points.collect(), 1.0, PANELS[place].1);
        },
    )
}

fn peaks(spectra: &[Vec<Point>; 2]) -> Figure {
    let all = || spectra.iter().flatten();
    let most = all().map(|point| point.1).fold(0.0, f64::max);
    let end = all().map(|point| point.0).fold(0.0, f64::max);
    let scales = [
        Scale {
            axis: Axis::log(end / 800.0, end),
            label: "frequency / Hz",
            number: prefixed,
        },
        Scale {
            axis: Axis::linear(0.0, 1.15 * most),
            label: "amplitude",
            number: plain,
        },
    ];
    let tones = highest_two(&spectra[0]);
    panels(
        "The spectrum before and after the filter",
        scales,
        |place, chart, figure| {
            let color = PANELS[place].1;
            for &(x, y) in spectra[place].iter().filter(|point| point.0 > 0.0) {
                // Lower than a third of a pixel, and there are thousands of them.
                if y > most / 500.0 {
                    figure.line(vec![chart.at(x, 0.0), chart.at(x, y)], 2.0, color);
                }
            }
            for &tone in &tones {
                let Some(&(frequency, amplitude)) = spectra[place].get(tone) else {
                    continue;
                };
                let at = chart.at(frequency, amplitude);
                figure.disc(at, 4.0, color);
                let text = format!("{}Hz: {amplitude:.3}", unit(&prefixed(frequency)));
                let wide = ADVANCE + width(&text);
                let (aside, anchor) = match at.0 + wide > chart.area.right() {
                    true => (-1.5 * ADVANCE, Anchor::Right),
                    false => (1.5 * ADVANCE, Anchor::Left),
                };
                figure.label((at.0 + aside, at.1), anchor, &text, INK);
            }
        },
    )
}

/// A number before its unit: `50 `, `7 k`.
fn unit(number: &str) -> String {
    match number.ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("{number} "),
        false => number.to_owned(),
    }
}

/// The places of a spectrum's two highest peaks: points higher than both neighbours.
fn highest_two(spectrum: &[Point]) -> Vec<usize> {
    let height = |at: usize| spectrum.get(at).map_or(0.0, |point| point.1);
    let is_peak = |&at: &usize| height(at) > height(at - 1) && height(at) >= height(at + 1);
    let mut peaks: Vec<_> = (1..spectrum.len()).filter(is_peak).collect();
    peaks.sort_by(|&a, &b| height(b).total_cmp(&height(a)));
    peaks.truncate(2);
    peaks
}

/// The first part of a signal, as (milliseconds, value).
fn in_time(samples: &[f64], sample_rate: f64) -> Vec<Point> {
    // The sample at the end closes the last period.
    let shown = (SHOWN * sample_rate) as usize + 1;
    let samples = samples.iter().take(shown).enumerate();
    samples
        .map(|(i, &value)| (1e3 * i as f64 / sample_rate, value))
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
fn spectrum(samples: &[f64], sample_rate: f64) -> Vec<Point> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_of_amplitude_one_has_a_peak_of_one_at_its_frequency() {
        let samples: Vec<f64> = (0..1000)
            .map(|i| (std::f64::consts::TAU * 125.0 * i as f64 / 1000.0).sin())
            .collect();
        let spectrum = spectrum(&samples, 1000.0);
        let peak = spectrum[highest_two(&spectrum)[0]];
        assert!(
            (peak.0 - 125.0).abs() < 1e-9 && (peak.1 - 1.0).abs() < 1e-9,
            "{peak:?}"
        );
    }

    /// The heights of the horizontal grid lines' numbers, panel by panel.
    fn numbers(svg: &str) -> Vec<&str> {
        let texts = svg.lines().filter(|line| line.starts_with("<text"));
        texts
            .filter_map(|line| line.split(['>', '<']).nth(2))
            .collect()
    }

    #[test]
    fn before_and_after_have_one_scale_and_both_peaks_are_labelled() {
        let folder = tempfile::tempdir().unwrap();
        let tone =
            |hertz: f64, i: i32| (std::f64::consts::TAU * hertz * f64::from(i) / 16_000.0).sin();
        let sum = |high: f64| -> Vec<f64> {
            (0..2000)
                .map(|i| tone(50.0, i) + high * tone(7_000.0, i))
                .collect()
        };
        let place = folder.path().join("new");
        let files = two_tones(&place, 16_000.0, &sum(1.0), &sum(0.125)).unwrap();
        assert_eq!(files.len(), 4);
        for file in &files {
            let bytes = std::fs::read(file).unwrap();
            let is_png = file.extension().is_some_and(|extension| extension == "png");
            let begin: &[u8] = if is_png { b"\x89PNG" } else { b"<svg" };
            assert!(bytes.starts_with(begin), "{}", file.display());
        }
        let text = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
        let signal = text("signal.svg");
        let signal = numbers(&signal);
        // The same numbers on both panels' axes, though the second curve is half as high.
        for number in ["-2", "2", "40", "amplitude", "time / ms"] {
            let count = signal.iter().filter(|text| **text == number).count();
            assert_eq!(count, 2, "{number}: {signal:?}");
        }
        let spectrum = text("spectrum.svg");
        let spectrum = numbers(&spectrum);
        for label in ["50 Hz: 1.000", "7 kHz: 1.000", "7 kHz: 0.125"] {
            assert!(spectrum.contains(&label), "{label}: {spectrum:?}");
        }
        assert!(two_tones(Path::new("/dev/null/plots"), 1.0, &[1.0], &[1.0]).is_err());
        // Nothing to draw is a picture without curves.
        assert_eq!(two_tones(&place, 16_000.0, &[], &[]).unwrap().len(), 4);
    }
}
