//! A kernel as a row of a variant: its entry point, the elements it is for, and its typed launch.

use std::fmt;

use blockwise::{AnyView, AnyViewMut, Type};
use cuda_std::launch::Entry;

use super::{On, Problem};

/// An entry point and its typed launch.
pub struct Kernel {
    /// The entry point.
    pub entry: &'static Entry,
    /// The elements that it is for.
    pub takes: Takes,
    /// Which of the variant's computations it does.
    pub code: u8,
    /// Which of a variant's instances it is.
    pub instance: u8,
    /// Starts it.
    pub launch: LaunchFn,
}

impl PartialEq for Kernel {
    /// Each is itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Kernel {}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}

/// Elements that a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Of this type.
    Type(Type),
    /// Of this many bytes.
    Width(usize),
}

impl Takes {
    /// Whether they are of this type.
    pub fn has(self, ty: Type) -> bool {
        match self {
            Self::Type(own) => own == ty,
            Self::Width(bytes) => bytes == ty.bytes(),
        }
    }
}

/// Starts a kernel.
pub type LaunchFn = for<'a> fn(On<'a>, Operands<'a>) -> Result<(), blockwise::Error>;

/// What a launch is given.
pub struct Operands<'a> {
    /// The problem.
    pub problem: Problem,
    /// The inputs.
    pub inputs: &'a [AnyView<'a>],
    /// The output.
    pub output: AnyViewMut<'a>,
    /// The variant's own memory.
    pub memory: Option<AnyViewMut<'a>>,
    /// The result of all earlier parts; `None` for the first part, or for a whole.
    pub before: Option<AnyView<'a>>,
    /// Receives the result of all parts up to this one.
    pub after: Option<AnyViewMut<'a>>,
}

impl<'a> Operands<'a> {
    /// The operands of a launch for a whole problem, without memory of its own.
    pub(crate) fn of(problem: Problem, inputs: &'a [AnyView<'a>], output: AnyViewMut<'a>) -> Self {
        Self {
            problem,
            inputs,
            output,
            memory: None,
            before: None,
            after: None,
        }
    }

    /// The same with [memory](Self::memory).
    pub(crate) fn with_memory(self, memory: AnyViewMut<'a>) -> Self {
        let memory = Some(memory);
        Self { memory, ..self }
    }

    /// The same with the result of [earlier parts](Self::before).
    pub(crate) fn with_before(self, before: AnyView<'a>) -> Self {
        let before = Some(before);
        Self { before, ..self }
    }

    /// The same with room for the result that [later parts](Self::after) start from.
    pub(crate) fn with_after(self, after: AnyViewMut<'a>) -> Self {
        let after = Some(after);
        Self { after, ..self }
    }
}

/// The [`Kernel`] of a handle: `kernel!(takes, [code, instance], handle, |of| (arguments))`, the
/// arguments in the kernel's order; `|of| { let pattern = value; (arguments) }` where they share
/// something, `|on, of|` where that depends on the device.
#[macro_export]
macro_rules! kernel {
    ($takes:expr, [$code:expr, $instance:expr], $handle:ty, |$of:ident| ($($argument:expr),+ $(,)?)) => {
        $crate::operation::kernel!(@ $takes, $code, $instance, $handle, on, $of,
            launch => launch.launch($($argument),+))
    };
    ($takes:expr, $which:tt, $handle:ty, |$of:ident| {
        let $own:pat = $with:expr; $arguments:tt
    }) => {
        $crate::operation::kernel!($takes, $which, $handle, |on, $of| {
            let $own = $with; $arguments
        })
    };
    ($takes:expr, [$code:expr, $instance:expr], $handle:ty, |$on:ident, $of:ident| {
        let $own:pat = $with:expr; ($($argument:expr),+ $(,)?)
    }) => {
        $crate::operation::kernel!(@ $takes, $code, $instance, $handle, $on, $of, launch => {
            let $own = $with;
            launch.launch($($argument),+)
        })
    };
    (@ $takes:expr, $code:expr, $instance:expr, $handle:ty, $on:ident, $of:ident, $launch:ident => $start:expr) => {
        $crate::operation::Kernel {
            entry: <$handle as ::blockwise::Instance>::ENTRY,
            takes: $takes,
            code: $code,
            instance: $instance,
            launch: |$on: $crate::operation::On<'_>, $of: $crate::operation::Operands<'_>| {
                let $launch = <$handle>::on($on.device)?.shape($on.shape);
                let $launch = match $on.stream {
                    Some(stream) => $launch.stream(stream),
                    None => $launch,
                };
                $start
            },
        }
    };
}
pub use kernel;

/// The same for an `unsafe` kernel. Not for other crates: it is sound for this one's plans only.
macro_rules! raw_kernel {
    ($takes:expr, [$code:expr, $instance:expr], $handle:ty, |$of:ident| ($($argument:expr),+ $(,)?)) => {
        $crate::operation::kernel!(@ $takes, $code, $instance, $handle, on, $of, launch => {
            // SAFETY: the operands are borrowed, the output mutably. The kernel's `require` checks
            // lengths and shape; the rest is ensured by the plan.
            #[expect(unsafe_code, reason = "kernels in rust-cuda's form have no other launch")]
            unsafe { launch.launch($($argument),+) }
        })
    };
}
pub(crate) use raw_kernel;

/// A kernel for each width of word: `words!([u32 u64], [code, instance], handle, |of, T|
/// (arguments))`.
#[macro_export]
macro_rules! words {
    ([$($word:ident)*], $which:tt, $handle:ident, |$of:ident, $T:ident| $arguments:tt) => {
        &[$({
            type $T = $word;
            $crate::operation::kernel!(
                $crate::operation::Takes::Width(size_of::<$T>()), $which, $handle<$T>, |$of| $arguments
            )
        }),*]
    };
}
pub use words;

/// The same for `unsafe` kernels.
macro_rules! raw_words {
    ([$($word:ident)*], $which:tt, $handle:ident, |$of:ident, $T:ident| $arguments:tt) => {
        &[$({
            type $T = $word;
            $crate::operation::raw_kernel!(
                $crate::operation::Takes::Width(size_of::<$T>()), $which, $handle<$T>, |$of| $arguments
            )
        }),*]
    };
}
pub(crate) use raw_words;
