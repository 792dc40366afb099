//! Options of every command, and the device that they choose.

use std::path::PathBuf;

use blockwise::{Device, DeviceChoice};
use blockwise_mesh::Job;
use clap::Args;

use super::failure::Failure;
use super::report;

/// Options of every command.
#[derive(Args)]
pub(super) struct Global {
    /// Where to run: auto (the first GPU, else the emulator), gpu, gpu:N (as `devices` counts them)
    /// or emulator
    #[arg(long, global = true, default_value = "auto", value_name = "DEVICE")]
    pub(super) device: DeviceChoice,
    /// PTX of the kernels instead of the embedded one, also by BLOCKWISE_PTX_DIR: a file, or a
    /// folder with kernels.sm_XX.ptx. It must be the kernels' own
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) ptx: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Device memory for arrays, on each device: 16GiB, 500MiB, or a number of bytes. What can be done
    /// in chunks is done in chunks that fit
    #[arg(long, global = true, value_name = "SIZE", value_parser = device_memory)]
    pub(super) device_memory: Option<u64>,
    /// No notices and no progress: only results and errors
    #[arg(long, short, global = true)]
    pub(super) quiet: bool,
}

impl Global {
    /// The chosen device. Says on standard error what was chosen where the user left it open.
    pub(super) fn open(&self) -> Result<Device, Failure> {
        let device = Device::open(self.device)?;
        if device.fallback().is_some() {
            report::notice("no GPU can be used (`blockwise devices` says why): using the emulator");
        }
        self.with_kernels(device)
    }

    /// The same for work that is not divided: in a job of several ranks each would do it, and write.
    pub(super) fn open_alone(&self, what: &str) -> Result<Device, Failure> {
        match Job::from_env()?.filter(|job| job.ranks > 1) {
            Some(job) => Err(Failure::new(format!(
                "this is rank {} of {} ({}), and `{what}` is not divided over ranks",
                job.rank, job.ranks, job.launcher
            ))
            .hint("run it without the launcher")),
            None => self.open(),
        }
    }

    /// Refuses what only the emulator can do on a GPU.
    pub(super) fn emulator_only(&self, what: &str, on_gpu: &str) -> Result<(), Failure> {
        match self.device {
            DeviceChoice::Gpu(_) => Err(Failure::new(format!("{what} are made on the emulator"))
                .hint(format!("leave out `--device gpu`; {on_gpu}"))),
            DeviceChoice::Auto | DeviceChoice::Emulator => Ok(()),
        }
    }
}

/// A number of bytes, with a unit if it has one.
fn device_memory(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 7] = [
        ("KiB", 10),
        ("MiB", 20),
        ("GiB", 30),
        ("K", 10),
        ("M", 20),
        ("G", 30),
        ("", 0),
    ];
    let read = UNITS.iter().find_map(|&(unit, power)| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        count.checked_mul(1 << power)
    });
    let wanted = || "a number of bytes above zero, such as 16GiB or 1000000".to_owned();
    read.filter(|&bytes| bytes > 0).ok_or_else(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        let read = |text| device_memory(text).ok();
        assert_eq!(read("16GiB"), Some(16 << 30));
        assert_eq!(read("3M"), Some(3 << 20));
        assert_eq!(read("1000"), Some(1000));
        for wrong in ["", "0", "0G", "-1", "1.5G", "G", "16 GiB", "99999999999G"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
