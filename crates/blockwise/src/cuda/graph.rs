//! CUDA graphs: sequences of launches and fills.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use cust::error::CudaResult;
use cust_raw::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphNode,
};

use super::context::CudaContext;
use super::panics::Listener;
use super::program::CudaFunction;
use super::{answer, driver_error, queue};
use crate::backend::{Callable, Queue, Replay, Step};
use crate::{Error, Result};

pub(super) struct CudaGraph {
    executable: CUgraphExec,
    /// The kernels that can panic, with their listeners.
    listeners: Vec<(Arc<Listener>, Arc<str>)>,
    /// The kernels, which must stay loaded while the graph exists.
    _functions: Vec<Arc<dyn Callable>>,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's graphs may be used from any thread, one at a time: `Core::enqueue` holds a
// lock around each replay.
unsafe impl Send for CudaGraph {}
// SAFETY: as above.
unsafe impl Sync for CudaGraph {}

/// A graph under construction.
struct Draft {
    graph: CUgraph,
    /// The node that the next one depends on.
    last: Option<CUgraphNode>,
}

impl CudaGraph {
    pub(super) fn new(context: &Arc<CudaContext>, steps: &[Step]) -> Result<Self> {
        context.enter()?;
        let building = || driver_error(context, "building a graph");
        let mut draft = Draft::new().map_err(building())?;
        let (mut functions, mut listeners) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Launch {
                    function,
                    shape,
                    arguments,
                } => {
                    let known: &dyn Any = &**function;
                    let Some(launched) = known.downcast_ref::<CudaFunction>() else {
                        let what = "a graph's kernel".to_owned();
                        return Err(Error::ForeignBuffer { what });
                    };
                    let handle = launched.ready(*shape)?;
                    let mut pointers: Vec<_> = (arguments.iter())
                        .map(|bytes| bytes.as_ptr().cast_mut().cast::<c_void>())
                        .collect();
                    let parameters = CUDA_KERNEL_NODE_PARAMS {
                        func: handle,
                        gridDimX: shape.grid.x,
                        gridDimY: shape.grid.y,
                        gridDimZ: shape.grid.z,
                        blockDimX: shape.block.x,
                        blockDimY: shape.block.y,
                        blockDimZ: shape.block.z,
                        sharedMemBytes: shape.shared_bytes,
                        kernelParams: pointers.as_mut_ptr(),
                        extra: std::ptr::null_mut(),
                    };
                    draft.launch(&parameters).map_err(building())?;
                    let listener = launched.listener();
                    listeners.extend(
                        listener.map(|heard| (Arc::clone(heard), Arc::clone(&launched.name))),
                    );
                    functions.push(Arc::clone(function));
                }
                Step::Fill {
                    address,
                    bytes,
                    value,
                } => {
                    let parameters = CUDA_MEMSET_NODE_PARAMS {
                        dst: *address,
                        pitch: 0,
                        value: (*value).into(),
                        elementSize: 1,
                        width: *bytes,
                        height: 1,
                    };
                    draft.fill(&parameters, context).map_err(building())?;
                }
            }
        }
        Ok(Self {
            executable: draft.finish().map_err(building())?,
            listeners,
            _functions: functions,
            context: Arc::clone(context),
        })
    }
}

impl Draft {
    fn new() -> CudaResult<Self> {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the place for the answer is valid.
        answer(unsafe { cust_raw::cuGraphCreate(&mut graph, 0) })?;
        Ok(Self { graph, last: None })
    }

    fn launch(&mut self, parameters: &CUDA_KERNEL_NODE_PARAMS) -> CudaResult<()> {
        let mut node = std::ptr::null_mut();
        let after = self.last.as_slice();
        // SAFETY: graph and earlier node are alive; the parameters' pointers are valid for what the
        // kernel takes, which the driver copies during the call.
        answer(unsafe {
            cust_raw::cuGraphAddKernelNode(
                &mut node,
                self.graph,
                after.as_ptr(),
                after.len(),
                parameters,
            )
        })?;
        self.last = Some(node);
        Ok(())
    }

    fn fill(
        &mut self,
        parameters: &CUDA_MEMSET_NODE_PARAMS,
        context: &CudaContext,
    ) -> CudaResult<()> {
        let mut node = std::ptr::null_mut();
        let after = self.last.as_slice();
        // SAFETY: as for `launch`; the memory is allocated and has that many bytes.
        answer(unsafe {
            cust_raw::cuGraphAddMemsetNode(
                &mut node,
                self.graph,
                after.as_ptr(),
                after.len(),
                parameters,
                context.context.as_raw(),
            )
        })?;
        self.last = Some(node);
        Ok(())
    }

    fn finish(self) -> CudaResult<CUgraphExec> {
        let mut executable = std::ptr::null_mut();
        // SAFETY: the place for the answer is valid, and the graph is alive.
        answer(unsafe { cust_raw::cuGraphInstantiateWithFlags(&mut executable, self.graph, 0) })?;
        Ok(executable)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: this is the only reference to the graph; its instances stay valid.
        let _ = unsafe { cust_raw::cuGraphDestroy(self.graph) };
    }
}

impl Replay for CudaGraph {
    unsafe fn launch(&self, queue: &dyn Queue) -> Result<()> {
        self.context.enter()?;
        let stream = &queue::of(queue)?.stream;
        for (listener, name) in &self.listeners {
            listener.starts(stream, name);
        }
        // SAFETY: graph and stream are alive and of the current context; the caller keeps the
        // memory.
        answer(unsafe { cust_raw::cuGraphLaunch(self.executable, stream.as_inner()) })
            .map_err(driver_error(&self.context, "launching a graph"))
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: this is the only reference. The driver keeps a running graph alive.
            let _ = unsafe { cust_raw::cuGraphExecDestroy(self.executable) };
        }
    }
}
