//! What the builder does to LLVM's IR between rustc and llc: [`PASSES`], and what must hold
//! afterwards: [`CHECKS`].
//!
//! LLVM's tools read and print modules; between two of them a [`module::Module`] is read once, goes
//! through the passes of its [`Stage`], is checked, and printed once. What a pass must know and
//! does not is an error that quotes it.

mod address_space;
mod atomic;
mod barrier;
pub(crate) mod calls;
mod contract;
mod convergent;
mod extension;
mod flush;
mod formatting;
mod generic_access;
mod grid_stride;
mod inline;
pub(crate) mod kernel_marks;
mod libm;
mod library_files;
pub(crate) mod markers;
pub(crate) mod module;
pub(crate) mod names;
mod odd_integer;
mod own_stack;
mod panics;
mod remainder;
#[cfg(test)]
mod testing;
mod visible;
pub(crate) mod waiting;
mod wide;

pub(crate) use generic_access::in_the_way;
pub(crate) use inline::always as inline_always;

use crate::CudaBuilder;
use crate::error::CudaBuilderError;
use module::Module;

/// Where a module is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The crates, before libdevice is linked to them.
    Crates,
    /// The whole program, before LLVM optimises anything.
    Program,
    /// The same, when [its barriers](crate::uniformity) have been looked at.
    Checked,
    /// What LLVM's optimiser has left, before llc.
    Optimised,
}
use Stage::{Checked, Crates, Optimised, Program};

type Rewrite = fn(&mut Module<'_>, &CudaBuilder) -> Result<(), CudaBuilderError>;
type Check = fn(&Module<'_>) -> Result<(), CudaBuilderError>;

/// All rewrites, in order.
const PASSES: &[(Stage, Rewrite)] = &[
    // `cuda_std` has core's panics without `core::fmt`, which would be most of a kernel that checks
    // one index.
    (Crates, |module, _| panics::replace(module)),
    // PTX converts integers of up to 64 bits: 128 are put together.
    (Crates, |module, _| wide::lower(module)),
    // LLVM's remainder of floats is not exact: libdevice's is.
    (Crates, |module, _| remainder::lower(module)),
    // The crate `libm` is made for CPUs: libdevice takes its place.
    (Crates, |module, builder| match builder.override_libm {
        true => libm::forward(module),
        false => Ok(()),
    }),
    // `a * b + c` may be one instruction; not in libdevice, whose own roundings must stay.
    (Crates, |module, builder| match builder.fma_contraction {
        true => contract::mark(module),
        false => Ok(()),
    }),
    // Who reads PTX must not take a file of `core` for one of the user's.
    (Program, |module, _| library_files::name(module)),
    // rustc knows no shared and no constant memory. First of what LLVM sees: a shared array that is
    // an ordinary global may become a stack slot of each thread.
    (Program, |module, builder| {
        address_space::lower(module, builder.use_constant_memory_space)
    }),
    // PTX has no sections.
    (Program, |module, _| visible::unmark(module)),
    // What `#[kernel]` says becomes attributes that LLVM keeps.
    (Program, |module, _| kernel_marks::read(module)),
    // LLVM must not move or copy calls that wait for other threads; of assembly it does not know.
    (Program, |module, _| convergent::mark(module)),
    // LLVM 22 prints every `atomicrmw` as relaxed: fences keep its ordering.
    (Program, |module, _| atomic::order(module)),
    // What formats and panics is small code rather than fast code.
    (Program, |module, _| formatting::shrink(module)),
    // The function that reads what is formatted stays outside of kernels.
    (Program, |module, _| inline::formatting_apart(module)),
    // Denormals become zero, if that is asked for.
    (Program, |module, builder| match builder.ftz {
        true => flush::mark(module),
        false => Ok(()),
    }),
    // Only the check of barriers reads what is marked as the same in all threads.
    (Checked, |module, _| markers::remove(module)),
    // ptxas refuses `compare_exchange` on a thread's own stack.
    (Optimised, |module, _| own_stack::lower(module)),
    // LLVM 22 miscompiles some sign extensions.
    (Optimised, |module, _| extension::guard(module)),
    // A variable that was split may have a type that PTX lacks.
    (Optimised, |module, _| odd_integer::lower(module)),
    // The code generator must not prepare rounds that are seldom made.
    (Optimised, |module, _| grid_stride::hide(module)),
];

/// What must hold after a stage's last pass.
const CHECKS: &[(Stage, Check)] = &[
    // rustc has not copied a barrier. Later a copy could not be told from inlining and unrolling,
    // which are right.
    (Checked, barrier::check),
    // No atomic has an ordering that LLVM would drop.
    (Checked, atomic::check),
    (Optimised, atomic::check),
    // What may wait for other threads is `convergent`, also after LLVM has taken marks off that it
    // thinks are not needed.
    (Checked, convergent::check),
    (Optimised, convergent::check),
    // Constants fit.
    (Optimised, address_space::check_constants),
    // Shared memory is accessed as such.
    (Optimised, generic_access::check),
];

/// Runs the passes and the checks of a stage.
pub(crate) fn rewrite(
    stage: Stage,
    module: &mut Module<'_>,
    builder: &CudaBuilder,
) -> Result<(), CudaBuilderError> {
    for (_, pass) in PASSES.iter().filter(|(of, _)| *of == stage) {
        pass(module, builder)?;
    }
    for (_, check) in CHECKS.iter().filter(|(of, _)| *of == stage) {
        check(module)?;
    }
    Ok(())
}

/// What must keep its name: kernels, which the host launches, constants with a public name, which
/// it may set, and what is marked.
pub(crate) fn public(module: &Module<'_>) -> Vec<String> {
    calls::kernels(module)
        .chain(visible::names(module))
        .chain(panics::names(module))
        .chain(address_space::public_constants(module))
        .map(str::to_owned)
        .collect()
}

/// Takes any text through the parser and all passes, for tests with hostile input. Nothing may
/// panic; a refusal is as good as a result, and what is printed can be read again.
#[cfg(any(test, fuzzing))]
pub(crate) fn digest(text: &str) {
    let Ok(mut module) = Module::parse(text) else {
        return;
    };
    let builder = CudaBuilder::new("nowhere")
        .ftz(true)
        .use_constant_memory_space(true);
    for stage in [Crates, Program, Checked, Optimised] {
        let _ = rewrite(stage, &mut module, &builder);
    }
    let printed = module.to_string();
    assert!(Module::parse(&printed).is_ok(), "{printed}");
}
