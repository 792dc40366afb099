//! Transposes and reversals.

use rayon::prelude::*;

use super::work::rungs;
use super::{BenchError, Check, Inputs, Kind, Loaded, Problem, Size, Sizes, Window, Work};
use crate::device::{Device, DeviceBuffer};
use crate::launch::{
    ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions, reverse, transpose,
};

/// The table.
pub(super) fn works(sizes: &Sizes) -> Vec<Work> {
    let standard = [[16_384, 16_384], [16_381, 16_411]];
    let matrices = sizes.pick(true, &[[4096, 4096]], &standard);
    let vectors = sizes.pick(false, &[[1 << 24]], &[[1 << 28]]);
    let transposes = matrices.into_iter().map(|[rows, cols]| {
        let ways: Vec<TransposeOptions> = TransposeKernel::ALL
            .iter()
            .map(|&kernel| TransposeOptions {
                kernel,
                ..TransposeOptions::default()
            })
            .collect();
        work("transpose", vec![rows, cols], ways, |way| {
            way.kernel.to_string()
        })
    });
    let reversals = vectors.into_iter().map(|[len]| {
        let ways: Vec<ReverseOptions> = ReverseKernel::ALL
            .iter()
            .map(|&kernel| ReverseOptions {
                kernel,
                ..ReverseOptions::default()
            })
            .collect();
        work("reverse", vec![len], ways, |way| way.kernel.to_string())
    });
    transposes.chain(reversals).collect()
}

fn work<W: Way + 'static>(
    operation: &'static str,
    extents: Vec<usize>,
    ways: Vec<W>,
    name: impl Fn(&W) -> String,
) -> Work {
    let len: usize = extents.iter().product();
    Work {
        operation,
        ty: "f32",
        bytes: 2 * (len * size_of::<f32>()) as u64,
        operations: 0,
        rungs: rungs(&ways, |way| (name(way), String::new())),
        problem: Box::new(Movement {
            extents: extents.clone(),
            ways,
        }),
        size: Size(extents),
    }
}

/// A way to move the elements of an array to other places.
trait Way {
    fn enqueue(
        &self,
        device: &Device,
        from: &DeviceBuffer<f32>,
        to: &mut DeviceBuffer<f32>,
        extents: &[usize],
    ) -> Result<(), BenchError>;

    /// Where the element that ends up at `at` comes from.
    fn origin(at: usize, extents: &[usize]) -> usize;
}

impl Way for TransposeOptions {
    fn enqueue(
        &self,
        device: &Device,
        from: &DeviceBuffer<f32>,
        to: &mut DeviceBuffer<f32>,
        extents: &[usize],
    ) -> Result<(), BenchError> {
        let launch = transpose::bind(device, from, to, extents[0], extents[1], self)?;
        launch.map_or(Ok(()), |launch| Ok(launch.enqueue()?))
    }

    fn origin(at: usize, extents: &[usize]) -> usize {
        let (col, row) = (at / extents[0], at % extents[0]);
        row * extents[1] + col
    }
}

impl Way for ReverseOptions {
    fn enqueue(
        &self,
        device: &Device,
        from: &DeviceBuffer<f32>,
        to: &mut DeviceBuffer<f32>,
        _: &[usize],
    ) -> Result<(), BenchError> {
        let launch = reverse::bind(device, from, to, self)?;
        launch.map_or(Ok(()), |launch| Ok(launch.enqueue()?))
    }

    fn origin(at: usize, extents: &[usize]) -> usize {
        extents[0] - 1 - at
    }
}

struct Movement<W> {
    extents: Vec<usize>,
    ways: Vec<W>,
}

struct Copy {
    input: Window<f32>,
    from: DeviceBuffer<f32>,
    to: DeviceBuffer<f32>,
}

struct OnDevice<'a, W> {
    device: &'a Device,
    problem: &'a Movement<W>,
    rung: usize,
    copies: Vec<Copy>,
}

impl<W: Way> Problem for Movement<W> {
    fn load<'a>(
        &'a self,
        device: &'a Device,
        copies: usize,
        inputs: &mut Inputs,
    ) -> Result<Box<dyn Loaded + 'a>, BenchError> {
        let len = self.extents.iter().product();
        let mut sets = Vec::new();
        for _ in 0..copies {
            let input = inputs.take::<f32>(Kind::Uniform, len);
            sets.push(Copy {
                from: DeviceBuffer::from_slice(device, &input)?,
                to: DeviceBuffer::alloc(device, len)?,
                input,
            });
        }
        Ok(Box::new(OnDevice {
            device,
            problem: self,
            rung: 0,
            copies: sets,
        }))
    }
}

impl<W: Way> Loaded for OnDevice<'_, W> {
    fn select(&mut self, rung: usize) -> Result<(), BenchError> {
        self.rung = rung;
        Ok(())
    }

    fn poison(&mut self) -> Result<(), BenchError> {
        for copy in &mut self.copies {
            copy.to.poison()?;
        }
        Ok(())
    }

    fn enqueue(&mut self, copy: usize) -> Result<(), BenchError> {
        let Movement { extents, ways } = self.problem;
        let Copy { from, to, .. } = &mut self.copies[copy];
        ways[self.rung].enqueue(self.device, from, to, extents)
    }

    fn verify(&self, copy: usize) -> Result<Check, BenchError> {
        let copy = &self.copies[copy];
        let extents = &self.problem.extents[..];
        let (input, output) = (&copy.input[..], copy.to.copy_to_vec()?);
        let wrong = output
            .par_iter()
            .enumerate()
            .filter(|&(at, value)| *value != input[W::origin(at, extents)])
            .count();
        Ok(Check::exact("every element, exactly", wrong as u64))
    }
}
