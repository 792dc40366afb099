//! From a plan to a launch, for all families.

use std::time::{Duration, Instant};

use blockwise::{Device, Shape, Stream};

use crate::LaunchError;

/// One launch as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    /// The entry point's name in the PTX.
    pub kernel: &'static str,
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of the dynamic shared array.
    pub dynamic_shared_bytes: u32,
}

impl LaunchPlan {
    /// Grid, block and shared bytes, as typed launches expect them.
    pub fn shape(&self) -> Shape {
        Shape::new(self.grid, self.block).shared(self.dynamic_shared_bytes)
    }
}

/// A completed launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The launch's plan.
    pub plan: LaunchPlan,
    /// Wall-clock time from the launch to the end of the kernel, without copies.
    pub elapsed: Duration,
}

impl Execution {
    /// Waits for earlier work, then starts a launch, waits for it and measures the time.
    pub(crate) fn of<P: Planned>(
        device: &Device,
        start: impl FnOnce() -> Result<P, LaunchError>,
    ) -> Result<P::Executed, LaunchError> {
        device.synchronize()?;
        let begin = Instant::now();
        let plan = start()?;
        device.synchronize()?;
        Ok(plan.executed(begin.elapsed()))
    }
}

/// The result of `enqueue`: the plan, or `None` if there was nothing to launch.
pub(crate) trait Planned {
    type Executed;
    fn executed(self, elapsed: Duration) -> Self::Executed;
}

impl Planned for LaunchPlan {
    type Executed = Execution;

    fn executed(self, elapsed: Duration) -> Execution {
        let plan = self;
        Execution { plan, elapsed }
    }
}

impl<P: Planned> Planned for Option<P> {
    type Executed = Option<P::Executed>;

    fn executed(self, elapsed: Duration) -> Self::Executed {
        self.map(|plan| plan.executed(elapsed))
    }
}

/// The target and shape of a launch.
#[derive(Clone, Copy)]
pub struct On<'a> {
    /// The device.
    pub device: &'a Device,
    /// The stream; `None` is the device's default one.
    pub stream: Option<&'a Stream>,
    /// Grid, block and shared bytes.
    pub shape: Shape,
}

impl<'a> On<'a> {
    pub(crate) fn new(device: &'a Device, stream: Option<&'a Stream>, plan: &LaunchPlan) -> Self {
        Self {
            device,
            stream,
            shape: plan.shape(),
        }
    }
}
