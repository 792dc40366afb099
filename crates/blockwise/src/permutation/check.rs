use std::sync::Arc;

use crate::Result;
use crate::backend::{Backend, Callable};

/// The kernels of `check.ptx`.
pub(crate) struct Check {
    pub(super) mark: Arc<dyn Callable>,
    pub(super) find_gaps: Arc<dyn Callable>,
}

impl Check {
    pub(super) fn load(backend: &dyn Backend) -> Result<Self> {
        let program = backend.load(include_str!("check.ptx"), "blockwise's own PTX")?;
        Ok(Self {
            mark: program.function("mark")?,
            find_gaps: program.function("find_gaps")?,
        })
    }
}
