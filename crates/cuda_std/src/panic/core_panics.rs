//! Core's panics without `core::fmt`, which would be most of a kernel that checks one index.
//!
//! Each function's section names the one of core that it replaces; `cuda_builder` does so where the parameters are the same. What
//! core calls by another name, it formats.

use core::fmt::Arguments;
use core::panic::Location;

use super::Kind;
use super::handler::{Message, formatted, panicked};

type Place = &'static Location<'static>;

/// `panic!`. Inlined, so that only messages with arguments lead to `core::fmt`.
#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic_fmt")]
#[inline(always)]
fn cuda_std_panic_fmt(message: Arguments<'_>, place: Place) -> ! {
    match message.as_str() {
        Some(text) => cuda_std_panic_str(text, place),
        None => formatted(message, Some(place)),
    }
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic")]
#[inline(never)]
#[cold]
fn cuda_std_panic_str(message: &str, place: Place) -> ! {
    panicked(Message::Text(message), Some(place))
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::option::expect_failed")]
#[inline(always)]
fn cuda_std_expect(message: &str, place: Place) -> ! {
    cuda_std_panic_str(message, place)
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::panicking::panic_bounds_check")]
#[inline(never)]
#[cold]
fn cuda_std_oob(index: usize, len: usize, place: Place) -> ! {
    panicked(Message::Numbers(Kind::INDEX, index, len), Some(place))
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::slice::index::slice_index_fail")]
#[inline(never)]
#[cold]
fn cuda_std_range(start: usize, end: usize, len: usize, place: Place) -> ! {
    let (kind, a, b) = if start > len {
        (Kind::RANGE_START, start, len)
    } else if end <= len && start > end {
        (Kind::RANGE_ORDER, start, end)
    } else {
        (Kind::RANGE_END, end, len)
    };
    panicked(Message::Numbers(kind, a, b), Some(place))
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "cuda_std.replaces.core::slice::copy_from_slice_impl::len_mismatch_fail")]
#[inline(never)]
#[cold]
fn cuda_std_copy(destination: usize, source: usize, place: Place) -> ! {
    panicked(
        Message::Numbers(Kind::COPY, destination, source),
        Some(place),
    )
}
