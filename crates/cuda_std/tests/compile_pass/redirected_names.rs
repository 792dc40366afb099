//! Names of generated code that the crate redirects: nothing of it changes what a launch checks.
#![allow(non_camel_case_types, dead_code, unused_macros)]

extern crate self as alloc;
extern crate self as core;

#[path = "../support/mod.rs"]
mod support;

use cuda_std::launch::{Plain as _, Refusal, Shape};
use cuda_std::prelude::*;
use support::{Buffer, Device, Error};

// What `::core` is here.
pub mod option {
    pub enum Option<T> {
        Some(T),
        None,
    }
}
pub mod primitive {
    pub type usize = u8;
    pub type bool = ();
}
pub mod mem {
    pub const fn size_of<T>() -> usize {
        0
    }
}
#[macro_export]
macro_rules! assert {
    ($($anything:tt)*) => {};
}
#[macro_export]
macro_rules! matches {
    ($($anything:tt)*) => {
        true
    };
}
#[macro_export]
macro_rules! include {
    ($($anything:tt)*) => {
        []
    };
}

/// A number that stands in the signature.
type Number = u64;

#[forbid(unsafe_code)]
mod shadowed {
    use super::{Number, Own};
    use ::cuda_std::prelude::*;

    // What the words of generated code could be.
    struct usize;
    struct u32;
    struct bool;
    struct str;
    struct Some;
    struct Ok;
    trait From {}
    trait Into {}
    macro_rules! concat {
        () => {};
    }
    mod cuda_std {}
    mod core {}
    mod std {}
    mod blockwise {}

    #[derive(Clone, Copy, Plain)]
    #[repr(C)]
    pub struct Pair {
        pub left: Number,
        pub right: Number,
    }

    #[kernel(require(
        n.checked_add(1).is_some(),
        x.len() == y.len(),
        m.rows() == x.len(),
        !x.is_empty()
    ))]
    pub fn copied(n: Number, pair: Pair, m: Matrix<Number>, x: &[Number], mut y: Out<Number>) {
        let _ = (n, pair, m, Own::len(0));
        for (i, y) in y.mine() {
            *y = x[i];
        }
    }
}

/// Methods of the names that generated code calls, of every type and by value, which go before
/// those that take a reference.
trait Own: Sized {
    fn len(self) -> usize {
        7
    }
    fn rows(self) -> usize {
        7
    }
    fn is_some(self) -> bool {
        true
    }
    fn is_empty(self) -> bool {
        false
    }
    fn is_whole(self) -> bool {
        true
    }
    fn is_addressable(self) -> bool {
        true
    }
    fn checked_add(self, _: usize) -> Option<usize> {
        None
    }
    fn shape(self) -> Shape {
        Shape::new(1, 1)
    }
    fn filter(self) {}
    fn place(self) {}
}
impl<T> Own for T {}

#[forbid(unsafe_code)]
#[kernel(require(n.checked_add(1).is_some(), x.len() == y.len(), m.rows() == x.len(), !x.is_empty()))]
fn own(n: u64, m: Matrix<u64>, x: &[u64], mut y: Out<u64>) {
    let _ = (n, m);
    for (i, y) in y.mine() {
        *y = x[i];
    }
}

fn refused(result: Result<(), Error>, rule: &str) {
    match result {
        Err(Error::Refused(Refusal { rule: found, .. })) => std::assert_eq!(found, rule),
        other => panic!("{other:?}"),
    }
}

fn main() {
    std::assert_eq!(shadowed::Pair::NAME, "Pair{left:u64,right:u64}");
    let device = Device::default();
    let own = own::on(&device)
        .unwrap_or_else(|error| panic!("{error:?}"))
        .grid(1)
        .block(32);
    let (m, x, empty) = (Buffer::new(8, 6), Buffer::new(64, 3), Buffer::new(64, 0));
    let y = |len| Buffer::new(128, len);
    own.launch(1, (&m, 3, 2), &x, &mut y(3)).unwrap();
    refused(
        own.launch(u64::MAX, (&m, 3, 2), &x, &mut y(3)),
        "n.checked_add(1).is_some()",
    );
    refused(
        own.launch(1, (&m, 3, 2), &x, &mut y(4)),
        "x.len() == y.len()",
    );
    refused(
        own.launch(1, (&m, 2, 3), &x, &mut y(3)),
        "m.rows() == x.len()",
    );
    refused(
        own.launch(1, (&m, 3, 3), &x, &mut y(3)),
        "m.len() == m.rows() * m.cols()",
    );
    refused(
        own.launch(1, (&empty, 0, 2), &empty, &mut y(0)),
        "!x.is_empty()",
    );
    let copied = shadowed::copied::on(&device)
        .unwrap_or_else(|error| panic!("{error:?}"))
        .grid(1)
        .block(32);
    let pair = shadowed::Pair { left: 1, right: 2 };
    copied.launch(1, pair, (&m, 3, 2), &x, &mut y(3)).unwrap();
    refused(
        copied.launch(u64::MAX, pair, (&m, 3, 2), &x, &mut y(3)),
        "n.checked_add(1).is_some()",
    );
    refused(
        copied.launch(1, pair, (&m, 3, 2), &x, &mut y(2)),
        "x.len() == y.len()",
    );
}
