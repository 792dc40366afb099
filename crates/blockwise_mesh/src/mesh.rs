//! The ranks of this process.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use blockwise::{Device, DeviceChoice, Stream};

#[cfg(feature = "cuda")]
use crate::nccl::Link;
use crate::scratch::Scratch;
use crate::wire::{Mailbox, Meeting, Memory, Processes, Wire};
use crate::{Error, Job, Rank, Result, Traffic};

/// How long a rank waits for another that is still working, by default. A dead one is noticed
/// immediately.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);

/// How long a job's ranks wait for each other before the program starts, by default.
pub const MEETING_LIMIT: Duration = Duration::from_secs(60);

/// The most ranks of a mesh. Each pair of them has a queue, and each rank a thread or a process.
pub const MOST_RANKS: usize = 1024;

/// The most emulated devices of a mesh: 256 add up a few numbers within seconds.
pub const MOST_EMULATED: usize = 256;

/// Fails for more than the most that a mesh can have.
fn bounded(ranks: usize, what: &'static str, most: usize) -> Result<()> {
    match ranks {
        0 => Err(Error::NoRanks),
        _ if ranks > most => Err(Error::TooMany { ranks, what, most }),
        _ => Ok(()),
    }
}

/// Devices that work together: all ranks as threads of this process, or one rank of a job.
pub struct Mesh {
    /// Those of the ranks in this process.
    devices: Vec<Device>,
    /// Of the same ranks.
    scratch: Vec<Scratch>,
    /// Of the same ranks, for copies from one device to another; none if they are not alike.
    copies: Vec<Stream>,
    traffic: Traffic,
    place: Place,
    /// Between GPUs; none or one for each device.
    #[cfg(feature = "cuda")]
    links: Vec<Arc<Link>>,
}

/// Where the ranks are.
enum Place {
    /// All in this process; how long one waits for another.
    Threads(Duration),
    /// One in this process.
    Process {
        wire: Arc<Processes>,
        /// How many collectives this rank has called.
        calls: Mutex<u64>,
        /// Whether every rank of this machine up to this one has a GPU.
        #[cfg(feature = "cuda")]
        own_gpu: bool,
    },
}

/// How a process joins a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinOptions {
    /// The program's name and version, the same on all ranks.
    pub program: String,
    /// How long the ranks wait for each other before the program begins.
    pub meeting_limit: Duration,
    /// How long a rank waits for another that is still working. A dead process is noticed
    /// immediately, a dead machine only by this limit.
    pub time_limit: Duration,
}

impl JoinOptions {
    /// Options for a program with this name and version.
    pub fn of(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            meeting_limit: MEETING_LIMIT,
            time_limit: TIME_LIMIT,
        }
    }
}

impl Mesh {
    /// Emulated devices: every program and test of several devices runs on any machine.
    ///
    /// # Errors
    /// For no devices, and for more than [`MOST_EMULATED`].
    #[cfg(feature = "emulator")]
    pub fn emulated(ranks: usize) -> Result<Self> {
        Self::of(Self::emulators(ranks)?)
    }

    /// The devices of [`emulated`](Self::emulated), for a mesh [`of`](Self::of) them.
    ///
    /// # Errors
    /// For no devices, and for more than [`MOST_EMULATED`].
    #[cfg(feature = "emulator")]
    pub fn emulators(devices: usize) -> Result<Vec<Device>> {
        bounded(devices, "emulated devices", MOST_EMULATED)?;
        Ok((0..devices).map(|_| Device::emulator()).collect())
    }

    /// Emulated devices that check each launch, as [`Device::checked`] does.
    ///
    /// # Errors
    /// For no devices, and for more than [`MOST_EMULATED`].
    #[cfg(feature = "emulator")]
    pub fn checked(ranks: usize) -> Result<Self> {
        bounded(ranks, "emulated devices", MOST_EMULATED)?;
        Self::of((0..ranks).map(|_| Device::checked()).collect())
    }

    /// A mesh of the given devices, one rank each.
    ///
    /// # Errors
    /// For no devices, and for more than [`MOST_RANKS`].
    pub fn of(devices: Vec<Device>) -> Result<Self> {
        bounded(devices.len(), "devices", MOST_RANKS)?;
        let kind = |device: &Device| device.properties().kind;
        let several = devices.len() > 1;
        let alike = several
            && devices
                .iter()
                .all(|device| kind(device) == kind(&devices[0]));
        let stream = |(rank, device): (usize, &Device)| {
            device.urgent_stream().map_err(|error| Error::Device {
                rank,
                source: Box::new(error.into()),
            })
        };
        let streams = devices.iter().enumerate().filter(|_| alike).map(stream);
        Ok(Self {
            copies: streams.collect::<Result<_>>()?,
            traffic: Traffic::new(devices.len()),
            scratch: devices.iter().map(|_| Scratch::default()).collect(),
            devices,
            place: Place::Threads(TIME_LIMIT),
            #[cfg(feature = "cuda")]
            links: Vec::new(),
        })
    }

    /// The first GPUs of this machine. They copy from each other's memory, and more than two use NCCL
    /// for transposes, where it is installed.
    ///
    /// # Errors
    /// For no devices, missing GPUs, and [`Error::Nccl`] if it fails.
    #[cfg(feature = "cuda")]
    pub fn local(gpus: usize) -> Result<Self> {
        let device = |ordinal| {
            Device::gpu(ordinal).map_err(|error| Error::Device {
                rank: ordinal,
                source: Box::new(error.into()),
            })
        };
        bounded(gpus, "GPUs", MOST_RANKS)?;
        let mesh = Self::of((0..gpus).map(device).collect::<Result<_>>()?)?;
        match gpus {
            1 => Ok(mesh),
            _ => mesh.with_nccl_or(|_| {}),
        }
    }

    /// Lets NCCL transfer data between devices, instead of copies through the hosts. Every rank of
    /// a job must call it. Devices of one process leave only transposes to it.
    ///
    /// # Errors
    /// [`Error::Nccl`] if NCCL is missing or fails.
    #[cfg(feature = "cuda")]
    pub fn with_nccl(mut self) -> Result<Self> {
        let links = self.run(Link::open)?;
        self.links = links.into_iter().map(Arc::new).collect();
        Ok(self)
    }

    /// The same if every rank finds NCCL and has a GPU of its own. Otherwise copies go through the
    /// hosts, and `without` receives the reason; not those of one process, where devices copy from
    /// each other, and need no NCCL if there are two.
    ///
    /// # Errors
    /// Failures of the communication, and [`Error::Nccl`] where it fails.
    #[cfg(feature = "cuda")]
    pub fn with_nccl_or(self, without: impl FnOnce(&str)) -> Result<Self> {
        let copies = !self.copies.is_empty();
        if copies && self.ranks() <= 2 {
            return Ok(self);
        }
        let own_gpus = match &self.place {
            Place::Threads(_) => true,
            Place::Process { own_gpu, .. } => *own_gpu,
        };
        let reasons = self.run(|rank| Link::missing(rank, own_gpus))?;
        match reasons.into_iter().flatten().next() {
            None => self.with_nccl(),
            Some(reason) => {
                if !copies {
                    without(&reason);
                }
                Ok(self)
            }
        }
    }

    /// Joins a job as one rank: meets the other ranks' processes at sockets of this machine or over
    /// TCP.
    ///
    /// # Errors
    /// [`Error::Meeting`] with the rank that did not come, differs, or cannot listen;
    /// [`Error::Secret`] if the secrets differ; [`Error::TooMany`].
    pub fn join(job: &Job, device: Device, options: &JoinOptions) -> Result<Self> {
        let failed = |reason| Error::Meeting { reason };
        bounded(job.ranks, "ranks", MOST_RANKS)?;
        if job.rank >= job.ranks {
            return Err(Error::NoRank {
                rank: job.rank,
                ranks: job.ranks,
            });
        }
        let meeting = Meeting {
            rank: job.rank,
            ranks: job.ranks,
            place: job.place.clone(),
            program: options.program.clone(),
            limit: options.meeting_limit,
        };
        let wire = Processes::new(job.rank, meeting.connect()?, options.time_limit);
        let wire = wire.map_err(|e| failed(format!("rank {}: {e}", job.rank)))?;
        Ok(Self {
            devices: vec![device],
            scratch: vec![Scratch::default()],
            copies: Vec::new(),
            traffic: Traffic::new(job.ranks),
            place: Place::Process {
                wire: Arc::new(wire),
                calls: Mutex::default(),
                #[cfg(feature = "cuda")]
                own_gpu: job.local_rank < Device::gpu_count(),
            },
            #[cfg(feature = "cuda")]
            links: Vec::new(),
        })
    }

    /// This process's rank in the job that a launcher started, with the GPU of its number on its
    /// machine, or an emulated device if it has none. See [`Job::from_env`] and
    /// [`join`](Self::join).
    ///
    /// # Errors
    /// [`Error::NoJob`] without a launcher, and the errors of both.
    pub fn from_env(options: &JoinOptions) -> Result<Self> {
        let job = Job::from_env()?.ok_or(Error::NoJob)?;
        let choice = match job.local_rank {
            local if local < Device::gpu_count() => DeviceChoice::Gpu(local),
            _ => DeviceChoice::Auto,
        };
        let device = Device::open(choice).map_err(|error| Error::Device {
            rank: job.rank,
            source: Box::new(error.into()),
        })?;
        Self::join(&job, device, options)
    }

    /// Limits how long a rank waits for another one of this process: [`TIME_LIMIT`] by default.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        if let Place::Threads(of_threads) = &mut self.place {
            *of_threads = limit;
        }
        self
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        match &self.place {
            Place::Threads(_) => self.devices.len(),
            Place::Process { wire, .. } => wire.ranks(),
        }
    }

    /// The number of the first rank in this process.
    pub fn first(&self) -> usize {
        match &self.place {
            Place::Threads(_) => 0,
            Place::Process { wire, .. } => wire.rank(),
        }
    }

    /// The devices of the ranks in this process, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The bytes and messages sent over each link so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Runs a program on every rank and returns the results in the order of the ranks.
    ///
    /// ```
    /// use blockwise_mesh::{Error, Mesh, Sharded, reduce};
    /// use blockwise_ops::{Options, Reduction};
    ///
    /// let numbers: Vec<i64> = (1..=1000).collect();
    /// let sums = Mesh::emulated(4)?.run(|rank| {
    ///     let part = Sharded::part_of(rank, &numbers)?;
    ///     reduce(rank, &part, Reduction::Sum, &Options::default())
    /// })?;
    /// assert_eq!(sums, [500_500; 4]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of the rank that failed first; the others end with it.
    ///
    /// # Panics
    /// When a rank's program panics; the others end with it too.
    pub fn run<R: Send, E: From<Error> + fmt::Display + Send>(
        &self,
        program: impl Fn(&mut Rank) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        self.run_with(|_| Ok(()), |rank, ()| program(rank))
    }

    /// Waits until all processes of the job have called it, which rank 0 does when it has put what
    /// the ranks made in place: so none ends well whose result is lost. Nothing for ranks of one
    /// process.
    ///
    /// # Errors
    /// The failure that keeps another rank from calling it. Not on rank 0, whose result is in place,
    /// when another rank has failed or gone since.
    pub fn finish(&self) -> Result<()> {
        if let Place::Threads(_) = self.place {
            return Ok(());
        }
        match self.run(Rank::barrier) {
            Err(Error::Lost { .. } | Error::Failed { .. }) if self.first() == 0 => Ok(()),
            ended => ended.map(drop),
        }
    }

    /// The same for programs with an input of their own, which `input` creates on this thread from
    /// the rank's number.
    ///
    /// # Errors
    /// Those of `input`, before anything runs, and as for [`run`](Self::run).
    ///
    /// # Panics
    /// As for [`run`](Self::run).
    pub fn run_with<I: Send, R: Send, E: From<Error> + fmt::Display + Send>(
        &self,
        mut input: impl FnMut(usize) -> Result<I, E>,
        program: impl Fn(&mut Rank, I) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let limit = match &self.place {
            Place::Threads(limit) => *limit,
            Place::Process { wire, calls, .. } => {
                let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
                let (wire, traffic) = (Arc::clone(wire), self.traffic.clone());
                let mut rank = self.rank(0, wire, traffic, *calls);
                let outcome = guarded(&mut rank, |rank| program(rank, input(rank.number())?));
                *calls = rank.calls();
                return Ok(vec![outcome?]);
            }
        };
        let inputs: Vec<I> = (0..self.ranks()).map(input).collect::<Result<_, E>>()?;
        let mailbox = Arc::new(Mailbox::new(self.ranks(), limit));
        let wires = Memory::of(&mailbox);
        let program = &program;
        let results: Vec<_> = std::thread::scope(|scope| {
            let ranks = wires.into_iter().zip(inputs).enumerate();
            let ranks = ranks.map(|(number, (wire, input))| {
                let (wire, traffic) = (Arc::new(wire), self.traffic.clone());
                let mut rank = self.rank(number, wire, traffic, 0);
                scope.spawn(move || {
                    let outcome = guarded(&mut rank, |rank| program(rank, input))?;
                    rank.end(None);
                    Ok(outcome)
                })
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join()).collect()
        });
        let first = mailbox.first_failure();
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
        if let Some(unread) = mailbox.unread() {
            return Err(unread.into());
        }
        Ok(outcomes)
    }
}

impl Mesh {
    /// A rank of this process, by its index in it.
    fn rank(&self, place: usize, wire: Arc<dyn Wire>, traffic: Traffic, calls: u64) -> Rank {
        let rank = Rank::new(self.devices[place].clone(), wire, traffic, calls);
        let rank = rank.with_scratch(self.scratch[place].clone());
        let rank = rank.copying(self.copies.get(place).cloned());
        #[cfg(feature = "cuda")]
        let rank = rank.linked(self.links.get(place).cloned());
        rank
    }
}

/// Runs one rank's program, and reports its failure to the other ranks.
fn guarded<R, E: fmt::Display>(
    rank: &mut Rank,
    program: impl FnOnce(&mut Rank) -> Result<R, E>,
) -> Result<R, E> {
    // The panic continues below: nothing that it left half done is used.
    match catch_unwind(AssertUnwindSafe(|| program(rank))) {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(error)) => {
            rank.end(Some(error.to_string()));
            Err(error)
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            rank.end(Some(format!(
                "it panicked: {}",
                text.unwrap_or("no message")
            )));
            resume_unwind(panic)
        }
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        if let Place::Process { wire, .. } = &self.place {
            wire.end(None);
        }
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("devices", &self.devices)
            .field("ranks", &self.ranks())
            .finish_non_exhaustive()
    }
}
