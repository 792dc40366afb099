//! Several devices at once: `--gpus`.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use blockwise::{Device, DeviceChoice, DeviceKind};
use blockwise_mesh::{Job, JoinOptions, MEETING_LIMIT, MOST_RANKS, Mesh, Rank, ShardedMatrix};
use blockwise_ops::{Element, LaunchError};
use clap::Args;
use ndarray::Array2;

use super::failure::Failure;
use super::operand::ArrayOutput;
use super::seconds::{Seconds, timed};
use super::{Global, report};

/// Over how many devices the work is divided.
#[derive(Args)]
pub(super) struct Gpus {
    /// Divide the work over the first N GPUs, or over all of them; with `--device emulator`, over N
    /// emulated devices
    #[arg(long, value_name = "N|all")]
    gpus: Option<Count>,
    /// Seconds that the ranks of a launcher's job wait for each other before they begin
    #[arg(long, value_name = "SECONDS", default_value_t = MEETING_LIMIT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=DAY))]
    meeting_timeout: u64,
}

/// The longest allowed wait in seconds.
const DAY: u64 = 24 * 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    All,
    Of(usize),
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(count)) if (1..=MOST_RANKS).contains(&count) => Ok(Self::Of(count)),
            _ => Err(format!("a whole number from 1 to {MOST_RANKS}, or `all`")),
        }
    }
}

impl Gpus {
    /// The requested devices, if any were.
    pub(super) fn devices(&self, global: &Global) -> Result<Option<Vec<Device>>, Failure> {
        self.gpus.map(|count| global.several(count)).transpose()
    }
}

fn too_many(count: usize, there: usize) -> Failure {
    let failure = Failure::new(format!("{count} GPUs are asked for, {there} are there"));
    failure.hint("`blockwise devices` lists them")
}

impl Global {
    /// The chosen devices: one, unless `--gpus` asks for more, or a launcher started this process
    /// as a rank of a job. Without `gpus`, the one device of work that is not divided.
    pub(super) fn mesh(&self, gpus: Option<&Gpus>, what: &str) -> Result<Mesh, Failure> {
        let Some(gpus) = gpus else {
            return Ok(Mesh::of(vec![self.open_alone(what)?])?);
        };
        if let Some(job) = Job::from_env()?.filter(|job| job.ranks > 1) {
            return self.join(&job, gpus);
        }
        let devices = match gpus.gpus {
            None => vec![self.open()?],
            Some(count) => self.several(count)?,
        };
        Ok(Mesh::of(devices)?)
    }

    /// One rank of a job, with the GPU of its number on its machine.
    fn join(&self, job: &Job, gpus: &Gpus) -> Result<Mesh, Failure> {
        if gpus.gpus.is_some() {
            let what = format!(
                "this is rank {} of {} ({})",
                job.rank, job.ranks, job.launcher
            );
            let failure = Failure::new(format!("{what}, which has one device"));
            return Err(failure.hint("leave out `--gpus`"));
        }
        let device = match self.device {
            DeviceChoice::Gpu(0) => self.with_kernels(Device::gpu(job.local_rank)?)?,
            DeviceChoice::Auto if job.local_rank < Device::gpu_count() => {
                self.with_kernels(Device::gpu(job.local_rank)?)?
            }
            _ => self.open()?,
        };
        let program = concat!("blockwise ", env!("CARGO_PKG_VERSION"));
        let options = JoinOptions {
            meeting_limit: Duration::from_secs(gpus.meeting_timeout),
            ..JoinOptions::of(program)
        };
        Ok(Mesh::join(job, device, &options)?)
    }

    fn several(&self, count: Count) -> Result<Vec<Device>, Failure> {
        let there = match self.device {
            DeviceChoice::Emulator => 0,
            DeviceChoice::Gpu(0) | DeviceChoice::Auto => Device::gpu_count(),
            DeviceChoice::Gpu(_) => {
                let failure = Failure::new("`--gpus` counts from the first GPU");
                return Err(failure.hint("leave out `--device gpu:N`"));
            }
        };
        let devices = match (self.device, count) {
            // The first GPU's error says why there is none.
            (DeviceChoice::Gpu(_), _) if there == 0 => vec![Device::gpu(0)?],
            (_, Count::Of(count)) if there == 0 => {
                if self.device == DeviceChoice::Auto {
                    report::notice(&format!(
                        "no GPU can be used (`blockwise devices` says why): using {count} emulated devices"
                    ));
                }
                Mesh::emulators(count)?
            }
            (DeviceChoice::Emulator, Count::All) => {
                let failure = Failure::new(
                    "`--gpus all` means all GPUs, and emulated devices have no number of their own",
                );
                return Err(failure.hint("say how many: `--gpus N`"));
            }
            (_, Count::All) if there == 0 => {
                // The error says why there is no GPU.
                let device = Device::gpu(0).map_err(|error| {
                    let advice = error.hint().unwrap_or_default().to_owned();
                    Failure::from(error).hint(format!(
                        "{advice}; without GPUs, `--gpus N` with a number runs on N emulated devices"
                    ))
                })?;
                vec![device]
            }
            (_, Count::Of(count)) if count > there => {
                return Err(too_many(count, there));
            }
            (_, count) => {
                let count = match count {
                    Count::All => there,
                    Count::Of(count) => count,
                };
                (0..count).map(Device::gpu).collect::<Result<_, _>>()?
            }
        };
        devices
            .into_iter()
            .map(|device| self.with_kernels(device))
            .collect()
    }
}

/// The same mesh, linked by NCCL where that is of use and available: for work that moves arrays
/// between devices.
pub(super) fn linked(mesh: Mesh) -> Result<Mesh, Failure> {
    if mesh.ranks() == 1 {
        return Ok(mesh);
    }
    let of_gpus =
        (mesh.devices().iter()).any(|device| device.properties().kind == DeviceKind::Cuda);
    let without = |reason: &str| {
        if of_gpus {
            report::notice(&format!(
                "arrays go from GPU to GPU through the hosts: {reason}"
            ));
        }
    };
    Ok(mesh.with_nccl_or(without)?)
}

/// The device, if there is only one.
pub(super) fn alone(mesh: &Mesh) -> Option<&Device> {
    mesh.devices().first().filter(|_| mesh.ranks() == 1)
}

/// Reserves an output, in the process of rank 0, which writes it.
pub(super) fn output(mesh: &Mesh, path: &Path) -> Result<Option<ArrayOutput>, Failure> {
    let first = mesh.first() == 0;
    first.then(|| ArrayOutput::prepare(path)).transpose()
}

/// Computes a matrix on this rank's device and collects it at rank 0; adds the time of both.
pub(super) fn collected<T: Element>(
    rank: &mut Rank,
    seconds: &mut Seconds,
    compute: impl FnOnce(&mut Rank) -> Result<ShardedMatrix<T>, blockwise_mesh::Error>,
) -> Result<Option<Vec<T>>, Failure> {
    let matrix = timed(&mut seconds.computing, || {
        let matrix = compute(rank)?;
        rank.device().synchronize()?;
        Ok::<_, Failure>(matrix)
    })?;
    let mut links = 0.0;
    let whole = timed(&mut links, || matrix.collect(rank))?;
    seconds.links = Some(links);
    Ok(whole)
}

/// The matrix collected at rank 0, if rank 0 is in this process, and its ranks' times, which are
/// also printed.
pub(super) fn whole<T>(
    collected: Vec<(Option<Vec<T>>, Seconds)>,
    rows: usize,
    cols: usize,
) -> Result<Option<(Array2<T>, Seconds)>, Failure> {
    let seconds = Seconds::longest(collected.iter().map(|(_, seconds)| *seconds));
    seconds.notice();
    let whole = collected.into_iter().find_map(|(whole, _)| whole);
    let matrix = whole.map(|values| Array2::from_shape_vec((rows, cols), values));
    let overflow = |_| LaunchError::SizeOverflow { what: "the matrix" };
    let matrix = matrix.transpose().map_err(overflow)?;
    Ok(matrix.map(|matrix| (matrix, seconds)))
}

/// The devices, as named in a report.
pub(super) fn names(mesh: &Mesh) -> String {
    let name = |device: &Device| device.properties().name.clone();
    let first = mesh.devices().first().map(name).unwrap_or_default();
    match mesh.ranks() {
        1 => first,
        ranks => format!("{ranks} x {first}"),
    }
}
