//! A device that runs nothing and remembers every launch, so that cuda_std's tests need no runtime.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use cuda_std::launch::{
    Argument, Entry, Function, Memory, Permutes, Plain, Read, ReadPointer, Refusal, Shape, Target,
    Write, WritePointer,
};

/// What a launch handed over.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    pub kernel: &'static str,
    pub stream: Option<u32>,
    pub shape: Shape,
    /// The bytes of each argument.
    pub arguments: Vec<Vec<u8>>,
    /// Address, length, whether written.
    pub memory: Vec<(u64, u64, bool)>,
}

#[derive(Clone, Default)]
pub struct Device {
    pub launches: Rc<RefCell<Vec<Launch>>>,
}

impl Device {
    /// The only launch so far, which is forgotten.
    pub fn last(&self) -> Launch {
        let launches = self.launches.take();
        assert_eq!(launches.len(), 1);
        launches[0].clone()
    }
}

#[derive(Clone)]
pub struct Found {
    kernel: &'static str,
    launches: Rc<RefCell<Vec<Launch>>>,
}

/// A numbered queue.
#[derive(Debug)]
pub struct Stream(pub u32);

#[derive(Debug, PartialEq)]
pub enum Error {
    Refused(Refusal),
    Missing,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal)
    }
}

// SAFETY: nothing is run.
unsafe impl Target for Device {
    type Function = Found;
    type Stream = Stream;
    type Error = Error;

    fn function(&self, entry: &'static Entry) -> Result<Found, Error> {
        if entry.name == "absent" {
            return Err(Error::Missing);
        }
        Ok(Found {
            kernel: entry.name,
            launches: Rc::clone(&self.launches),
        })
    }
}

impl Function for Found {
    type Stream = Stream;
    type Error = Error;

    unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        shape: Shape,
        arguments: &[Argument<'_>],
        memory: &[Memory<'_>],
    ) -> Result<(), Error> {
        let bytes = |argument: &Argument<'_>| {
            // SAFETY: the argument says so; the tests' values have no padding.
            unsafe { std::slice::from_raw_parts(argument.as_ptr(), argument.bytes()) }.to_vec()
        };
        self.launches.borrow_mut().push(Launch {
            kernel: self.kernel,
            stream: stream.map(|stream| stream.0),
            shape,
            arguments: arguments.iter().map(bytes).collect(),
            memory: memory
                .iter()
                .map(|memory| (memory.address, memory.len, memory.written))
                .collect(),
        });
        Ok(())
    }

    fn suggested_block(&self, shared_bytes: u32) -> Result<u32, Error> {
        Ok(if shared_bytes > 0 { 64 } else { 256 })
    }
}

/// An address and a length, with nothing there.
pub struct Buffer<T> {
    pub address: u64,
    pub len: u64,
    element: PhantomData<T>,
}

impl<T> Buffer<T> {
    pub fn new(address: u64, len: u64) -> Self {
        Self {
            address,
            len,
            element: PhantomData,
        }
    }

    fn memory(&self, written: bool) -> Memory<'_> {
        Memory {
            address: self.address,
            len: self.len,
            owner: &(),
            written,
        }
    }
}

// SAFETY: nothing is run.
unsafe impl<'a, T: Plain> Read<'a, [T]> for &'a Buffer<T> {
    fn pass(self) -> Memory<'a> {
        self.memory(false)
    }
}

// SAFETY: nothing is run.
unsafe impl<'a, T: Plain> Read<'a, [T]> for &'a mut Buffer<T> {
    fn pass(self) -> Memory<'a> {
        self.memory(true)
    }
}

// SAFETY: nothing is run.
unsafe impl<'a, T: Plain> Write<'a, [T]> for &'a mut Buffer<T> {
    fn pass(self) -> Memory<'a> {
        // Not what the kernel's parameter says: the launch must know that itself.
        self.memory(false)
    }
}

impl<'a, T: Plain> ReadPointer<'a, T> for &'a Buffer<T> {
    fn pass(self) -> cuda_std::launch::Pointer<'a> {
        self.memory(false).into()
    }
}

impl<'a, T: Plain> WritePointer<'a, T> for &'a mut Buffer<T> {
    fn pass(self) -> cuda_std::launch::Pointer<'a> {
        self.memory(true).into()
    }
}

/// Numbers that were checked.
pub struct Order(pub Buffer<u32>);

// SAFETY: nothing is run.
unsafe impl<'a> Permutes<'a> for &'a Order {
    fn pass(self) -> Memory<'a> {
        Read::pass(&self.0)
    }
}
