//! A kernel that prints; `tests/tests/device/prints.rs` launches it. What is printed is made by
//! ordinary functions, which the host calls too: its `format!` is the oracle.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![allow(clippy::missing_safety_doc, reason = "the kernel has no conditions")]

#[cfg(target_arch = "nvptx64")]
extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std as alloc;

use alloc::vec;

use cuda_std::prelude::*;

#[derive(Debug)]
#[allow(dead_code, reason = "read by `Debug`")]
struct Shape {
    sides: [u8; 3],
    name: &'static str,
    twist: Option<f32>,
}

/// `format!`, once: inlined at each place it is half of this crate's code.
#[inline(never)]
fn text(arguments: core::fmt::Arguments<'_>) -> String {
    alloc::fmt::format(arguments)
}

/// Every usual conversion, one a text; `t` is what differs between threads.
pub fn conversions(t: i32) -> Vec<String> {
    let (small, wide) = (t as i8 - 3, i128::from(t) * -10_i128.pow(30));
    let (single, double) = (t as f32 / 3.0 - 1.0, (f64::from(t) - 1.5) * 1.25e10);
    let shape = Shape {
        sides: [3, 4, t as u8],
        name: "tri\"angle\n",
        twist: (t % 2 == 1).then_some(single),
    };
    let nothing = core::ptr::null::<u8>();
    vec![
        text(format_args!(
            "t {t}: integers {} {} {} {}",
            small,
            t as u16,
            u64::MAX - t as u64,
            wide
        )),
        text(format_args!(
            "t {t}: radix {:x} {:#X} {:#o} {:b} {:#010b}",
            t,
            255 - t,
            t,
            t,
            t
        )),
        text(format_args!(
            "t {t}: width [{:5}] [{:<5}] [{:^5}] [{:>+5}] [{:05}] [{:*^7}]",
            t, t, t, t, -t, t
        )),
        text(format_args!(
            "t {t}: f32 {} {:?} {:.3} {:8.2} {:+.1} {:e}",
            single, single, single, single, single, single
        )),
        text(format_args!(
            "t {t}: f64 {} {:?} {:.0} {:12.4} {:E} {:.2e}",
            double, double, double, double, double, double
        )),
        text(format_args!(
            "t {t}: edges {} {} {:?} {} {:e} {:?}",
            f32::NAN,
            -f64::INFINITY,
            -0.0_f32,
            f32::MAX,
            f64::MIN_POSITIVE,
            0.1_f32 + 0.2
        )),
        text(format_args!("t {t}: long {:.20} {}", 0.1_f64, f64::MAX)),
        text(format_args!(
            "t {t}: text [{}] [{:8}] [{:>8}] [{:-^9}] [{:.2}] {:?}",
            "ab", "cd", "ef", "gh", "ijkl", "m\t\"ñ"
        )),
        text(format_args!("t {t}: char {} {:?} {:3}|", 'x', '\'', 'é')),
        text(format_args!(
            "t {t}: not ASCII: ñ, ß, €, 漢字, 🦀, \u{1F469}\u{200D}\u{1F4BB}"
        )),
        text(format_args!(
            "t {t}: bool {} {:>6} {:?}",
            t > 1,
            t > 2,
            t > 3
        )),
        text(format_args!(
            "t {t}: pointer {:p} {:p} {:#018x}",
            nothing,
            nothing.wrapping_add(0xABC0 + t as usize),
            t
        )),
        text(format_args!("t {t}: per cent 100% %d %s %n %% %5.2f %")),
        text(format_args!("t {t}: braces {{}} and a \\ and a \"")),
        text(format_args!(
            "t {t}: debug {:?} {:?} {:?} {:02x?}",
            (1, 'a', t),
            [Some(t), None],
            Ok::<_, ()>("ok"),
            [10, 200, t]
        )),
        text(format_args!("t {t}: struct {:?}", shape)),
        text(format_args!(
            "t {t}: named {a} {b:>1$} {a:?} {0}",
            t,
            6,
            a = t * 2,
            b = "b"
        )),
        text(format_args!(
            "t {t}: forty {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
            t,
            t + 1,
            t + 2,
            t + 3,
            t + 4,
            t + 5,
            t + 6,
            t + 7,
            t + 8,
            t + 9,
            t + 10,
            t + 11,
            t + 12,
            t + 13,
            t + 14,
            t + 15,
            t + 16,
            t + 17,
            t + 18,
            t + 19,
            t + 20,
            t + 21,
            t + 22,
            t + 23,
            t + 24,
            t + 25,
            t + 26,
            t + 27,
            t + 28,
            t + 29,
            t + 30,
            t + 31,
            t + 32,
            t + 33,
            t + 34,
            t + 35,
            t + 36,
            t + 37,
            t + 38,
            t + 39
        )),
    ]
}

/// A text of several lines, for one call of `print!`.
pub fn several_lines(t: u32) -> String {
    text(format_args!(
        "begin {t}\n{:#?}\nend {t}\n",
        Shape {
            sides: [t as u8; 3],
            name: "square",
            twist: None,
        }
    ))
}

/// A line of `length` characters that says where it begins and ends.
pub fn long_line(t: u32, length: usize) -> String {
    let mut line = text(format_args!("<{t}:"));
    line.extend((line.len()..length - 1).map(|i| char::from(b'a' + (i % 26) as u8)));
    line.push('>');
    line
}

/// What [`prints`] prints.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    /// [`conversions`], one a line.
    Conversions,
    /// [`several_lines`], with one `print!`.
    SeveralLines,
    /// [`long_line`] of the given length.
    LongLine,
    /// One `println!` with arguments of its own: the thread, half of it with a `%`, and a letter.
    Directly,
    /// An empty line, nothing, and a text with a zero in it.
    Edges,
}

/// Prints `what`, a [`Printed`]. One kernel, because each one that formats takes the driver seconds
/// to compile.
#[kernel]
pub unsafe fn prints(what: u32, length: usize) {
    let t = thread::index_1d();
    if what == Printed::Conversions as u32 {
        for line in conversions(t as i32) {
            println!("{line}");
        }
    } else if what == Printed::SeveralLines as u32 {
        print!("{}", several_lines(t));
    } else if what == Printed::LongLine as u32 {
        println!("{}", long_line(t, length));
    } else if what == Printed::Directly as u32 {
        let letter = char::from(b'a' + (t % 26) as u8);
        println!("thread {t}: {:.1} is 50% of it, {letter}", t as f32 / 2.0);
    } else {
        println!();
        print!("");
        println!("before\0after");
    }
}
