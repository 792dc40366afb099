//! Which kernel runs, and why.

use blockwise::{DeviceKind, DeviceProperties};
use blockwise_ops::LaunchError;
use blockwise_ops::operation::{self, Choice, Operation, Options, Problem, Reason, Task, Variant};
use serde_json::{Value, json};

/// The chosen kernel and why, for an operation whose kernels have models of their time.
pub(super) struct Chosen {
    pub(super) choice: Choice,
    /// The two fastest by their models, with their seconds.
    expected: Vec<(&'static Variant, f64)>,
}

impl Chosen {
    /// The choice for a problem.
    pub(super) fn of(
        operation: &'static Operation,
        problem: &Problem,
        options: &Options,
        properties: &DeviceProperties,
    ) -> Result<Self, LaunchError> {
        let choice = operation::choose(operation, problem, options, properties)?;
        let task = Task::new(choice.variant, problem, options, properties);
        let all = operation.variants.iter();
        let times = all.filter_map(|&variant| Some((variant, variant.nanoseconds(&task)? * 1e-9)));
        let mut expected: Vec<_> = times.collect();
        expected.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        expected.truncate(2);
        Ok(Self { choice, expected })
    }

    /// The choice if the problem is computed in parts: another kernel if this one only computes
    /// wholes.
    pub(super) fn for_parts(
        self,
        operation: &'static Operation,
        problem: &Problem,
        options: &Options,
        properties: &DeviceProperties,
    ) -> Result<Self, LaunchError> {
        let parts = operation::in_parts(operation, problem, options, properties)?;
        let kernel = parts.and_then(|options| options.kernel);
        let Some(variant) = kernel.filter(|kernel| *kernel != self.choice.variant) else {
            return Ok(self);
        };
        let time = variant.nanoseconds(&Task::new(variant, problem, options, properties));
        Ok(Self {
            choice: Choice {
                variant,
                ..self.choice
            },
            expected: Vec::from_iter(time.map(|time| (variant, time * 1e-9))),
        })
    }

    /// The choice in one line. `None` if a model chose and the device is the emulator: the model
    /// predicts a GPU's times.
    pub(super) fn line(&self, device: DeviceKind) -> Option<String> {
        let name = self.choice.variant.name;
        Some(match self.choice.by {
            Reason::Model if device == DeviceKind::Emulator => return None,
            Reason::Request => format!("kernel {name}, from --kernel"),
            Reason::Saved => format!("kernel {name}, from `blockwise tune --save`"),
            Reason::Model => {
                let times = self
                    .expected
                    .iter()
                    .map(|(kernel, seconds)| format!("{:.0} µs for {kernel}", seconds * 1e6));
                let times: Vec<_> = times.collect();
                format!(
                    "kernel {name}; the model of an H200 expects {}",
                    times.join(", ")
                )
            }
        })
    }

    /// The same as JSON.
    pub(super) fn json(&self) -> Value {
        let by = match self.choice.by {
            Reason::Request => "request",
            Reason::Saved => "tuning",
            Reason::Model => "model",
        };
        let expected = (self.choice.by == Reason::Model).then(|| {
            let each = self.expected.iter();
            let each =
                each.map(|(kernel, seconds)| json!({ "kernel": kernel.name, "seconds": seconds }));
            each.collect::<Vec<_>>()
        });
        json!({ "kernel": self.choice.variant.name, "by": by, "expected": expected })
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Type};
    use blockwise_ops::ConvMode;
    use blockwise_ops::conv1d::{self, CONV};

    use super::*;

    fn chosen(samples: usize, taps: usize, options: &Options) -> Chosen {
        let device = Device::emulator();
        let problem = conv1d::problem(Type::F32, [samples, taps], ConvMode::Same);
        let problem = problem.expect("lengths");
        Chosen::of(&CONV, &problem, options, device.properties()).expect("a kernel")
    }

    #[test]
    fn the_choice_says_what_it_expects_or_that_it_was_asked_for() {
        let options = Options::default();
        let by_model = chosen(1 << 26, 255, &options);
        let line = by_model.line(DeviceKind::Cuda).expect("a line");
        assert!(line.starts_with("kernel fft2048; "), "{line}");
        assert_eq!(by_model.line(DeviceKind::Emulator), None);
        assert_eq!(by_model.json()["expected"][0]["kernel"], "fft2048");
        // FFTs take at most 393,185 taps.
        let long = chosen(600_000, 590_000, &options);
        let line = long.line(DeviceKind::Cuda).expect("a line");
        assert!(line.starts_with("kernel blocked; "), "{line}");
        let asked = chosen(1 << 26, 255, &Options::of(&conv1d::BLOCKED));
        let line = asked.line(DeviceKind::Emulator);
        assert_eq!(line.as_deref(), Some("kernel blocked, from --kernel"));
        assert!(asked.json()["expected"].is_null());
    }

    #[test]
    fn parts_are_by_the_kernel_that_computes_them() {
        let device = Device::emulator();
        let problem = conv1d::problem(Type::F64, [100, 51], ConvMode::Full).expect("lengths");
        let (options, properties) = (Options::default(), device.properties());
        let whole = || Chosen::of(&CONV, &problem, &options, properties).expect("a kernel");
        assert_eq!(whole().json()["kernel"], "block-per-output");
        let parts = whole().for_parts(&CONV, &problem, &options, properties);
        let json = parts.expect("a kernel").json();
        let ran = operation::in_parts(&CONV, &problem, &options, properties);
        let ran = ran.expect("windows").and_then(|options| options.kernel);
        assert_eq!(json["kernel"], ran.expect("a kernel").name);
        assert_eq!(json["expected"][0]["kernel"], json["kernel"]);
    }
}
