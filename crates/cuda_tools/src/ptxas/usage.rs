//! What `ptxas -v` reports for each kernel.

/// The resources of one kernel. Sizes are in bytes; registers, stack and spills are per thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Name of the PTX entry.
    pub kernel: String,
    /// Registers.
    pub registers: u32,
    /// Barriers used, of a block's 16.
    pub barriers: u32,
    /// Bytes written to local memory because registers ran out.
    pub spill_stores: u32,
    /// Bytes read back from there.
    pub spill_loads: u32,
    /// Local memory.
    pub stack: u32,
    /// Static shared memory per block.
    pub shared: u32,
}

impl Usage {
    /// Parses the report, sorted by name. Device functions that are not kernels are omitted.
    pub fn parse(report: &str) -> Vec<Self> {
        let mut kernels: Vec<Self> = Vec::new();
        // A report gives a function's name and then its figures, also for device functions.
        let mut subject = "";
        for line in report.lines() {
            if let Some(name) = between(line, "Compiling entry function '", "'") {
                kernels.push(Self {
                    kernel: name.to_owned(),
                    ..Self::default()
                });
                subject = name;
            } else if let Some((_, name)) = line.split_once("Function properties for ") {
                subject = name.trim();
            } else if let Some(kernel) =
                kernels.last_mut().filter(|kernel| kernel.kernel == subject)
            {
                kernel.read_figures(line);
            }
        }
        kernels.sort_by(|a, b| a.kernel.cmp(&b.kernel));
        kernels
    }

    /// Parses the figures in a line: `Used 8 registers, used 1 barriers, 1024 bytes smem` or `0
    /// bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`.
    fn read_figures(&mut self, line: &str) {
        let line = line
            .trim_start_matches("ptxas info")
            .trim_start_matches([' ', ':']);
        for part in line.split(',') {
            let part = part.trim();
            let part = part
                .strip_prefix("Used ")
                .or_else(|| part.strip_prefix("used "))
                .unwrap_or(part);
            let Some((number, unit)) = part.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            match unit {
                "registers" => self.registers = number,
                "barriers" => self.barriers = number,
                "bytes stack frame" => self.stack = number,
                "bytes spill stores" => self.spill_stores = number,
                "bytes spill loads" => self.spill_loads = number,
                "bytes smem" => self.shared = number,
                _ => {}
            }
        }
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ptxas 13.5 prints it, with a device function between two kernels.
    const REPORT: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'two' for 'sm_80'
ptxas info    : Function properties for two
    64 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 64 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 1.490 ms
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'add' for 'sm_80'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]
ptxas info    : Compile time = 1.382 ms
";

    #[test]
    fn reads_every_kernel_and_nothing_of_device_functions() {
        let add = Usage {
            kernel: "add".to_owned(),
            registers: 8,
            barriers: 1,
            shared: 1024,
            ..Usage::default()
        };
        let two = Usage {
            kernel: "two".to_owned(),
            registers: 255,
            stack: 64,
            spill_stores: 12,
            spill_loads: 24,
            ..Usage::default()
        };
        assert_eq!(Usage::parse(REPORT), [add, two]);
    }

    #[test]
    fn a_report_without_kernels_is_empty() {
        assert_eq!(Usage::parse(""), []);
        assert_eq!(
            Usage::parse("ptxas info    : 0 bytes gmem\nptxas info    : Used 3 registers\n"),
            []
        );
    }

    #[test]
    fn older_reports_without_barriers_are_read_too() {
        let report = "ptxas info    : Compiling entry function 'k' for 'sm_70'\nptxas info    : Used 10 registers, 352 bytes cmem[0]\n";
        let expected = Usage {
            kernel: "k".to_owned(),
            registers: 10,
            ..Usage::default()
        };
        assert_eq!(Usage::parse(report), [expected]);
    }
}
