//! What a part of the work takes, for `cargo xtask fresh`.

use std::io::Write as _;
use std::time::Instant;

/// The variable with the file that collects the times.
const FILE: &str = "BLOCKWISE_SPENT";

/// A part of the work that has begun.
pub(crate) struct Spent {
    wall: Instant,
    cpu: f64,
}

impl Spent {
    pub(crate) fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_of_children(),
        }
    }

    /// Adds a line with the part's name, seconds and CPU seconds to the file, if one is wanted.
    pub(crate) fn end(self, part: &str) {
        let Some(path) = std::env::var_os(FILE) else {
            return;
        };
        let (wall, cpu) = (
            self.wall.elapsed().as_secs_f64(),
            cpu_of_children() - self.cpu,
        );
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        // It is a report: without it the work is done all the same.
        if let Ok(mut file) = file {
            let _ = writeln!(file, "{part}\t{wall:.1}\t{cpu:.1}");
        }
    }
}

/// CPU seconds of the processes that this one has waited for, as Linux counts them: in hundredths.
fn cpu_of_children() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
        return 0.0;
    };
    children(&stat).unwrap_or(0.0)
}

/// Fields 16 and 17. The second, the program's name, may hold blanks and parentheses.
fn children(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::children;

    #[test]
    fn the_childrens_ticks_are_the_sixteenth_and_seventeenth_field() {
        let stat = "123 (a ) b) S 1 123 123 0 -1 4194304 100 2000 0 0 7 8 250 150 20 0 1 0 5 6 7";
        assert_eq!(children(stat), Some(4.0));
        assert_eq!(children("1 (a) S"), None);
    }
}
