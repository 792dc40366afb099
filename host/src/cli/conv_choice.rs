//! Which kernel `blockwise conv` uses, and why.

use blockwise::{DeviceKind, DeviceProperties};
use blockwise_ops::{ConvKernel, ConvMode, ConvOptions, Float, LaunchError, conv1d};
use serde_json::{Value, json};

/// A kernel and the reason for it.
pub(super) struct Choice {
    kernel: ConvKernel,
    by: By,
}

enum By {
    /// The user's request.
    Request,
    /// `blockwise tune --save`.
    Tuning,
    /// The launcher's model: the two fastest kernels, with their seconds.
    Model([(ConvKernel, f64); 2]),
}

impl Choice {
    /// The choice for these lengths.
    pub(super) fn of<T: Float>(
        [samples, taps]: [usize; 2],
        mode: ConvMode,
        options: &ConvOptions,
        properties: &DeviceProperties,
    ) -> Result<Self, LaunchError> {
        if let Some(kernel) = options.kernel {
            let by = By::Request;
            return Ok(Self { kernel, by });
        }
        if let Some(kernel) = conv1d::saved::<T>(mode, [samples, taps], properties) {
            let by = By::Tuning;
            return Ok(Self { kernel, by });
        }
        let expected = conv1d::expected::<T>(samples, taps, mode, properties)?;
        let fastest = expected[0].0;
        let kernel = match fastest.is_fft() {
            true => fastest,
            // If shared memory is too small, it is another one.
            false => conv1d::plan::<T>(samples, taps, mode, options, properties)?.kernel,
        };
        let by = By::Model(expected);
        Ok(Self { kernel, by })
    }

    /// Whether it is an FFT kernel.
    pub(super) fn is_fft(&self) -> bool {
        self.kernel.is_fft()
    }

    /// One line of text. The times of a GPU model are meaningless on the emulator.
    pub(super) fn line(&self, device: DeviceKind) -> Option<String> {
        let name = self.kernel.name();
        Some(match self.by {
            By::Model(_) if device == DeviceKind::Emulator => return None,
            By::Request => format!("kernel {name}, from --kernel"),
            By::Tuning => format!("kernel {name}, from `blockwise tune --save`"),
            By::Model(expected) => {
                let times = expected.map(|(kernel, seconds)| {
                    format!("{:.0} µs for {}", seconds * 1e6, kernel.name())
                });
                format!(
                    "kernel {name}; the model of an H200 expects {}, {}",
                    times[0], times[1]
                )
            }
        })
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Value {
        let (by, expected) = match self.by {
            By::Request => ("request", None),
            By::Tuning => ("tuning", None),
            By::Model(expected) => ("model", Some(expected)),
        };
        let expected = expected.map(|expected| {
            expected.map(|(kernel, seconds)| json!({ "kernel": kernel.name(), "seconds": seconds }))
        });
        json!({ "kernel": self.kernel.name(), "by": by, "expected": expected })
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Device;

    use super::*;

    fn choice(samples: usize, taps: usize, options: &ConvOptions) -> Choice {
        let device = Device::emulator();
        let lengths = [samples, taps];
        Choice::of::<f32>(lengths, ConvMode::Same, options, device.properties()).expect("lengths")
    }

    #[test]
    fn the_choice_says_what_it_expects_or_that_it_was_asked_for() {
        let options = ConvOptions::default();
        let chosen = choice(1 << 26, 255, &options);
        let line = chosen.line(DeviceKind::Cuda).expect("a line");
        assert!(line.starts_with("kernel fft2048; "), "{line}");
        assert_eq!(chosen.line(DeviceKind::Emulator), None);
        assert_eq!(chosen.json()["expected"][0]["kernel"], "fft2048");
        // FFTs take at most 393,185 taps.
        let long = choice(600_000, 590_000, &options);
        let line = long.line(DeviceKind::Cuda).expect("a line");
        assert!(line.starts_with("kernel blocked; "), "{line}");
        let asked = ConvOptions {
            kernel: Some(ConvKernel::Blocked),
            ..options
        };
        let asked = choice(1 << 26, 255, &asked);
        let line = asked.line(DeviceKind::Emulator);
        assert_eq!(line.as_deref(), Some("kernel blocked, from --kernel"));
        assert!(asked.json()["expected"].is_null());
    }
}
