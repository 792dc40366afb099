//! Core's panics without `core::fmt`, which would dominate a kernel that checks one index.
//!
//! Each function's section names the function of core that it replaces; `cuda_builder` replaces it
//! if the parameters are the same. If core uses another name, core's function formats the message.

use core::fmt::Arguments;
use core::panic::Location;

use super::Kind;
use super::handler::{formatted, numbers, text};

type Place = &'static Location<'static>;

/// `panic!`. Only messages with arguments lead to `core::fmt`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic_fmt")]
#[inline(always)]
fn cuda_std_panic_fmt(message: Arguments<'_>, place: Place) -> ! {
    match message.as_str() {
        Some(message) => text(message.as_bytes(), place),
        None => formatted(message, place),
    }
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic")]
#[inline(always)]
fn cuda_std_panic_str(message: &str, place: Place) -> ! {
    text(message.as_bytes(), place)
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::option::expect_failed")]
#[inline(always)]
fn cuda_std_expect(message: &str, place: Place) -> ! {
    text(message.as_bytes(), place)
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic_bounds_check")]
#[inline(always)]
fn cuda_std_index(index: usize, len: usize, place: Place) -> ! {
    numbers((Kind::INDEX, [index, len]), place)
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::slice::index::slice_index_fail")]
#[inline(always)]
fn cuda_std_range(start: usize, end: usize, len: usize, place: Place) -> ! {
    let message = if start > len {
        (Kind::RANGE_START, [start, len])
    } else if end <= len && start > end {
        (Kind::RANGE_ORDER, [start, end])
    } else {
        (Kind::RANGE_END, [end, len])
    };
    numbers(message, place)
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::slice::copy_from_slice_impl::len_mismatch_fail")]
#[inline(always)]
fn cuda_std_copy(destination: usize, source: usize, place: Place) -> ! {
    numbers((Kind::COPY, [destination, source]), place)
}
