//! The summary of many shapes that are drawn at random.

use serde::{Deserialize, Serialize};

use super::against::{MARGIN, Verdict};
use super::row::seconds;
use super::work::DEFAULT;
use super::{OURS, Ratio, Row};
use crate::table::lines_up;

/// Rows that a summary lists, the worst first.
const LISTED: usize = 10;

/// How the default compares with the fastest other at each shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What it is compared with.
    pub against: Against,
    /// The shares: of each operation and type, of each class of sides, of all.
    pub groups: Vec<Group>,
    /// The same of the fastest peers against themselves.
    pub itself: Option<Group>,
    /// The worst ten.
    pub worst: Vec<Listed>,
}

/// What the default is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Against {
    /// Peers: lost where slower.
    Peers,
    /// Our own kernels: lost where more than 5 % slower.
    Own,
}

/// Shapes with something in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What that is.
    pub name: String,
    /// Shapes that were compared.
    pub shapes: usize,
    /// Of these, those whose interval lies below the bound.
    pub lost: usize,
    /// Those that could not be decided in the time, though the peer against itself could.
    pub undecided: usize,
    /// Those whose median is at or above 1.00.
    pub at_one: usize,
    /// Those whose median is at or above 0.95.
    pub near_one: usize,
    /// The smallest median.
    pub worst: f64,
}

/// One of the worst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The work.
    pub work: String,
    /// The other's time over the default's.
    pub ratio: Ratio,
    /// Seconds of the default, in those pairs.
    pub seconds: f64,
    /// What it launched.
    pub launched: String,
    /// Who was faster, with its time and what it launched.
    pub other: String,
}

/// A shape's fastest other.
struct Best<'a> {
    row: &'a Row,
    ratio: Ratio,
    verdict: Verdict,
}

impl Summary {
    /// Of these rows; `None` as long as nothing is compared.
    pub(super) fn of(rows: &[Row], against: Against) -> Option<Self> {
        let bound = match against {
            Against::Peers => 1.0,
            Against::Own => 1.0 - MARGIN,
        };
        let works = rows.chunk_by(|a, b| a.work == b.work);
        let best: Vec<_> = works.filter_map(|rows| best(rows, bound)).collect();
        if best.is_empty() {
            return None;
        }
        let mut kinds: Vec<String> = best.iter().map(|it| kind(&it.row.work)).collect();
        kinds.sort();
        kinds.dedup();
        let of = |name: &str, has: &dyn Fn(&Best<'_>) -> bool| {
            let of_group = best.iter().filter(|it| has(it));
            Group::of(name, of_group.map(|it| (it.ratio, it.verdict)))
        };
        let mut groups: Vec<_> = kinds
            .iter()
            .map(|name| of(name, &|it| kind(&it.row.work) == *name))
            .collect();
        for sides in CLASSES {
            groups.push(of(sides, &|it| class(&it.row.work) == sides));
        }
        groups.push(of(SHIFTED, &|it| it.row.work.contains('+')));
        groups.push(of("all", &|_| true));
        groups.retain(|group| group.shapes > 0);
        let itself = best.iter().filter_map(|it| it.row.itself);
        let itself = itself.map(|itself| (itself, Verdict::of(&itself, Some(&itself), 1.0)));
        let itself = Group::of("the fastest peer against itself", itself);
        let mut worst: Vec<_> = best.iter().collect();
        worst.sort_by(|a, b| a.ratio.median.total_cmp(&b.ratio.median));
        worst.truncate(LISTED);
        Some(Self {
            against,
            groups,
            itself: (itself.shapes > 0).then_some(itself),
            worst: worst.iter().map(|it| it.listed(rows)).collect(),
        })
    }

    /// The works that are listed.
    pub(super) fn listed(&self) -> Vec<String> {
        self.worst.iter().map(|it| it.work.clone()).collect()
    }

    /// Lines for people.
    pub fn table(&self) -> String {
        let lost = match self.against {
            Against::Peers => "not lost",
            Against::Own => "within 5 %",
        };
        let heading = [
            "",
            "shapes",
            lost,
            "lost",
            "undecided",
            ">= 1.00",
            ">= 0.95",
            "worst",
        ];
        let mut lines = vec![heading.map(str::to_owned)];
        for group in self.groups.iter().chain(&self.itself) {
            let share = |count: usize| {
                let percent = 100.0 * count as f64 / group.shapes as f64;
                format!("{count} ({percent:.0} %)")
            };
            lines.push([
                group.name.clone(),
                group.shapes.to_string(),
                share(group.shapes - group.lost - group.undecided),
                group.lost.to_string(),
                group.undecided.to_string(),
                share(group.at_one),
                share(group.near_one),
                format!("{:.3}", group.worst),
            ]);
        }
        let mut worst = vec![["the worst", "ratio", "default", "by"].map(str::to_owned)];
        for it in &self.worst {
            worst.push([
                it.work.clone(),
                it.ratio.to_string(),
                seconds(it.seconds),
                it.launched.clone(),
            ]);
            let other = it.other.clone();
            worst.push([String::new(), String::new(), "other".to_owned(), other]);
        }
        format!("{}\n\n{}", lines_up(&lines, 1..8), lines_up(&worst, 1..3))
    }
}

impl Group {
    fn of(name: &str, ratios: impl Iterator<Item = (Ratio, Verdict)>) -> Self {
        let mut group = Self {
            name: name.to_owned(),
            shapes: 0,
            lost: 0,
            undecided: 0,
            at_one: 0,
            near_one: 0,
            worst: f64::INFINITY,
        };
        for (Ratio { median, .. }, verdict) in ratios {
            group.shapes += 1;
            group.lost += usize::from(verdict == Verdict::Lost);
            group.undecided += usize::from(verdict == Verdict::Undecided);
            group.at_one += usize::from(median >= 1.0);
            group.near_one += usize::from(median >= 0.95);
            group.worst = group.worst.min(median);
        }
        group
    }
}

/// The fastest other of a shape, whose result was right. If the default loses to any, it loses.
fn best(rows: &[Row], bound: f64) -> Option<Best<'_>> {
    let others = rows.iter().filter(|row| row.passed).filter_map(|row| {
        let ratio = row.ratio?;
        let verdict = Verdict::of(&ratio, row.itself.as_ref(), bound);
        Some(Best {
            row,
            ratio,
            verdict,
        })
    });
    let rank = |it: &Best<'_>| (it.verdict != Verdict::Lost, it.ratio.median);
    others.min_by(|a, b| {
        let ((a, at), (b, bt)) = (rank(a), rank(b));
        a.cmp(&b).then(at.total_cmp(&bt))
    })
}

impl Best<'_> {
    fn listed(&self, rows: &[Row]) -> Listed {
        let Self { row, ratio, .. } = self;
        let ours = |it: &&Row| it.work == row.work && it.implementation == OURS;
        let ours = rows.iter().filter(ours).find(|it| it.rung == DEFAULT);
        // One that launches what the default does was not timed.
        let of_default = ours.and_then(|row| row.timing);
        let other = row.timing.or(of_default).map_or(0.0, |it| it.median);
        let mut by = format!("{} {} {}", seconds(other), row.implementation, row.rung);
        if !row.launched.is_empty() {
            by = format!("{by}: {}", row.launched);
        }
        Listed {
            work: row.work.clone(),
            ratio: *ratio,
            seconds: other / ratio.median,
            launched: ours.map_or_else(String::new, |it| it.launched.clone()),
            other: by,
        }
    }
}

/// Operation and type of a work's name.
fn kind(work: &str) -> String {
    work.split('/').take(2).collect::<Vec<_>>().join("/")
}

const CLASSES: [&str; 3] = [
    "every side a multiple of 128",
    "every side a multiple of 8",
    "other sides",
];
const SHIFTED: &str = "operands that begin at no multiple of 16 bytes";

/// The class of a work's sides.
fn class(work: &str) -> &'static str {
    let place = work.rsplit('/').next().unwrap_or_default();
    let size = place.split(['@', '+']).next().unwrap_or_default();
    let size = size.parse::<super::Size>();
    // The number of products in a batch is no side.
    let batch = usize::from(
        work.split('/')
            .next()
            .is_some_and(|it| it.ends_with("-batch")),
    );
    let all = |of: usize| {
        size.as_ref()
            .is_ok_and(|size| size.0.iter().skip(batch).all(|it| it % of == 0))
    };
    match (all(128), all(8)) {
        (true, _) => CLASSES[0],
        (_, true) => CLASSES[1],
        _ => CLASSES[2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Timing;

    fn row(work: &str, by: &str, ratio: Option<[f64; 2]>, itself: Option<[f64; 2]>) -> Row {
        let of = |[low, high]: [f64; 2]| Ratio {
            median: (low + high) / 2.0,
            low,
            high,
            pairs: 9,
        };
        Row {
            work: work.to_owned(),
            implementation: by.to_owned(),
            rung: if by == OURS { DEFAULT } else { "r" }.to_owned(),
            bytes: 1,
            operations: 1,
            timing: Some(Timing::of(vec![3e-6])),
            passed: true,
            ratio: ratio.map(of),
            itself: itself.map(of),
            launched: format!("{by}'s kernel"),
            ..Row::default()
        }
    }

    fn rows() -> Vec<Row> {
        let even = Some([0.995, 1.005]);
        vec![
            row("matmul/f32/128x256x384", OURS, None, None),
            row("matmul/f32/128x256x384", "torch", Some([1.1, 1.12]), even),
            row("matmul/f32/128x256x384", "cupy", Some([1.5, 1.51]), even),
            row("matmul/f32/8x16x12", OURS, None, None),
            row("matmul/f32/8x16x12", "torch", Some([0.96, 0.98]), even),
            row("sum/f64/16x24@1+1", OURS, None, None),
            row("sum/f64/16x24@1+1", "torch", Some([0.9, 1.06]), even),
            row("sum/f64/7", OURS, None, None),
            row("sum/f64/7", "torch", Some([0.9, 1.06]), Some([0.9, 1.1])),
        ]
    }

    #[test]
    fn shares_are_of_the_fastest_peer_of_each_shape() {
        let summary = Summary::of(&rows(), Against::Peers).expect("pairs");
        let of = |name: &str| {
            let group = summary.groups.iter().find(|it| it.name == name);
            let it = group.unwrap_or_else(|| panic!("{name} in {summary:?}"));
            [it.shapes, it.lost, it.undecided, it.at_one, it.near_one]
        };
        assert_eq!(of("matmul/f32"), [2, 1, 0, 1, 2]);
        assert_eq!(of("sum/f64"), [2, 0, 1, 0, 2]);
        assert_eq!(of("every side a multiple of 128"), [1, 0, 0, 1, 1]);
        assert_eq!(of("every side a multiple of 8"), [1, 0, 1, 0, 1]);
        assert_eq!(of("other sides"), [2, 1, 0, 0, 2]);
        assert_eq!(of(SHIFTED), [1, 0, 1, 0, 1]);
        assert_eq!(of("all"), [4, 1, 1, 1, 4]);
        let itself = summary.itself.as_ref().expect("peers against themselves");
        assert_eq!([itself.shapes, itself.at_one, itself.near_one], [4, 4, 4]);
        let all = summary.groups.last().expect("a group");
        assert!((all.worst - 0.97).abs() < 1e-12);
    }

    #[test]
    fn the_worst_come_first_with_what_each_side_did() {
        let summary = Summary::of(&rows(), Against::Peers).expect("pairs");
        let works: Vec<_> = summary.worst.iter().map(|it| it.work.as_str()).collect();
        assert_eq!(works[0], "matmul/f32/8x16x12");
        assert_eq!(works[3], "matmul/f32/128x256x384");
        let text = summary.table();
        for part in [
            "0.970 (0.960 to 0.980)",
            "3.09 µs",
            "3.00 µs torch r: torch's kernel",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(
            text.contains("blockwise's kernel") && text.contains("2 (50 %)"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_peer_does_not_count_and_losing_to_any_is_losing() {
        let mut rows = rows();
        rows[4].passed = false;
        let summary = Summary::of(&rows, Against::Peers).expect("pairs");
        assert_eq!(
            summary.groups.last().map(|it| (it.shapes, it.lost)),
            Some((3, 0))
        );
        // The undecided one is faster by its median, the other for certain.
        let rows = [
            row("sum/f32/9", "a", Some([0.5, 1.1]), None),
            row("sum/f32/9", "b", Some([0.98, 0.99]), None),
        ];
        let summary = Summary::of(&rows, Against::Peers).expect("pairs");
        assert_eq!(
            summary.groups.last().map(|it| (it.lost, it.undecided)),
            Some((1, 0))
        );
        assert!(summary.worst[0].other.contains(" b "));
    }

    #[test]
    fn against_our_own_kernels_five_percent_are_allowed() {
        let rows = [
            row("sum/f32/9", OURS, Some([0.96, 0.97]), None),
            row("sum/f32/10", OURS, Some([0.93, 0.949]), None),
        ];
        let summary = Summary::of(&rows, Against::Own).expect("pairs");
        let all = summary.groups.last().expect("a group");
        assert_eq!([all.shapes, all.lost, all.undecided], [2, 1, 0]);
        assert!(summary.table().contains("within 5 %"));
        assert_eq!(Summary::of(&rows[..0], Against::Own), None);
    }
}
