//! Products that need memory of their own: for the products of slices of the inner extent, which
//! are then added in order, by a second launch or by [tickets](kernels::matmul::ticket), and for a
//! copy of B. If there is no such memory, a method without it takes over, unless the caller chose
//! the method.

use std::num::NonZeroU32;

use blockwise::{AnyBuffer, AnyView, AnyViewMut, Device, Stream, Type};
use kernels::matmul::policy::pitch;
use kernels::matmul::slices::sums;

use super::copy::Copies;
use super::few::Division;
use super::{DIRECT, FEW, MMA, SLICED, SLICED_COPY, choice, direct, extents, few, fold, mma, plan};
use crate::LaunchError;
use crate::operation::{Held, Operands, Options, PACK, Plan, Problem, Task, Variant};

/// A product, perhaps in slices, or of a copy of B.
struct Product {
    device: Device,
    variant: &'static Variant,
    /// The options, with the number of slices filled in.
    options: Options,
    /// The products of the slices, if there are several slices.
    sums: Option<AnyBuffer>,
    /// If the launch itself adds the slices: its tickets, zeros between launches.
    tickets: Option<AnyBuffer>,
    copy: Option<Copies>,
}

/// Prepares a product in slices, or in a single launch if its variant has no slices or there is no
/// memory.
pub(super) fn hold(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    let mut product = Product {
        device: device.clone(),
        variant: task.variant,
        options: *task.options,
        sums: None,
        tickets: None,
        copy: None,
    };
    if plan::has_slices(task.variant) {
        product.sliced(task)?;
    }
    Ok(Box::new(product))
}

/// Prepares a product in slices of a copy of B, or of B itself if there is no memory.
pub(super) fn hold_copy(device: &Device, task: &Task<'_>) -> Result<Box<dyn Held>, LaunchError> {
    let mut product = Product {
        device: device.clone(),
        variant: &SLICED_COPY,
        options: *task.options,
        sums: None,
        tickets: None,
        copy: None,
    };
    let prepared = Copies::of_b(device, task.problem).and_then(|copy| {
        product.copy = Some(copy);
        product.allocate(task, choice::slicing(task).slices)
    });
    match (or_no_room(prepared)?, task.options.kernel) {
        (None, None) => hold(device, &task.of(&SLICED)),
        (None, Some(_)) => Err(LaunchError::NeedsMemory {
            kernel: SLICED_COPY.name,
        }),
        (Some(()), _) => Ok(Box::new(product)),
    }
}

impl Product {
    /// Sets the slices and allocates them. One slice, if there is no memory for more and the caller
    /// left their number open.
    fn sliced(&mut self, task: &Task<'_>) -> Result<(), LaunchError> {
        let slicing = choice::slicing(task);
        // What the slices were chosen for, wherever the operands of a launch begin.
        if plan::has_cuts(task.variant) {
            self.options.instance = Some(task.options.instance.unwrap_or(slicing.cut as u8));
        } else if *task.variant == FEW {
            self.options.instance = Division::of(task).instance();
        }
        let allocated = self.allocate(task, slicing.slices);
        match task.options.count {
            Some(_) => allocated,
            None => {
                if or_no_room(allocated)?.is_none() {
                    // There may be sums without tickets.
                    self.sums = None;
                    self.options.count = NonZeroU32::new(1);
                }
                Ok(())
            }
        }
    }

    fn allocate(&mut self, task: &Task<'_>, slices: usize) -> Result<(), LaunchError> {
        let [rows, _, cols] = extents(task.problem);
        if slices > 1 {
            let whole = match *task.variant == MMA {
                true => mma::whole(task, slices),
                false => 0,
            };
            self.options.whole = Some(whole);
            let len = sums(rows - whole, cols, slices, task.problem.extents[3]).ok_or(
                LaunchError::SizeOverflow {
                    what: "the products of the slices",
                },
            )?;
            let ty = task.problem.ty;
            self.sums = Some(AnyBuffer::filled(&self.device, ty, len, 0)?);
            let groups = match *task.variant == FEW {
                true => few::most_groups(task),
                false => direct::most_groups(task.problem),
            };
            if [&FEW, &DIRECT].contains(&task.variant) {
                self.tickets = Some(AnyBuffer::filled(&self.device, Type::U32, groups, 0)?);
            }
        }
        // There are at most `MOST_SLICES`.
        self.options.count = NonZeroU32::new(slices as u32);
        Ok(())
    }
}

impl Held for Product {
    fn enqueue(
        &mut self,
        stream: Option<&Stream>,
        problem: &Problem,
        inputs: &[AnyView<'_>],
        mut output: AnyViewMut<'_>,
    ) -> Result<Option<Plan>, LaunchError> {
        let &[a, b] = inputs else {
            return Ok(None);
        };
        let on = (&self.device, stream);
        let cols = problem.extents[2];
        let (b, pitch) = match &mut self.copy {
            // The grid cap of the product holds for the copy too. Without rows of B there is nothing
            // to copy.
            Some(copy) if problem.extents[1] > 0 => {
                let options = Options {
                    grid_cap: self.options.grid_cap,
                    ..Options::default()
                };
                (copy.enqueue(on, &options, problem, b)?, pitch(cols))
            }
            _ => (b, cols),
        };
        let aligned = |sums: &AnyViewMut<'_>| {
            [
                a.is_aligned(PACK),
                b.is_aligned(PACK),
                sums.is_aligned(PACK),
            ]
        };
        let task = |[a, b, c]: [bool; 3]| Task {
            aligned: a && b && c,
            ..Task::new(
                self.variant,
                problem,
                &self.options,
                self.device.properties(),
            )
        };
        let inputs = [a, b];
        if let (Some(sums), Some(tickets)) = (&mut self.sums, &mut self.tickets) {
            let aligned = aligned(&output);
            let plan = plan::launch(&task(aligned), pitch, aligned)?;
            let operands = Operands::of(*problem, &inputs, output)
                .with_memory(sums.as_view_mut())
                .with_after(tickets.as_view_mut());
            let started = plan.start(on, operands);
            if started.is_err() {
                // Blocks may have taken some tickets.
                tickets.fill_bytes(0)?;
            }
            return started.map(|()| Some(plan));
        }
        let Some(sums) = &mut self.sums else {
            let aligned = aligned(&output);
            let plan = plan::launch(&task(aligned), pitch, aligned)?;
            plan.start(on, Operands::of(*problem, &inputs, output))?;
            return Ok(Some(plan));
        };
        // The product writes the rows in one slice, and the sum of the slices the other rows.
        let whole = self.options.whole.unwrap_or(0) * cols * problem.extents[3];
        let of_sums = aligned(&sums.as_view_mut());
        let aligned = match whole {
            0 => of_sums,
            _ => aligned(&output),
        };
        let task = task(aligned);
        let plan = plan::launch(&task, pitch, aligned)?;
        let operands = match *self.variant == MMA {
            true => {
                let first = output.as_view_mut().into_view_mut(..whole);
                Operands::of(*problem, &inputs, first).with_memory(sums.as_view_mut())
            }
            false => Operands::of(*problem, &inputs, sums.as_view_mut()),
        };
        plan.start(on, operands)?;
        let others = output.into_view_mut(whole..);
        if !others.is_empty() {
            fold::enqueue(on, &task, sums.as_view(), others)?;
        }
        Ok(Some(plan))
    }
}

/// `None` if there is no memory.
pub(super) fn or_no_room<R>(result: Result<R, LaunchError>) -> Result<Option<R>, LaunchError> {
    match result {
        Err(LaunchError::Device(blockwise::Error::OutOfMemory { .. })) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockwise::Type;
    use kernels::matmul::slices::Cut;

    /// The first rows have the bits of a product in one slice, the others those of one in several.
    #[test]
    fn rows_in_one_slice_and_in_several_are_those_of_either_product() {
        let device = Device::emulator();
        for (of, whole, slices) in [
            ([70, 50, 34], 64, 2),
            ([70, 51, 33], 37, 3),
            ([5, 40, 8], 3, 2),
            ([5, 40, 8], 0, 2),
            ([5, 40, 8], 5, 2),
            ([3, 0, 4], 1, 2),
        ] {
            let [rows, inner, cols] = of;
            let matrix = |len: usize, by: usize| -> Vec<f64> {
                let of = |at| ((at * by + at / 5) % 23) as f64 / 7.0 - 1.5;
                (0..len).map(of).collect()
            };
            let a = device.upload(&matrix(rows * inner, 7)).unwrap();
            let b = device.upload(&matrix(inner * cols, 11)).unwrap();
            let problem = Problem::new(Type::F64, &of);
            let product = |count, whole, instance, offset| {
                let options = Options {
                    instance,
                    whole,
                    count: NonZeroU32::new(count),
                    ..Options::of(&MMA)
                };
                let task = Task::new(&MMA, &problem, &options, device.properties());
                let mut held = hold(&device, &task).unwrap();
                let mut all = device
                    .upload(&vec![f64::NAN; offset + rows * cols])
                    .unwrap();
                let inputs = [a.as_view().into(), b.as_view().into()];
                let c = all.as_view_mut().into_view_mut(offset..);
                held.enqueue(None, &problem, &inputs, c.into()).unwrap();
                all.to_vec().unwrap().split_off(offset)
            };
            let [one, several] = [1, slices].map(|count| product(count, None, None, 0));
            let (first, others) = (&one[..whole * cols], &several[whole * cols..]);
            for instance in [None, Some(0), Some(1), Some(4)] {
                for offset in [0, 1] {
                    let got = product(slices, Some(whole), instance, offset);
                    let what = format!("{of:?}, {whole}, {instance:?}, from {offset} on");
                    assert_eq!(&got[..whole * cols], first, "{what}");
                    assert_eq!(&got[whole * cols..], others, "{what}");
                }
            }
        }
    }

    /// NaN ahead of B would be in the sums, and elements beside C would change.
    #[test]
    fn rows_of_whole_vectors_begin_anywhere() {
        let device = Device::emulator();
        for (batch, of, slices) in [
            (1, [5, 40, 12], 1),
            (1, [70, 50, 68], 2),
            (3, [33, 17, 100], 1),
            (1, [2, 5, 128], 1),
            (1, [3, 17, 4], 1),
            (2, [3, 5, 8], 1),
        ] {
            let [rows, inner, cols] = of;
            let small = |len: usize, by: usize| -> Vec<f32> {
                let of = |at| ((at * by + at / 5) % 11) as f32 - 5.0;
                (0..len).map(of).collect()
            };
            let (a, b) = (
                small(batch * rows * inner, 7),
                small(batch * inner * cols, 3),
            );
            let sum = |at| -> f32 {
                let (row, col) = (at / cols, at % cols);
                let b = &b[row / rows * inner * cols..];
                (0..inner)
                    .map(|k| a[row * inner + k] * b[k * cols + col])
                    .sum()
            };
            let expected: Vec<f32> = (0..batch * rows * cols).map(sum).collect();
            let problem = Problem::new(Type::F32, &[rows, inner, cols, batch]);
            let of_a = device.upload(&a).unwrap();
            let all = Cut::ALL.into_iter();
            // Elsewhere so few columns move as single elements: here they are one vector, or two.
            let is_narrow = cols <= 8;
            for (cut, at) in all
                .filter(|cut| !is_narrow || cut.policy(true).anywhere)
                .flat_map(|cut| (0..16).map(move |at| (cut, at)))
            {
                let [ahead_b, ahead_c] = [at % 4, at / 4];
                let behind = |ahead: usize, elements: &[f32]| {
                    let all = [&vec![f32::NAN; ahead], elements].concat();
                    device.upload(&all).unwrap()
                };
                let of_b = behind(ahead_b, &b);
                let mut c = behind(ahead_c, &vec![f32::NAN; expected.len() + 4]);
                let options = Options {
                    instance: Some(cut as u8),
                    count: NonZeroU32::new(slices),
                    ..Options::of(&SLICED)
                };
                let task = Task::new(&SLICED, &problem, &options, device.properties());
                let inputs = [of_a.as_view().into(), of_b.view(ahead_b..).into()];
                let end = ahead_c + expected.len();
                let into = c.as_view_mut().into_view_mut(ahead_c..end);
                let plan = match is_narrow {
                    true => {
                        let which = [0, cut as u8];
                        let mut plan = plan::by_blocks(&task, which, cut.policy(true), of).unwrap();
                        plan.launch.grid[2] = batch as u32;
                        let operands = Operands::of(problem, &inputs, into.into());
                        plan.start((&device, None), operands).unwrap();
                        plan
                    }
                    false => {
                        let mut product = hold(&device, &task).unwrap();
                        let plan = product.enqueue(None, &problem, &inputs, into.into());
                        plan.unwrap().unwrap()
                    }
                };
                let kernel = plan.launch.kernel;
                let what = format!("{batch} of {of:?}, {kernel}, {ahead_b}, {ahead_c}");
                // The sums of slices are memory of their own.
                let aligned = ahead_b == 0 && (ahead_c == 0 || slices > 1);
                let vectors = aligned || cut.policy(true).anywhere;
                assert_eq!(vectors, !kernel.contains("ragged"), "{what}");
                let c = c.to_vec().unwrap();
                assert!(c[ahead_c..end] == expected, "{what}");
                let beside = c[..ahead_c].iter().chain(&c[end..]);
                assert!(beside.copied().all(f32::is_nan), "{what}");
            }
        }
    }

    /// Small integers: every order of additions gives the same sums.
    #[test]
    fn slices_of_a_copy_of_b_add_up() {
        let device = Device::emulator();
        for (rows, inner, cols, slices) in [
            (5, 40, 9, 1),
            (70, 50, 67, 2),
            (64, 100, 130, 3),
            (3, 0, 10, 1),
            (1, 1, 11, 1),
        ] {
            let small = |i, j| ((7 * i + 3 * j) % 11) as f32 - 5.0;
            let problem = Problem::new(Type::F32, &[rows, inner, cols]);
            let matrix = |rows: usize, cols: usize| -> Vec<f32> {
                let places = (0..rows * cols).map(|at| (at / cols, at % cols));
                places.map(|(i, j)| small(i, j)).collect()
            };
            let (a, b) = (matrix(rows, inner), matrix(inner, cols));
            let products = |i, j| (0..inner).map(move |k| small(i, k) * small(k, j)).sum();
            let expected: Vec<f32> = (0..rows * cols)
                .map(|at| products(at / cols, at % cols))
                .collect();
            // C where a pack begins, and one element behind.
            for (cut, offset) in Cut::ALL.into_iter().flat_map(|cut| [(cut, 0), (cut, 1)]) {
                let options = Options {
                    instance: Some(cut as u8),
                    count: NonZeroU32::new(slices),
                    ..Options::of(&SLICED_COPY)
                };
                let task = Task::new(&SLICED_COPY, &problem, &options, device.properties());
                let mut product = hold_copy(&device, &task).unwrap();
                let (of_a, of_b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
                let nothing = vec![f32::NAN; offset + rows * cols];
                let mut c = device.upload(&nothing).unwrap();
                let views = [of_a.as_view().into(), of_b.as_view().into()];
                let into = c.as_view_mut().into_view_mut(offset..);
                let launched = product.enqueue(None, &problem, &views, into.into());
                let plan = launched.unwrap().unwrap();
                let what = format!("{problem:?}, {cut:?}, from {offset} on");
                let ragged = plan.launch.kernel.contains("ragged");
                assert!(inner == 0 || !ragged, "{}, {what}", plan.launch.kernel);
                assert_eq!(c.to_vec().unwrap()[offset..], expected, "{what}");
            }
        }
    }
}
