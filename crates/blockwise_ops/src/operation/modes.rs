//! What an operation is called in each of its modes, and the settings of the modes.

use super::{Given, Operation, Setting};

impl Operation {
    /// What the operation is called in tables and saved choices, with these settings.
    pub fn label(&self, settings: [u8; 2]) -> &'static str {
        let own = self.own_settings().zip(settings);
        let labels = own.filter_map(|(setting, value)| match *setting {
            Setting::Mode { labels, .. } => labels.get(usize::from(value)).copied(),
            _ => None,
        });
        labels.last().unwrap_or(self.name)
    }

    /// The same at such a size: [batches](super::Bench::batch) have a name of their own.
    pub fn label_at(&self, settings: [u8; 2], size: &[usize]) -> &'static str {
        match self.bench.batch {
            Some((label, _)) if self.is_batch(size) => label,
            _ => self.label(settings),
        }
    }

    /// Whether a size is one of a [batch](super::Bench::batch). The benchmark takes the first word
    /// of each [mode](Setting::Mode) for these.
    pub fn is_batch(&self, size: &[usize]) -> bool {
        self.bench.batch.is_some() && size.len() > self.sizes.len()
    }

    /// The settings that the benchmark takes for a row of [`Bench::types`](super::Bench::types).
    pub fn benched(&self, row: usize) -> Given {
        self.modes(|bench| bench.get(row).copied().unwrap_or(0))
    }

    /// Default settings but for the [mode](Setting::Mode), by the index of its word.
    pub fn with_mode(&self, mode: u8) -> Given {
        self.modes(|_| mode)
    }

    fn modes(&self, mode: impl Fn(&[u8]) -> u8) -> Given {
        let mut given = Given::default();
        for (at, setting) in self.own_settings().enumerate() {
            if let Setting::Mode { bench, .. } = *setting {
                given.settings[at] = mode(bench);
            }
        }
        given
    }

    /// The settings in [`Problem::settings`](super::Problem::settings): all but an axis.
    fn own_settings(&self) -> impl Iterator<Item = &Setting> {
        let settings = self.settings.iter();
        settings.filter(|setting| !matches!(setting, Setting::Axis { .. }))
    }
}
