use super::finding::{Site, Target};
use super::frames::Frames;
use super::parameters::Parameters;
use super::{Variables, distance};
use crate::decode::Entry;
use crate::decode::{LOCAL_GAP, Program};
use crate::exec::{Base, Region, Request, Seen, Turn};
use crate::fault::{Access, Space};
use crate::launch::LaunchConfig;
use crate::memory::CONST_BASE;
use std::ops::Range;

/// What every detector needs about the current event, also to name the place of a finding.
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    pub(crate) kernel: &'a Entry,
    pub(crate) config: LaunchConfig,
    pub(crate) slots: Vec<Slot>,
    pub(crate) turn: Turn,
    pub(crate) variables: Variables<'a>,
    pub(crate) frames: Frames,
    parameters: Parameters,
}

/// The block that runs in one of the device's slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) number: u64,
    pub(crate) index: [u32; 3],
    /// Number of block-wide barriers completed.
    pub(crate) epoch: u32,
}

/// A thread at an instruction: enough to create a [`Site`] later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Actor {
    pub(crate) pc: u32,
    /// The block's number in the grid, x fastest.
    pub(crate) block: u64,
    /// The thread's number in its block, x fastest.
    pub(crate) thread: u32,
    pub(crate) epoch: u32,
}

impl<'a> Context<'a> {
    pub(crate) fn new(request: &Request<'a>) -> Self {
        let turn = Turn {
            slot: 0,
            warp: 0,
            base: Base::default(),
            live: 0,
        };
        Self {
            program: request.program,
            kernel: request.kernel,
            config: request.config,
            slots: Vec::new(),
            turn,
            variables: Variables::new(request),
            parameters: Parameters::new(request),
            frames: Frames::new(request.program),
        }
    }

    /// Notes that a block, by its number and index in the grid, starts in a slot.
    pub(crate) fn block(&mut self, slot: usize, number: u64, index: [u32; 3]) {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Slot::default());
        }
        self.slots[slot] = Slot {
            number,
            index,
            epoch: 0,
        };
    }

    /// Whether a block, by its number in the grid, is in the cluster of the one whose turn it is.
    pub(crate) fn share_cluster(&self, other: u64) -> bool {
        let cluster = self.program.functions[self.kernel.function as usize].cluster;
        let [x, y, _] = self.config.grid.map(u64::from);
        let cluster_of = |number: u64| {
            let index = [number % x, number / x % y, number / x / y];
            [0, 1, 2].map(|axis| index[axis] / u64::from(cluster[axis].max(1)))
        };
        cluster != [1; 3] && cluster_of(other) == cluster_of(self.slot().number)
    }

    /// Whether the kernel has barriers of the whole grid.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.program.is_cooperative(self.kernel.function)
    }

    /// "element 5 of `out`", for an address of global memory that a parameter leads to.
    pub(crate) fn element(&self, address: u64, size: u32) -> Option<String> {
        self.parameters
            .element(self.program, self.kernel, address, size)
    }

    /// "element 64 of `out`, which has 64", for an address outside of the allocation at `base`.
    pub(crate) fn element_outside(&self, base: u64, address: u64, size: u32) -> Option<String> {
        let place = (base, address, size);
        self.parameters.outside(self.program, self.kernel, place)
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.slots[self.turn.slot]
    }

    /// A lane of the warp whose turn it is.
    pub(crate) fn actor(&self, pc: u32, lane: usize) -> Actor {
        let slot = self.slot();
        Actor {
            pc,
            block: slot.number,
            thread: 32 * self.turn.warp + lane as u32,
            epoch: slot.epoch,
        }
    }

    /// Describes an access of shared or local memory outside every variable, and its distance from
    /// the nearest one. In local memory only the current frame is searched.
    pub(crate) fn outside(
        &self,
        base: Base,
        (space, access): (Space, Access),
        address: u64,
        size: u32,
    ) -> Option<String> {
        let arrays = &self.program.functions[base.function as usize].local_arrays;
        let arrays = arrays.iter().map(|(name, place)| {
            let [start, end] =
                [place.start, place.end].map(|at| u64::from(base.local) + u64::from(at));
            (format!("`{name}`"), start..end)
        });
        let (name, place) = match space {
            Space::Shared => self.variables.nearest(space, address),
            Space::Local => arrays.min_by_key(|(_, place)| distance(place, address)),
            _ => None,
        }?;
        let (start, end) = (place.start, place.end);
        let side = if address < start {
            format!("{} bytes before", start - address)
        } else if address < end {
            format!("at byte {} of", address - start)
        } else {
            format!("{} bytes after the end of", address - end)
        };
        let length = end - start;
        Some(format!(
            "out of bounds: {access} of {size} bytes at {address:#x} in {space} memory, {side} {name} of {length} bytes at {start:#x}"
        ))
    }

    /// Whether an access of shared or local memory touches bytes of no variable. In local memory
    /// only the gaps next to arrays are known to be unused.
    pub(crate) fn is_outside(&self, base: Base, space: Space, address: u64, size: u32) -> bool {
        let end = address.saturating_add(size.into());
        match space {
            Space::Shared => {
                let holds = |place: &Range<u64>| place.start <= address && end <= place.end;
                !self.variables.shared().iter().any(holds)
            }
            Space::Local => {
                let [start, end] = [address, end].map(|at| at.wrapping_sub(base.local.into()));
                let meets = |gap: Range<u32>| start < gap.end.into() && end > gap.start.into();
                let arrays = &self.program.functions[base.function as usize].local_arrays;
                arrays.iter().any(|(_, place)| {
                    meets(place.start - LOCAL_GAP..place.start)
                        || meets(place.end..place.end + LOCAL_GAP)
                })
            }
            _ => false,
        }
    }

    pub(crate) fn site(&self, actor: Actor, what: String, target: Option<Target>) -> Site {
        let global = target.filter(|target| target.space == Space::Global);
        let element = global.and_then(|target| self.element(target.address, target.size));
        let what = match element {
            Some(element) => format!("{what}, {element}"),
            None => what,
        };
        let [grid_x, grid_y, _] = self.config.grid.map(u64::from);
        let [x, y, _] = self.config.block;
        let (block, thread) = (actor.block, actor.thread);
        Site {
            what,
            place: self.program.place(actor.pc),
            inlined: self.program.inlined(actor.pc),
            block: [
                (block % grid_x) as u32,
                (block / grid_x % grid_y) as u32,
                (block / grid_x / grid_y) as u32,
            ],
            thread: Some([thread % x, thread / x % y, thread / x / y]),
            epoch: actor.epoch,
            target,
        }
    }
}

/// The space and address of a lane's access, as in reports.
pub(crate) fn address(seen: &Seen<'_>, lane: usize) -> (Space, u64) {
    let offset = seen.offsets[lane];
    match seen.region {
        Region::Global(allocation) => {
            let constant = allocation.base >= CONST_BASE;
            let space = if constant {
                Space::Const
            } else {
                Space::Global
            };
            (space, allocation.base + offset)
        }
        Region::Shared | Region::Peer(_) => (Space::Shared, offset),
        Region::Local => (Space::Local, offset),
        Region::Param => (Space::Param, offset),
    }
}
