use crate::emulator::Emulator;
use crate::error::MemoryError;

/// What a test passes for one parameter.
pub(super) enum Argument<'a> {
    Value(Vec<u8>),
    /// The address of bytes that the host wrote.
    Input(&'a [u8]),
    /// The address of memory that nobody wrote; its bytes come back.
    Output(&'a mut [u8]),
    /// Both.
    InOut(&'a mut [u8]),
}

/// An argument on the device.
pub(super) struct Placed {
    /// The bytes of the parameter.
    pub(super) bytes: Vec<u8>,
    address: Option<u64>,
}

impl Argument<'_> {
    /// Puts it into the device's memory.
    pub(super) fn place(&self, emulator: &Emulator) -> Result<Placed, MemoryError> {
        let (len, contents): (usize, Option<&[u8]>) = match self {
            Argument::Value(bytes) => {
                return Ok(Placed {
                    bytes: bytes.clone(),
                    address: None,
                });
            }
            Argument::Input(bytes) => (bytes.len(), Some(bytes)),
            Argument::InOut(bytes) => (bytes.len(), Some(bytes)),
            Argument::Output(bytes) => (bytes.len(), None),
        };
        let address = emulator.alloc(len as u64)?;
        if let Some(contents) = contents {
            emulator.write(address, contents)?;
        }
        Ok(Placed {
            bytes: address.to_le_bytes().to_vec(),
            address: Some(address),
        })
    }

    /// Copies back what the launch made of it.
    pub(super) fn fetch(
        &mut self,
        emulator: &Emulator,
        placed: &Placed,
    ) -> Result<(), MemoryError> {
        match (self, placed.address) {
            (Argument::Output(bytes) | Argument::InOut(bytes), Some(address)) => {
                emulator.read(address, bytes)
            }
            _ => Ok(()),
        }
    }
}
