//! A rank's memory for reductions, kept from call to call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use blockwise::{Device, StagedBuffer};
use blockwise_ops::reduce::{Partials, Total};
use blockwise_ops::{LaunchError, LaunchPlan, Number, Reduction};

use crate::phases::Recorder;
use crate::wait;

/// The memory of one reduction at a time, for each element type. Allocating it per call would cost
/// more than a reduction of a millisecond gains from a second GPU. A clone shares the memory.
#[derive(Clone, Default)]
pub(crate) struct Scratch(Arc<Mutex<HashMap<TypeId, Box<dyn Any + Send>>>>);

/// The blocks' results, on the device and on the host.
struct Memory<T: Number> {
    partials: Partials<T>,
    results: StagedBuffer<u8>,
}

impl<T: Number> Memory<T> {
    fn alloc(device: &Device, plan: &LaunchPlan) -> Result<Self, LaunchError> {
        Ok(Self {
            partials: Partials::alloc(device, plan)?,
            results: StagedBuffer::new(&device.own_stream(), 0)?,
        })
    }

    /// Enqueues the copy of a launch's results to the host after it, so that one wait suffices, and
    /// folds them in the order of the blocks.
    fn fold(
        &mut self,
        device: &Device,
        recorder: &Recorder,
        reduction: Reduction,
    ) -> Result<Total<T>, LaunchError> {
        let results = self.partials.results()?;
        if self.results.len() != results.len() {
            self.results = StagedBuffer::new(&device.own_stream(), results.len())?;
        }
        recorder.device("copy", device, None, || {
            self.results.device_mut().copy_from(results.plain()?)?;
            Ok::<_, LaunchError>(self.results.download()?)
        })?;
        let waiting = recorder.host("wait");
        let results = self.results.host_polling(wait::ATTENTIVE)?;
        drop(waiting);
        let _folding = recorder.host("fold");
        Ok(Total::of_results(results, reduction))
    }
}

impl Scratch {
    /// Launches a reduction with memory for its plan, waits, and returns its result. Memory that a
    /// failed launch has used is not used again.
    pub(crate) fn reduce<T: Number>(
        &self,
        device: &Device,
        recorder: &Recorder,
        plan: &LaunchPlan,
        reduction: Reduction,
        launch: impl FnOnce(&mut Partials<T>) -> Result<LaunchPlan, LaunchError>,
    ) -> Result<Total<T>, LaunchError> {
        let key = TypeId::of::<T>();
        let kept = self.kept().remove(&key);
        let kept = kept.and_then(|kept| kept.downcast::<Memory<T>>().ok());
        let fits = kept.filter(|memory| memory.partials.blocks() >= plan.grid[0] as usize);
        let mut memory = match fits {
            Some(memory) => memory,
            None => Box::new(Memory::alloc(device, plan)?),
        };
        recorder.device("kernel", device, None, || launch(&mut memory.partials))?;
        let folded = memory.fold(device, recorder, reduction)?;
        self.kept().insert(key, memory);
        Ok(folded)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<TypeId, Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use blockwise_ops::Options;
    use blockwise_ops::operation::Variant;
    use blockwise_ops::reduce::{SINGLE, SUM, TREE, enqueue, plan};

    use super::*;

    /// A launch reuses the memory of the previous one, unless it needs more or that one failed.
    #[test]
    fn memory_stays_until_a_launch_needs_more_or_fails() {
        let device = Device::emulator();
        let plan = |kernel: &'static Variant, len| {
            let options = Options {
                kernel: Some(kernel),
                ..Options::default()
            };
            let plan = plan::<f32>(&SUM, len, &options, device.properties());
            (plan.unwrap(), options)
        };
        let scratch = Scratch::default();
        // The sum of that many ones, and the number of blocks that had memory.
        let sum = |kernel: &'static Variant, len: usize| {
            let values = device.upload(&vec![1.0_f32; len]).unwrap();
            let (plan, options) = plan(kernel, len);
            let mut blocks = 0;
            let off = Recorder::default();
            let sum = scratch.reduce(&device, &off, &plan, Reduction::Sum, |partials| {
                blocks = partials.blocks();
                enqueue(&device, None, &SUM, &[values.as_view()], partials, &options)
            });
            (sum.unwrap().round(), blocks)
        };
        let (single, tree) = (&SINGLE, &TREE);
        let [few, many] = [10, 5000].map(|len| plan(tree, len).0.grid[0] as usize);
        assert!(few < many);
        assert_eq!(sum(tree, 10), (10.0, few));
        assert_eq!(sum(tree, 5000), (5000.0, many));
        assert_eq!(sum(tree, 10), (10.0, many));
        assert_eq!(sum(single, 10), (10.0, many));
        let off = Recorder::default();
        let failed =
            scratch.reduce::<f32>(&device, &off, &plan(tree, 10).0, Reduction::Sum, |_| {
                Err(LaunchError::EmptyInput { what: "a test" })
            });
        assert!(failed.is_err());
        assert_eq!(sum(tree, 10), (10.0, few));
    }
}
