//! What a part of the work takes, for `cargo xtask fresh`.

use std::io::Write as _;
use std::time::Instant;

/// The variable with the file that collects the times.
const FILE: &str = "BLOCKWISE_SPENT";

/// A part of the work that has begun.
pub struct Spent {
    wall: Instant,
    cpu: f64,
}

impl Spent {
    /// Begins a part.
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_of_children(),
        }
    }

    /// Adds a line with the part's name, seconds and CPU seconds to the file, if one is wanted.
    pub fn end(self, part: &str) {
        let Some(path) = std::env::var_os(FILE) else {
            return;
        };
        let (wall, cpu) = (
            self.wall.elapsed().as_secs_f64(),
            cpu_of_children() - self.cpu,
        );
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        // It is a report: without it the work is done all the same.
        if let Ok(mut file) = file {
            let _ = writeln!(file, "{part}\t{wall:.1}\t{cpu:.1}");
        }
    }
}

/// CPU seconds of the processes that this one has waited for, as Linux counts them: in hundredths.
pub fn cpu_of_children() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return 0.0;
    };
    children(&stat).unwrap_or(0.0)
}

/// CPU seconds of the processes that a process has waited for, from its `/proc/PID/stat`.
fn children(stat: &str) -> Option<f64> {
    Some(ticks(stat)?[2..].iter().sum::<f64>() / 100.0)
}

/// The same with its own.
pub fn of_process(stat: &str) -> Option<f64> {
    Some(ticks(stat)?.iter().sum::<f64>() / 100.0)
}

/// Fields 14 to 17: its own time, and that of its children. The second field, the program's name,
/// may hold blanks and parentheses.
fn ticks(stat: &str) -> Option<[f64; 4]> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some([next()?, next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::{children, of_process};

    #[test]
    fn ticks_are_the_fields_from_the_fourteenth_on() {
        let stat = "123 (a ) b) S 1 123 123 0 -1 4194304 100 2000 0 0 7 93 250 150 20 0 1 0 5 6 7";
        assert_eq!(children(stat), Some(4.0));
        assert_eq!(of_process(stat), Some(5.0));
        assert_eq!(children("1 (a) S"), None);
    }
}
