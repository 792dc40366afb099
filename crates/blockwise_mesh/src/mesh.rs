//! The ranks of this process.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use blockwise::Device;

use crate::wire::{Memory, Office};
use crate::{Error, Rank, Result, Traffic};

/// How long a rank waits for another one, unless asked for otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Devices that work together, each a rank with a thread of its own.
pub struct Mesh {
    devices: Vec<Device>,
    limit: Duration,
    traffic: Traffic,
}

impl Mesh {
    /// Emulated devices: every program and test of several devices runs on any machine.
    ///
    /// # Errors
    /// For no devices.
    #[cfg(feature = "emulator")]
    pub fn emulated(ranks: usize) -> Result<Self> {
        Self::of((0..ranks).map(|_| Device::emulator()).collect())
    }

    /// Emulated devices that check each launch, as [`Device::checked`] does.
    ///
    /// # Errors
    /// For no devices.
    #[cfg(feature = "emulator")]
    pub fn checked(ranks: usize) -> Result<Self> {
        Self::of((0..ranks).map(|_| Device::checked()).collect())
    }

    /// Devices of one's own: one rank each.
    ///
    /// # Errors
    /// For no devices.
    pub fn of(devices: Vec<Device>) -> Result<Self> {
        if devices.is_empty() {
            return Err(Error::NoRanks);
        }
        Ok(Self {
            traffic: Traffic::new(devices.len()),
            devices,
            limit: TIME_LIMIT,
        })
    }

    /// Lets a rank wait no longer than this for another one: [`TIME_LIMIT`] by default.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.devices.len()
    }

    /// The ranks' devices, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// What went over each link so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Runs a program on every rank, and gives what each returns, in the order of the ranks.
    ///
    /// ```
    /// use blockwise_mesh::{Error, Mesh, Sharded, reduce};
    /// use blockwise_ops::{ReduceOptions, Reduction};
    ///
    /// let numbers: Vec<i64> = (1..=1000).collect();
    /// let sums = Mesh::emulated(4)?.run(|rank| {
    ///     let part = Sharded::part_of(rank, &numbers)?;
    ///     reduce(rank, &part, Reduction::Sum, &ReduceOptions::default())
    /// })?;
    /// assert_eq!(sums, [500_500; 4]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// That of the rank that failed first; the others end with it.
    ///
    /// # Panics
    /// When a rank's program panics; the others end with it too.
    pub fn run<R: Send, E: From<Error> + fmt::Display + Send>(
        &self,
        program: impl Fn(&mut Rank) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let office = Arc::new(Office::new(self.ranks(), self.limit));
        let wires = Memory::of(&office);
        let program = &program;
        let results: Vec<_> = std::thread::scope(|scope| {
            let ranks = self.devices.iter().zip(wires).map(|(device, wire)| {
                let rank = Rank::new(device.clone(), Box::new(wire), self.traffic.clone());
                scope.spawn(move || run_one(rank, program))
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join()).collect()
        });
        let first = office.first_failure();
        let mut outcomes = Vec::new();
        for (rank, result) in results.into_iter().enumerate() {
            match result {
                Ok(Ok(outcome)) => outcomes.push(outcome),
                Ok(Err(error)) if Some(rank) == first => return Err(error),
                Ok(Err(_)) => {}
                Err(panic) if Some(rank) == first => resume_unwind(panic),
                Err(_) => {}
            }
        }
        Ok(outcomes)
    }
}

/// Runs one rank's program, and tells the others how it has ended.
fn run_one<R, E: From<Error> + fmt::Display>(
    mut rank: Rank,
    program: impl Fn(&mut Rank) -> Result<R, E>,
) -> Result<R, E> {
    // The panic goes on below: nothing that it left half done is looked at.
    match catch_unwind(AssertUnwindSafe(|| program(&mut rank))) {
        Ok(result) => {
            rank.end(result.as_ref().err().map(ToString::to_string));
            result
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            rank.end(Some(format!("panicked: {}", text.unwrap_or("no message"))));
            resume_unwind(panic)
        }
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("devices", &self.devices)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
