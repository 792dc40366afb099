//! Which outputs are compared with a reference that takes long.

use std::ops::Range;

use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Outputs that are computed together.
const RUN: usize = 4096;
/// Products that the reference computes for a copy, at most, unless there are fewer than [`FEWEST`]
/// runs.
const PRODUCTS: u64 = 1 << 28;
const FEWEST: u64 = 16;

/// Runs of outputs that are compared: all of them, or some at random.
pub(super) struct Sample {
    /// The runs.
    pub(super) runs: Vec<Range<usize>>,
    outputs: usize,
}

impl Sample {
    /// A sample of `outputs` outputs, each the sum of `products` products.
    pub(super) fn of(outputs: usize, products: u64, seed: u64) -> Self {
        let runs = outputs.div_ceil(RUN);
        let most = (PRODUCTS / (RUN as u64 * products.max(1))).max(FEWEST) as usize;
        let starts: Vec<usize> = if runs <= most {
            (0..runs).map(|run| run * RUN).collect()
        } else {
            let mut rng = StdRng::seed_from_u64(seed);
            // The first and the last are always among them.
            let ends = [0, outputs - RUN];
            let others = (2..most).map(|_| rng.random_range(0..outputs - RUN));
            ends.into_iter().chain(others).collect()
        };
        let runs = starts.into_iter().map(|at| at..outputs.min(at + RUN));
        Self {
            runs: runs.collect(),
            outputs,
        }
    }

    /// How many there are, in words.
    pub(super) fn describe(&self) -> String {
        let compared: usize = self.runs.iter().map(ExactSizeIterator::len).sum();
        if compared >= self.outputs {
            "every output".to_owned()
        } else {
            format!("{compared} of {} outputs, all written", self.outputs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_outputs_are_all_compared_and_of_many_both_ends() {
        let all = Sample::of(10_000, 3, 1);
        assert_eq!(all.runs.iter().cloned().flatten().count(), 10_000);
        assert_eq!(all.describe(), "every output");
        let some = Sample::of(1 << 26, 1023, 1);
        assert_eq!((some.runs.len(), &some.runs[0]), (64, &(0..RUN)));
        assert_eq!(some.runs[1].end, 1 << 26);
        assert!(some.describe().ends_with("outputs, all written"));
    }
}
