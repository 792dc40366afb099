//! A rank's memory for reductions, which stays from call to call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use blockwise::Device;
use blockwise_ops::reduce::Partials;
use blockwise_ops::{LaunchError, LaunchPlan, Number};

/// The blocks' results of one launch at a time, for each type of elements. Allocating them for each
/// call would cost more than a millisecond's reduction gains from a second GPU. A clone is the same
/// memory.
#[derive(Clone, Default)]
pub(crate) struct Scratch(Arc<Mutex<HashMap<TypeId, Box<dyn Any + Send>>>>);

impl Scratch {
    /// Runs a launch with memory for its plan. What a failed one has used is not used again.
    pub(crate) fn with<T: Number, R>(
        &self,
        device: &Device,
        plan: &LaunchPlan,
        launch: impl FnOnce(&mut Partials<T>) -> Result<R, LaunchError>,
    ) -> Result<R, LaunchError> {
        let key = TypeId::of::<T>();
        let kept = self.kept().remove(&key);
        let kept = kept.and_then(|kept| kept.downcast::<Partials<T>>().ok());
        let fits = kept.filter(|partials| partials.blocks() >= plan.grid[0] as usize);
        let mut partials = match fits {
            Some(partials) => partials,
            None => Box::new(Partials::alloc(device, plan)?),
        };
        let result = launch(&mut partials)?;
        self.kept().insert(key, partials);
        Ok(result)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<TypeId, Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "emulator"))]
mod tests {
    use blockwise_ops::reduce::{enqueue_reduce, plan_reduce};
    use blockwise_ops::{ReduceOptions, Reduction};

    use super::*;

    /// A launch finds the memory of the one before, unless it needs more or that one has failed.
    #[test]
    fn memory_stays_until_a_launch_needs_more_or_fails() {
        let device = Device::emulator();
        let options = ReduceOptions::default();
        let plan =
            |len| plan_reduce::<f32>(len, Reduction::Sum, &options, device.properties()).unwrap();
        let (small, large) = (plan(10), plan(1 << 20));
        assert!(small.grid[0] < large.grid[0]);
        let scratch = Scratch::default();
        let blocks = |plan| scratch.with::<f32, _>(&device, plan, |partials| Ok(partials.blocks()));
        let (few, many) = (small.grid[0] as usize, large.grid[0] as usize);
        assert_eq!(blocks(&small).unwrap(), few);
        assert_eq!(blocks(&large).unwrap(), many);
        assert_eq!(blocks(&small).unwrap(), many);
        let failed = scratch.with::<f32, ()>(&device, &small, |_| {
            Err(LaunchError::EmptyInput { what: "a test" })
        });
        assert!(failed.is_err());
        assert_eq!(blocks(&small).unwrap(), few);
        let values = device.upload(&[1.0_f32, 2.0]).unwrap();
        for _ in 0..2 {
            let sum = scratch.with(&device, &small, |partials| {
                enqueue_reduce(&device, None, &values, partials, Reduction::Sum, &options)?;
                partials.fold(Reduction::Sum)
            });
            assert_eq!(sum.unwrap(), 3.0);
        }
    }
}
