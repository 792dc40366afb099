//! A function with a launch shape: the contents of a kernel's handle.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;
use core::fmt;
use core::ptr;

use super::{Argument, Dim, Entry, Function, Memory, Refusal, Shape, Target};

/// The most blocks along x.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// A device function with a launch shape. Kernels' handles contain it and have its methods.
pub struct Prepared<'s, F: Function> {
    // Private: a handle that contained another kernel's function would launch it with the wrong
    // arguments.
    entry: &'static Entry,
    function: F,
    stream: Option<&'s F::Stream>,
    grid: Option<Dim>,
    block: Option<Dim>,
    shared_bytes: u32,
}

impl<'s, F: Function> Prepared<'s, F> {
    /// Finds the function.
    ///
    /// # Errors
    /// As for [`Target::function`].
    pub fn new<D: Target<Function = F>>(
        target: &D,
        entry: &'static Entry,
    ) -> Result<Self, D::Error> {
        let is_fixed = !entry.block.contains(&0);
        Ok(Self {
            entry,
            function: target.function(entry)?,
            stream: None,
            grid: None,
            block: is_fixed.then(|| entry.block.into()),
            shared_bytes: 0,
        })
    }

    /// The entry point that the function was found for.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The function.
    pub fn function(&self) -> &F {
        &self.function
    }

    /// Sets the blocks.
    #[must_use]
    pub fn grid(self, grid: impl Into<Dim>) -> Self {
        let grid = Some(grid.into());
        Self { grid, ..self }
    }

    /// Sets the threads of a block.
    #[must_use]
    pub fn block(self, block: impl Into<Dim>) -> Self {
        let block = Some(block.into());
        Self { block, ..self }
    }

    /// Sets the bytes of dynamic shared memory of a block.
    #[must_use]
    pub fn shared_bytes(self, shared_bytes: u32) -> Self {
        Self {
            shared_bytes,
            ..self
        }
    }

    /// Sets grid, block and dynamic shared memory.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Self {
        Self {
            grid: Some(shape.grid),
            block: Some(shape.block),
            shared_bytes: shape.shared_bytes,
            ..self
        }
    }

    /// Sets the stream; the default is the device's own.
    #[must_use]
    pub fn stream(self, stream: &'s F::Stream) -> Self {
        let stream = Some(stream);
        Self { stream, ..self }
    }

    /// Sets a grid of at least `threads` threads along x; the device suggests the block size unless
    /// a block was set.
    ///
    /// # Errors
    /// If the device cannot suggest a block, or the grid would have too many blocks.
    pub fn covering(self, threads: usize) -> Result<Self, F::Error> {
        let block = match self.block {
            Some(block) => block,
            None => Dim::from(self.function.suggested_block(self.shared_bytes)?),
        };
        // A grid must have a block: to cover zero threads, one block does nothing.
        let blocks = (threads as u64).div_ceil(u64::from(block.x.max(1))).max(1);
        if blocks > MAX_BLOCKS {
            return Err(F::Error::from(Refusal {
                kernel: self.entry.name,
                rule: "a grid of at most 2147483647 blocks",
                given: format!("{threads} threads to cover in blocks of {block}"),
            }));
        }
        Ok(Self {
            grid: Some(Dim::from(blocks as u32)),
            block: Some(block),
            ..self
        })
    }

    /// The shape of the launch.
    ///
    /// # Errors
    /// If the grid or the block was not set, or does not match the kernel's.
    pub fn shape(&self) -> Result<Shape, Refusal> {
        let missing = |rule| Refusal {
            kernel: self.entry.name,
            rule,
            given: "none".to_owned(),
        };
        let grid = || missing("a grid: `.grid(..)`, `.covering(..)` or `.shape(..)`");
        let block = || missing("a block: `.block(..)`, `.covering(..)` or `.shape(..)`");
        let (grid, block) = (self.grid.ok_or_else(grid)?, self.block.ok_or_else(block)?);
        let is_other = |(given, own): (u32, u32)| own != 0 && given != own;
        let mut extents = <[u32; 3]>::from(block).into_iter().zip(self.entry.block);
        if extents.any(is_other) {
            return Err(self.another_block(block));
        }
        Ok(Shape {
            grid,
            block,
            shared_bytes: self.shared_bytes,
        })
    }

    #[cold]
    fn another_block(&self, block: Dim) -> Refusal {
        let [x, y, z] = self.entry.block.map(|extent| match extent {
            0 => "any".to_owned(),
            extent => extent.to_string(),
        });
        Refusal {
            kernel: self.entry.name,
            rule: "the block of its `&mut Block<..>`",
            given: format!("block {block} in place of {x} x {y} x {z}"),
        }
    }

    /// Starts the kernel. Zero-sized arguments have no parameter in the PTX and are omitted.
    ///
    /// # Errors
    /// If the function was found for another entry point than `entry`, and as for
    /// [`Function::launch`].
    ///
    /// # Safety
    /// As for [`Function::launch`], with `entry`.
    #[doc(hidden)]
    pub unsafe fn launch<const ARGUMENTS: usize, const MEMORY: usize>(
        &self,
        entry: &'static Entry,
        shape: Shape,
        mut arguments: [Argument<'_>; ARGUMENTS],
        memory: [Option<Memory<'_>>; MEMORY],
    ) -> Result<(), F::Error> {
        if !ptr::eq(entry, self.entry) {
            return Err(F::Error::from(Refusal {
                kernel: entry.name,
                rule: "a function of its own",
                given: format!("the function of `{}`", self.entry.name),
            }));
        }
        let mut passed = 0;
        for at in 0..ARGUMENTS {
            if arguments[at].bytes() > 0 {
                arguments[passed] = arguments[at];
                passed += 1;
            }
        }
        let mut named = [Memory::NONE; MEMORY];
        let mut count = 0;
        for memory in memory.into_iter().flatten() {
            named[count] = memory;
            count += 1;
        }
        // SAFETY: the caller's promise, and the function is the entry's.
        unsafe {
            self.function
                .launch(self.stream, shape, &arguments[..passed], &named[..count])
        }
    }
}

impl<F: Function> Clone for Prepared<'_, F> {
    fn clone(&self) -> Self {
        Self {
            function: self.function.clone(),
            ..*self
        }
    }
}

impl<F: Function> fmt::Debug for Prepared<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("kernel", &self.entry.name)
            .field("grid", &self.grid)
            .field("block", &self.block)
            .field("shared_bytes", &self.shared_bytes)
            .finish_non_exhaustive()
    }
}
