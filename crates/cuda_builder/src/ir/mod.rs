//! The builder's transformations of LLVM IR between rustc and llc, [`PASSES`], and the invariants
//! afterwards, [`CHECKS`].
//!
//! LLVM's tools read and print modules. Between two of them a [`module::Module`] is parsed once,
//! transformed by the passes of its [`Stage`], checked, and printed once. A form that a pass must
//! understand and does not is an error that quotes it.

mod address_space;
mod asm_operands;
mod asm_places;
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
mod locals;
pub(crate) mod markers;
pub(crate) mod module;
pub(crate) mod names;
mod odd_integer;
mod own_stack;
mod panics;
mod part_word;
pub(crate) mod place;
pub(crate) mod references;
mod remainder;
mod sign;
#[cfg(test)]
mod testing;
mod undefined;
mod visible;
pub(crate) mod waiting;
mod wide;

pub(crate) use generic_access::in_the_way;
pub(crate) use inline::always as inline_always;

use crate::CudaBuilder;
use crate::error::CudaBuilderError;
use module::Module;

/// The stages of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The crates, before libdevice is linked to them.
    Crates,
    /// The whole program, before LLVM optimises it.
    Program,
    /// The same, once [its barriers](crate::uniformity) have been analysed.
    Checked,
    /// The output of LLVM's optimiser, before llc.
    Optimised,
}
use Stage::{Checked, Crates, Optimised, Program};

type Rewrite = fn(&mut Module<'_>, &CudaBuilder) -> Result<(), CudaBuilderError>;
type Check = fn(&Module<'_>, &CudaBuilder) -> Result<(), CudaBuilderError>;

/// All rewrites, in order.
const PASSES: &[(Stage, Rewrite)] = &[
    // `cuda_std` replaces core's panics, which would pull `core::fmt` into every kernel that checks
    // an index.
    (Crates, |module, _| panics::replace(module)),
    // PTX converts integers of up to 64 bits: 128-bit conversions are composed of those.
    (Crates, |module, _| wide::lower(module)),
    // LLVM's float remainder is inexact: use libdevice's.
    (Crates, |module, _| remainder::lower(module)),
    // The crate `libm` is written for CPUs: use libdevice.
    (Crates, |module, builder| match builder.override_libm {
        true => libm::forward(module),
        false => Ok(()),
    }),
    // `a * b + c` may be contracted, except in libdevice, which relies on its own roundings.
    (Crates, |module, builder| match builder.fma_contraction {
        true => contract::mark(module),
        false => Ok(()),
    }),
    // Files of `core` must not look like the user's in PTX.
    (Program, |module, _| library_files::name(module)),
    // rustc knows neither shared nor constant memory. Before any LLVM optimisation: a shared array
    // that is an ordinary global may become a per-thread stack slot.
    (Program, |module, builder| {
        address_space::lower(module, builder.use_constant_memory_space)
    }),
    // PTX has no sections.
    (Program, |module, _| visible::unmark(module)),
    // Properties set by `#[kernel]` become attributes that LLVM preserves.
    (Program, |module, _| kernel_marks::read(module)),
    // LLVM 22 prints every `atomicrmw` as relaxed: fences preserve the ordering. For GPUs before
    // sm_70 it has no ordered loads and stores either.
    (Program, |module, builder| {
        atomic::order(module, builder.arch.has_orders())
    }),
    // LLVM must not move or copy calls that wait for other threads; it cannot see into assembly,
    // that of a `compiler_fence` included.
    (Program, |module, _| convergent::mark(module)),
    // A line more in one file must not change another file's kernels.
    (Program, |module, _| asm_places::remove(module)),
    // Formatting and panicking are compiled for size.
    (Program, |module, _| formatting::shrink(module)),
    // The function that reads what is formatted stays out of line.
    (Program, |module, _| inline::formatting_apart(module)),
    // Denormals become zero if requested.
    (Program, |module, builder| match builder.ftz {
        true => flush::mark(module),
        false => Ok(()),
    }),
    // Where every variable stays in memory, all functions are one, and no slot may be shown that is
    // not the variable's.
    (Checked, |module, builder| match builder.keeps_locals() {
        true => locals::drop_late(module).and_then(|()| locals::inline(module)),
        false => Ok(()),
    }),
    (Optimised, |module, builder| match builder.keeps_locals() {
        true => locals::lay_out(module).and_then(|()| locals::drop_interrupted(module)),
        false => Ok(()),
    }),
    // Only the uniformity check reads these markers.
    (Checked, |module, _| markers::remove(module)),
    // ptxas rejects `compare_exchange` on a thread's own stack.
    (Optimised, |module, _| own_stack::lower(module)),
    // LLVM's loops of compare-and-swap begin with a plain load, and widen bytes.
    (Optimised, |module, builder| {
        match builder.arch.has_orders() {
            true => part_word::lower(module),
            false => Ok(()),
        }
    }),
    // PTX's `neg` and `abs` change more of a NaN than its sign.
    (Optimised, |module, _| sign::keep_payloads(module)),
    // LLVM 22 miscompiles some sign extensions.
    (Optimised, |module, _| extension::guard(module)),
    // A variable that LLVM has split may have a type that PTX lacks.
    (Optimised, |module, _| odd_integer::lower(module)),
    // The code generator must not prepare iterations that are rarely executed.
    (Optimised, |module, _| grid_stride::hide(module)),
    // Rust passes assembly no addresses of a space.
    (Optimised, |module, _| asm_operands::lift(module)),
];

/// Invariants after a stage's last pass.
const CHECKS: &[(Stage, Check)] = &[
    // rustc has duplicated no barrier. Later, copies would look like legal inlining and
    // unrolling.
    (Checked, |module, _| barrier::check(module)),
    // No atomic has an ordering that LLVM would drop.
    (Checked, |module, _| atomic::check(module)),
    (Optimised, |module, _| atomic::check(module)),
    // Everything that may wait for other threads is `convergent`, even after LLVM has removed marks
    // that it considers unnecessary.
    (Checked, |module, _| convergent::check(module)),
    (Optimised, |module, _| convergent::check(module)),
    // Constants fit into constant memory.
    (Optimised, |module, _| {
        address_space::check_constants(module)
    }),
    // Everything that kernels use is defined.
    (Optimised, |module, _| undefined::check(module)),
    // Shared memory is accessed in its own space, unless addresses are kept in variables.
    (Optimised, |module, builder| match builder.keeps_locals() {
        true => Ok(()),
        false => generic_access::check(module),
    }),
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
        check(module, builder)?;
    }
    Ok(())
}

/// Symbols that must keep their names: kernels, which the host launches, constants with a public
/// name, which it may set, and marked items.
pub(crate) fn public(module: &Module<'_>) -> Vec<String> {
    calls::kernels(module)
        .chain(visible::names(module))
        .chain(panics::names(module))
        .chain(address_space::public_constants(module))
        .map(str::to_owned)
        .collect()
}

/// Runs any text through the parser and all passes, for tests with hostile input. Nothing may
/// panic; a refusal is as good as a result, and printed modules must parse again.
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
