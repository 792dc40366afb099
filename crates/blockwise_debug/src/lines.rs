//! Source lines and the instructions that belong to them.

use ptx_emulator::SourceLocation;
use ptx_emulator::replay::{Location, Replay};
use ptx_emulator::report::Sources;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The source locations of a launch's instructions.
pub(crate) struct Lines {
    places: HashMap<u32, Place>,
    /// In code order.
    code: Vec<u32>,
    ptx: String,
    /// Files that are left out: libraries'.
    left_out: HashSet<String>,
}

/// A frame of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) at: SourceLocation,
    /// It belongs to a library, not to the user's code.
    pub(crate) library: bool,
    /// The number of frames around it, libraries' included.
    pub(crate) depth: usize,
}

/// A line: the number of its file, and its own.
pub(crate) type Line = (usize, u32);

struct Place {
    function: String,
    ptx_line: u32,
    /// Innermost first.
    frames: Vec<Frame>,
    /// The frames' lines, outermost first.
    chain: Vec<Line>,
    /// All frames as the line table has them, outermost first.
    table: Vec<SourceLocation>,
    /// The instruction has no line of its own: the frames are those of code near it.
    borrowed: bool,
}

impl Lines {
    /// With `just_my_code`, the frames are the user's only.
    pub(crate) fn of(replay: &Replay, sources: &Sources, ptx: String, just_my_code: bool) -> Self {
        let code: Vec<u32> = replay.instructions().collect();
        let located: Vec<(u32, Location)> =
            code.iter().map(|&pc| (pc, replay.location(pc))).collect();
        let mut users = located.iter().map(|(_, at)| at.user_frames().next());
        let only_users = just_my_code && users.any(|user| user.is_some());
        let mut paths = Paths::new(sources);
        let mut left_out = HashSet::new();
        let mut places = HashMap::new();
        for (pc, location) in located {
            let is_users =
                |frame: &SourceLocation| location.user_frames().any(|user| user == frame);
            let all = (0..location.frames.len()).rev().zip(&location.frames);
            let mut frames: Vec<Frame> = all
                .filter(|(_, frame)| frame.line > 0)
                .map(|(depth, frame)| Frame {
                    at: paths.whole(frame),
                    library: !is_users(frame),
                    depth,
                })
                .collect();
            if only_users {
                let libraries = frames.iter().filter(|frame| frame.library);
                left_out.extend(libraries.map(|frame| frame.at.file.clone()));
                frames.retain(|frame| !frame.library);
            } else if frames.is_empty() {
                let at = SourceLocation {
                    file: ptx.clone(),
                    line: location.ptx_line,
                    column: 0,
                };
                frames.push(Frame {
                    at,
                    library: false,
                    depth: 0,
                });
            }
            let chain = frames.iter().rev();
            let chain = chain.map(|frame| (paths.number(&frame.at.file), frame.at.line));
            let place = Place {
                function: location.function,
                ptx_line: location.ptx_line,
                chain: chain.collect(),
                borrowed: frames.is_empty(),
                frames,
                table: location.frames.into_iter().rev().collect(),
            };
            places.insert(pc, place);
        }
        let mut lines = Self {
            places,
            code,
            ptx,
            left_out,
        };
        lines.borrow_frames();
        lines
    }

    /// Gives an instruction of a library the frames of the user's code before it, or after it.
    fn borrow_frames(&mut self) {
        let forwards = self.code.clone();
        let backwards = forwards.iter().rev().copied().collect();
        for order in [forwards, backwards] {
            let mut last: Option<u32> = None;
            for pc in order {
                let Some(place) = self.places.get(&pc) else {
                    continue;
                };
                if !place.frames.is_empty() {
                    last = Some(pc);
                    continue;
                }
                let near = last.and_then(|last| self.places.get(&last));
                let near = near.filter(|near| near.function == place.function);
                let near = near.map(|near| (near.frames.clone(), near.chain.clone()));
                if let (Some((frames, chain)), Some(place)) = (near, self.places.get_mut(&pc)) {
                    (place.frames, place.chain) = (frames, chain);
                }
            }
        }
    }

    /// The frames of an instruction, innermost first. None in a function of a library.
    pub(crate) fn frames(&self, pc: u32) -> &[Frame] {
        self.places.get(&pc).map_or(&[], |place| &place.frames)
    }

    /// How many of an instruction's frames are inside of a line: code that is inlined into it.
    pub(crate) fn inside(&self, pc: u32, file: &str, line: u32) -> usize {
        let is_it = |frame: &Frame| frame.at.line == line && same_file(file, &frame.at.file);
        self.frames(pc).iter().position(is_it).unwrap_or(0)
    }

    /// The lines of an instruction, outermost first.
    pub(crate) fn chain(&self, pc: u32) -> &[Line] {
        self.places.get(&pc).map_or(&[], |place| &place.chain)
    }

    /// All frames of an instruction as the line table has them, outermost first.
    pub(crate) fn table(&self, pc: u32) -> &[SourceLocation] {
        self.places.get(&pc).map_or(&[], |place| &place.table)
    }

    /// Whether an instruction is on a line of its own, at which a step may end.
    pub(crate) fn has_line(&self, pc: u32) -> bool {
        self.places.get(&pc).is_some_and(|place| !place.borrowed)
    }

    /// The PTX function that contains an instruction.
    pub(crate) fn function(&self, pc: u32) -> &str {
        self.places.get(&pc).map_or("", |place| &place.function)
    }

    /// The PTX line of an instruction.
    pub(crate) fn ptx_line(&self, pc: u32) -> u32 {
        self.places.get(&pc).map_or(0, |place| place.ptx_line)
    }

    /// Whether a file is a library's, and left out.
    pub(crate) fn is_left_out(&self, file: &str) -> bool {
        self.left_out.iter().any(|known| same_file(file, known))
    }

    /// Where a line breakpoint is: the line, or the next one with code, and the instructions that
    /// start it.
    pub(crate) fn resolve(&self, file: &str, line: u32) -> Option<(u32, HashSet<u32>)> {
        let is_ptx = same_file(file, &self.ptx);
        let lines_of = |pc: u32| -> Vec<u32> {
            if is_ptx {
                return vec![self.ptx_line(pc)];
            }
            if !self.has_line(pc) {
                return Vec::new();
            }
            let frames = self.frames(pc).iter();
            let here = frames.filter(|frame| same_file(file, &frame.at.file));
            here.map(|frame| frame.at.line).collect()
        };
        let known: BTreeSet<u32> = self.code.iter().flat_map(|&pc| lines_of(pc)).collect();
        let found = *known.range(line..).next()?;
        let mut heads = HashSet::new();
        let mut inside = false;
        for &pc in &self.code {
            let holds = lines_of(pc).contains(&found);
            // Code of a library in the middle of a line does not begin it again.
            if !is_ptx && !self.has_line(pc) {
                continue;
            }
            if holds && !inside {
                heads.insert(pc);
            }
            inside = holds;
        }
        Some((found, heads))
    }
}

/// The files of a line table: their paths, and numbers by which they are compared.
struct Paths<'s> {
    sources: &'s Sources,
    whole: HashMap<String, String>,
    numbers: HashMap<String, usize>,
}

impl<'s> Paths<'s> {
    fn new(sources: &'s Sources) -> Self {
        Self {
            sources,
            whole: HashMap::new(),
            numbers: HashMap::new(),
        }
    }

    /// A location with the whole path of its file, where that is found: an editor opens no other.
    fn whole(&mut self, at: &SourceLocation) -> SourceLocation {
        let find = || {
            let path = self.sources.find(&at.file);
            path.map_or_else(|| at.file.clone(), |path| path.display().to_string())
        };
        let known = self.whole.get(&at.file).cloned();
        let file = known.unwrap_or_else(find);
        self.whole.insert(at.file.clone(), file.clone());
        SourceLocation { file, ..at.clone() }
    }

    fn number(&mut self, file: &str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(file.to_owned()).or_insert(next)
    }
}

/// Whether a client's path is one in the line table, which may be relative to an unknown folder.
fn same_file(client: &str, table: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let path = path.replace('\\', "/");
        let parts = Path::new(&path).components();
        let parts = parts.filter_map(|part| match part {
            std::path::Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
            _ => None,
        });
        parts.collect()
    };
    let (client, table) = (parts(client), parts(table));
    !client.is_empty()
        && !table.is_empty()
        && (client.ends_with(&table) || table.ends_with(&client))
}
