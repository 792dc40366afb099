//! Functions that the driver supplies on a GPU and a module only declares, and the functions by
//! which `cuda_std` ends a thread.

use super::launch::Launch;
use super::memory::Memory;
use super::printf;
use crate::decode::op::Slot;
use crate::fault::FaultKind;
use launch_contract::panic::{self, Kind, MESSAGE_BYTES};
use std::sync::PoisonError;

/// Longer strings are truncated: a GPU's print buffer holds a few MiB.
const MAX_TEXT: u64 = 1 << 20;

/// A call made by one lane.
pub(super) struct Caller<'a, 'm> {
    pub(super) launch: &'a Launch<'m>,
    pub(super) memory: Memory<'a>,
    pub(super) lane: usize,
    pub(super) pc: u32,
}

impl Caller<'_, '_> {
    /// Calls a driver function by name; returns its result, if it has one.
    pub(super) fn call(
        &mut self,
        name: &str,
        arguments: &[u64],
        returns: &[Slot],
    ) -> Result<u64, FaultKind> {
        let sizes: Vec<u32> = returns.iter().map(|slot| slot.size).collect();
        match (name, arguments, sizes.as_slice()) {
            ("vprintf", &[format, values], [4]) => self.print(format, values),
            ("malloc", &[size], [8]) => {
                let heap = self.launch.table.heap();
                Ok(heap.map_or(0, |heap| heap.malloc(size)))
            }
            ("free", &[0], []) => Ok(0),
            ("free", &[address], []) => {
                let heap = self.launch.table.heap();
                let missing = Err("`malloc` did not return it");
                let freed = heap.map_or(missing, |heap| heap.free(address));
                freed.map(|()| 0).map_err(|reason| {
                    let problem = format!("free of {address:#x}: {reason}");
                    FaultKind::InvalidOperand { problem }
                })
            }
            ("__assertfail", &[message, file, line, function, _], []) => Err(FaultKind::Assert {
                message: self.text(message),
                file: self.text(file),
                line: line as u32,
                function: self.text(function),
            }),
            (panic::NUMBERS, &[kind, a, b, file, line], []) => {
                let message = Kind(kind as u32).message([a, b]).unwrap_or_default();
                Err(self.panic(message, file, line))
            }
            (panic::TEXT, &[text, length, file, line], []) => {
                let message = self.message(text, length);
                Err(self.panic(message, file, line))
            }
            _ => Err(FaultKind::Unsupported {
                form: format!("call of `{name}`, which the module only declares"),
            }),
        }
    }

    fn panic(&mut self, message: String, file: u64, line: u64) -> FaultKind {
        FaultKind::Assert {
            message,
            file: self.text(file),
            line: line as u32,
            function: String::new(),
        }
    }

    /// A panic's message, truncated as for a listening host.
    fn message(&mut self, address: u64, length: u64) -> String {
        let byte = |index| {
            let address = address.checked_add(index)?;
            self.memory.byte(address, self.lane, self.pc)
        };
        let fits = length.min(MESSAGE_BYTES as u64);
        let bytes: Vec<u8> = (0..fits).map_while(byte).collect();
        let whole = bytes.utf8_chunks().next();
        whole.map_or_else(String::new, |chunk| chunk.valid().to_owned())
    }

    /// The bytes of a string; `None` if its memory ends before the string does.
    fn bytes(&mut self, address: u64) -> Option<Vec<u8>> {
        let byte = |index| {
            let address = address.checked_add(index)?;
            self.memory.byte(address, self.lane, self.pc)
        };
        (0..MAX_TEXT)
            .map(byte)
            .take_while(|&byte| byte != Some(0))
            .collect()
    }

    fn text(&mut self, address: u64) -> String {
        let bytes = self.bytes(address);
        bytes.map_or_else(
            || format!("(no string at {address:#x})"),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Returns the number of values that the format consumes, or -1 for a null format.
    fn print(&mut self, format: u64, values: u64) -> Result<u64, FaultKind> {
        if format == 0 {
            return Ok(u64::from(u32::MAX));
        }
        let endless = |address: u64| FaultKind::InvalidOperand {
            problem: format!("vprintf of a string at {address:#x}, whose memory ends before it"),
        };
        let format = self.bytes(format).ok_or_else(|| endless(format))?;
        let mut bad_text = None;
        let mut offset = 0_u64;
        let mut count = 0;
        let mut out_of_bounds = false;
        let text = printf::format(&format, |take| match take {
            printf::Take::Value(size) => {
                let start = offset.next_multiple_of(size);
                offset = start + size;
                count += 1;
                let bytes = (0..size).map(|index| {
                    let address = values.checked_add(start + index)?;
                    self.memory.byte(address, self.lane, self.pc)
                });
                let bytes: Option<Vec<u8>> = bytes.collect();
                out_of_bounds |= bytes.is_none();
                let bytes = bytes.unwrap_or_default();
                let value = bytes.iter().rev();
                printf::Taken::Value(value.fold(0, |value, &byte| value << 8 | u64::from(byte)))
            }
            printf::Take::Text(address) => {
                let text = self.bytes(address);
                bad_text = bad_text.or(text.is_none().then_some(address));
                printf::Taken::Text(text.unwrap_or_default())
            }
        });
        if out_of_bounds {
            let problem = "vprintf with fewer values than its format names".to_owned();
            return Err(FaultKind::InvalidOperand { problem });
        }
        if let Some(address) = bad_text {
            return Err(endless(address));
        }
        let text = text.map_err(|conversion| FaultKind::Unsupported {
            form: format!("conversion `{conversion}` of printf"),
        })?;
        if let Some(output) = self.launch.output {
            let mut sink = output.lock().unwrap_or_else(PoisonError::into_inner);
            sink(&String::from_utf8_lossy(&text));
        }
        Ok(count)
    }
}
