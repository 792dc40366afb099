//! What the builder does to LLVM's IR between rustc and the optimiser, as text.
//!
//! rustc's NVPTX target knows nothing of shared or constant memory and lets LLVM copy inline assembly into branches. Some
//! rewrites repair that before any optimisation, and two checks refuse what could still go wrong:
//!
//! 1. [`remainder::lower`] makes remainders of floats exact, [`wide::lower`] converts 128-bit integers and floats, [`libm::forward`]
//!    replaces a library made for CPUs, all before libdevice is linked; [`contract::mark`] allows fused multiplication, also before, for
//!    libdevice's own roundings must stay;
//! 2. [`library_files::name`] tells files of Rust's library from the user's; [`address_space::lower`] moves the marked statics to the shared or constant address space;
//! 3. [`visible::unmark`] takes the mark off what must stay visible;
//! 4. [`launch_bounds::mark`] hands the kernels' launch bounds to llc;
//! 5. [`convergent::mark`] forbids LLVM to make calls depend on more control flow than they do;
//! 6. [`atomic::order`] keeps the memory ordering that LLVM 22 would drop;
//! 7. [`formatting::shrink`] keeps what formats and panics small;
//! 8. [`flush::mark`] asks for flush-to-zero arithmetic, if wanted;
//! 9. [`barrier::check`] finds barriers that rustc itself copied;
//! 10. [`generic_access::check`], after the optimiser, finds accesses whose address space LLVM could not infer; before it gives up,
//!     [`inline::always`] has the functions inlined that are in the way, and the optimiser begins again;
//! 11. [`extension::guard`], after the optimiser too, works around a miscompilation by LLVM 22's code generator;
//! 12. [`grid_stride::hide`], after the optimiser too, keeps the code generator from preparing rounds that are seldom made.
//!
//! Text, because LLVM's C API would tie the crate to one LLVM, and because llvm-link prints IR in a regular form: one
//! instruction a line, definitions at the line's start.

pub(crate) mod address_space;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod contract;
pub(crate) mod convergent;
pub(crate) mod extension;
pub(crate) mod flush;
pub(crate) mod formatting;
pub(crate) mod functions;
pub(crate) mod generic_access;
pub(crate) mod grid_stride;
pub(crate) mod inline;
pub(crate) mod launch_bounds;
pub(crate) mod libm;
pub(crate) mod library_files;
pub(crate) mod remainder;
pub(crate) mod symbol;
pub(crate) mod visible;
pub(crate) mod wide;
