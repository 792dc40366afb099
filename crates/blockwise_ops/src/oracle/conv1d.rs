//! The convolution's reference.

use std::collections::VecDeque;
use std::ops::Range;

use blockwise::Type;
use ndarray::{Array1, ArrayView1, Ix1};

use super::{Expected, Precision, Sum};
use crate::ConvMode;
use crate::operation::{Asked, Near};

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] as in `numpy.convolve`, for results in `T`.
///
/// If either operand is empty, there are no outputs.
pub fn convolve<T: Precision>(
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    mode: ConvMode,
) -> Expected<Ix1> {
    let (longer, shorter) = if taps.len() > signal.len() {
        (taps, signal)
    } else {
        (signal, taps)
    };
    let (n, m) = (longer.len(), shorter.len());
    let (length, offset) = match (m, mode) {
        (0, _) => (0, 0),
        (_, ConvMode::Full) => (n + m - 1, 0),
        (_, ConvMode::Same) => (n, (m - 1) / 2),
        (_, ConvMode::Valid) => (n - m + 1, m - 1),
    };
    convolve_part(longer, shorter, offset..offset + length)
}

/// Some outputs of the full convolution, by their index in it.
pub fn convolve_part<T: Precision>(
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    outputs: Range<usize>,
) -> Expected<Ix1> {
    let [signal, taps] =
        [signal, taps].map(|values| Vec::from_iter(values.iter().map(|&x| x.into())));
    let sums: Array1<Sum> = outputs.map(|i| output(&signal, &taps, i)).collect();
    Expected {
        values: sums.mapv(Sum::value),
        tolerance: sums.mapv(Sum::tolerance::<T>),
    }
}

/// One output. Not generic, so that it is compiled here and optimised with this crate.
fn output(signal: &[f64], taps: &[f64], i: usize) -> Sum {
    let mut sum = Sum::default();
    for (k, &tap) in taps.iter().enumerate() {
        // Terms outside the signal are zero.
        if let Some(&sample) = i.checked_sub(k).and_then(|at| signal.get(at)) {
            sum.add(tap, sample);
        }
    }
    sum
}

/// The largest error of a convolution by FFT of a signal whose largest magnitude is `loudest`:
/// 8·u·max|signal|·Σ|taps|, the same for every output, even where the signal is silent. Without the
/// factor 8, the measured error is below 2 such units, on noise and on signals with long silences
/// (SciPy, both precisions). Taps that are not finite are ignored: outputs that use them are not
/// covered.
pub fn fft_error<T: Precision>(loudest: f64, taps: ArrayView1<'_, T>) -> f64 {
    let finite = taps.iter().map(|&tap| tap.into().abs());
    let gain: f64 = finite.filter(|tap| tap.is_finite()).sum();
    8.0 * T::UNIT_ROUNDOFF * loudest * gain
}

/// The largest error of [`CONV`](crate::conv1d::CONV)'s FFTs of `points` points, for some
/// outputs of the full convolution: 16·u·log₂`points`·Σ|taps| times the largest sample less than a
/// filter's length away from the output's own window; plus, as for a direct sum, half of the
/// smallest number for each tap. Zero if all those samples are zero: the output is then exact.
///
/// Numbers that are not finite are ignored: outputs that use them are not covered.
pub fn transform_error<T: Precision>(
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    outputs: Range<usize>,
    points: usize,
) -> Array1<f64> {
    let finite = taps.iter().map(|&tap| tap.into().abs());
    let gain: f64 = finite.filter(|tap| tap.is_finite()).sum();
    // Half of the smallest `f64` would be zero.
    let rounded = T::SMALLEST * ((taps.len() + 1) as f64 / 2.0);
    let unit = 16.0 * T::UNIT_ROUNDOFF * (points as f64).log2() * gain;
    let reach = taps.len() - 1;
    let loudest = loudest(signal, outputs, Some([2 * reach, reach]));
    let error = |loudest: f64| match loudest > 0.0 {
        true => unit * loudest + rounded,
        false => 0.0,
    };
    loudest.into_iter().map(error).collect()
}

/// The largest finite magnitude near each output of the full convolution. `near` counts samples
/// before and after the output's newest one; without it, all samples are near.
fn loudest<T: Precision>(
    signal: ArrayView1<'_, T>,
    outputs: Range<usize>,
    near: Option<[usize; 2]>,
) -> Vec<f64> {
    let [before, after] = near.unwrap_or([usize::MAX; 2]);
    let loud = |at: usize| Some(signal[at].into().abs()).filter(|sample| sample.is_finite());
    // Indices of the samples after which all are quieter, for a sliding maximum.
    let mut louder: VecDeque<(usize, f64)> = VecDeque::new();
    let mut next = outputs.start.saturating_sub(before);
    let of_output = |i: usize| {
        while next < signal.len().min(i.saturating_add(after).saturating_add(1)) {
            let sample = loud(next).unwrap_or(0.0);
            while louder.back().is_some_and(|&(_, last)| last <= sample) {
                louder.pop_back();
            }
            louder.push_back((next, sample));
            next += 1;
        }
        while (louder.front()).is_some_and(|&(at, _)| at.saturating_add(before) < i) {
            louder.pop_front();
        }
        louder.front().map_or(0.0, |&(_, loudest)| loudest)
    };
    outputs.map(of_output).collect()
}

/// The operands of a problem, of which the longer one plays the signal.
fn operands<'a, T: Precision>(asked: &Asked<'a>) -> [&'a [T]; 2] {
    let [one, other] = [0, 1].map(|at| asked.inputs[at].typed::<T>().unwrap_or_default());
    match other.len() > one.len() {
        true => [other, one],
        false => [one, other],
    }
}

/// The outputs that are asked for, by their indices in the full convolution.
fn outputs(asked: &Asked<'_>) -> impl Iterator<Item = Range<usize>> {
    let offset = asked.problem.extents[2];
    let runs = asked.runs.iter();
    runs.map(move |run| run.start + offset..run.end + offset)
}

/// Sums of products, each with the error of a correct sum in any order. A reference may have been
/// computed by transforms, so the magnitude also has the loudest sample under an output's taps.
pub(crate) fn of_sums<T: Precision>(asked: &Asked<'_>) -> Vec<Near> {
    let [signal, taps] = operands::<T>(asked);
    // Units of the precision of a reference by transforms, and of each roundoff of a sum.
    let unit = fft_error::<T>(1.0, ArrayView1::from(taps)) / T::UNIT_ROUNDOFF / taps.len() as f64;
    let wide: Vec<f64> = taps.iter().map(|&tap| tap.into()).collect();
    let reach = taps.len() - 1;
    let mut near = Vec::new();
    for outputs in outputs(asked) {
        // The samples under the taps of these outputs.
        let first = outputs.start.saturating_sub(reach).min(signal.len());
        let heard = &signal[first..outputs.end.clamp(first, signal.len())];
        let heard: Vec<f64> = heard.iter().map(|&sample| sample.into()).collect();
        let loudest = loudest(ArrayView1::from(signal), outputs.clone(), Some([reach, 0]));
        near.extend(outputs.zip(loudest).map(|(i, loudest)| {
            let sum = output(&heard, &wide, i - first);
            Near {
                value: sum.value(),
                tolerance: sum.tolerance::<T>(),
                magnitude: sum.magnitude() + unit * loudest,
                terms: taps.len(),
            }
        }));
    }
    near
}

/// What transforms may be off beyond a sum's own error: 8·u·Σ|taps| times the loudest sample near
/// an output. `near` says from how many samples before the output's newest to how many after it, by
/// the taps but one.
pub fn of_transforms(asked: &Asked<'_>, near: fn(usize) -> Option<[usize; 2]>) -> Vec<f64> {
    fn of<T: Precision>(asked: &Asked<'_>, near: fn(usize) -> Option<[usize; 2]>) -> Vec<f64> {
        let [signal, taps] = operands::<T>(asked).map(ArrayView1::from);
        let near = near(taps.len().saturating_sub(1));
        let loudest = outputs(asked).flat_map(|outputs| loudest(signal, outputs, near));
        loudest.map(|loudest| fft_error(loudest, taps)).collect()
    }
    match asked.problem.ty {
        Type::F32 => of::<f32>(asked, near),
        _ => of::<f64>(asked, near),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, array};

    #[track_caller]
    fn check(signal: &[f64], taps: &[f64], mode: ConvMode, expected: Array1<f64>) {
        let got = convolve(ArrayView1::from(signal), ArrayView1::from(taps), mode);
        assert_eq!(got.values, expected);
        assert_eq!(got.tolerance.len(), expected.len());
    }

    #[test]
    fn modes_are_those_of_numpy() {
        let (signal, taps) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.5, 2.0]);
        check(
            &signal,
            &taps[..3],
            ConvMode::Full,
            array![0.0, 1.0, 2.5, 4.0, 1.5],
        );
        check(&signal, &taps[..3], ConvMode::Same, array![1.0, 2.5, 4.0]);
        check(&signal, &taps[..3], ConvMode::Valid, array![2.5]);
        // numpy.convolve([1,2,3],[0,1,.5,2],'same') and 'valid': more taps than samples.
        check(&signal, &taps, ConvMode::Same, array![1.0, 2.5, 6.0, 5.5]);
        check(&signal, &taps, ConvMode::Valid, array![2.5, 6.0]);
        check(&signal, &taps[..2], ConvMode::Same, array![0.0, 1.0, 2.0]);
        check(&[], &taps, ConvMode::Full, array![]);
    }

    #[test]
    fn only_samples_near_an_output_count_for_its_error() {
        let mut signal = Array1::<f32>::zeros(40);
        (signal[10], signal[11], signal[30]) = (1.0, f32::NAN, -4.0);
        let taps = array![1.0_f32, -1.0, 2.0];
        let errors = transform_error(signal.view(), taps.view(), 5..42, 4);
        let unit = 16.0 * 2.0 * 4.0 / f64::from(1 << 24);
        for (i, error) in (5..42).zip(errors) {
            let expected = match i {
                8..=14 => unit,
                28..=34 => 4.0 * unit,
                _ => 0.0,
            };
            assert!((error - expected).abs() < 1e-12, "{i}: {error}");
        }
    }
}
