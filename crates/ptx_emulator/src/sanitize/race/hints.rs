//! Hints: what is missing between the two accesses of a race, and where.

use super::judge;
use super::record::Record;
use super::report::Report;
use super::uses::Uses;
use crate::decode::op::{MbarrierKind, Op};
use crate::decode::order;
use crate::exec::Region;
use crate::fault::Place;
use crate::sanitize::language::{Words, words};
use crate::sanitize::{Rule, Severity};

impl Report<'_> {
    pub(super) fn hint(
        &self,
        rule: Rule,
        severity: Severity,
        there: &Place,
        here: &Place,
    ) -> String {
        let words = words(here);
        let between = self.between(rule, there, here);
        if rule == Rule::AsyncCopy {
            return self.of_copy(words, &between);
        }
        if self.hazard.heard {
            return format!(
                "PTX counts only {} after the acquire for the other lanes of its warp, no shuffle or vote; current hardware keeps the order all the same, and NVIDIA's cooperative groups rely on it",
                words.warp_barrier
            );
        }
        if severity == Severity::Information && rule != Rule::WriteAfterWrite {
            return "no store, address or branch depends on the value read, so the result is the same; read only where the value is used to be sure"
                .to_owned();
        }
        if severity == Severity::Information {
            return "both write the same value, so the result is the same; let one thread write it to be sure"
                .to_owned();
        }
        if self.is_filled_in_bulk() {
            return format!(
                "a wait for the phase of the mbarrier that the copy reports to (`mbarrier.try_wait`), {between}: the bytes are there only then"
            );
        }
        if self.is_same_warp() {
            if self.same_step().is_some() {
                return "one instruction writes the same bytes from several lanes: let one lane write, or use an atomic"
                    .to_owned();
            }
            return format!("{} {between}", words.warp_barrier);
        }
        if let Some(hint) = self
            .of_lock(words, here)
            .or_else(|| self.of_object(words, &between))
        {
            return hint;
        }
        if let Some(hint) = self.of_release(words, there, here) {
            return hint;
        }
        if self.current.now.shares_block(&self.hazard.earlier) {
            return self.in_block(words, &between);
        }
        self.between_blocks(words, &between)
    }

    /// Where something is missing: in the order in which one thread gets to the two places, which
    /// is not that of the accesses where the first one's thread was ahead.
    fn between(&self, rule: Rule, there: &Place, here: &Place) -> String {
        if there == here {
            return format!("between one use of {here} and the next");
        }
        // A copy is waited for after it, and a message goes from the first access to the second.
        let in_time = rule == Rule::AsyncCopy
            || self.is_filled_in_bulk()
            || self.uses.objects
            || self.uses.counts
            || self.uses.messages;
        if !in_time {
            let (earlier, now) = (self.hazard.earlier.pc(), self.current.now.pc);
            let (first, second) = match earlier < now {
                true => ((earlier, there), (now, here)),
                false => ((now, here), (earlier, there)),
            };
            if self.leads(first.0, second.0) {
                return format!("between {} and {}", first.1, second.1);
            }
            if self.leads(second.0, first.0) {
                return format!(
                    "between {} and {} of the loop's next round",
                    second.1, first.1
                );
            }
        }
        format!("between {there} and {here}")
    }

    /// Whether a thread gets from one instruction to the other without a barrier that would order
    /// the two accesses. A call may have one.
    fn leads(&self, from: u32, to: u32) -> bool {
        let in_block = self.current.now.shares_block(&self.hazard.earlier);
        order::leads(&self.context.program.code, from, to, |op| match op {
            Op::Call(_) => true,
            Op::Barrier(_) => in_block,
            Op::WarpBarrier { .. } => self.is_same_warp(),
            _ => false,
        })
    }

    /// Whether the earlier access is a bulk copy to shared memory.
    fn is_filled_in_bulk(&self) -> bool {
        let earlier = &self.hazard.earlier;
        let op = &self.context.program.code[earlier.pc() as usize].op;
        let in_bulk = matches!(op, Op::CopyBulk(_) | Op::CopyTensor(_));
        in_bulk && earlier.writes() && matches!(self.seen.region, Region::Shared | Region::Peer(_))
    }

    /// For a copy that no thread has waited for.
    fn of_copy(&self, words: &Words, between: &str) -> String {
        let (earlier, wait) = (&self.hazard.earlier, words.copy_wait);
        let own = self.is_same_warp() && self.hazard.lane == self.current.lane;
        if own {
            return format!("{wait} {between}");
        }
        if self.has_met_since_issue(earlier) {
            return format!(
                "{wait} by the thread that copies, before the barrier that is already {between}: a barrier does not wait for copies"
            );
        }
        format!("{wait} by the thread that copies {between}, and after it a barrier for all others")
    }

    /// Whether a barrier has been passed since the copy was issued.
    fn has_met_since_issue(&self, earlier: &Record) -> bool {
        let warp = earlier.warp.wrapping_sub(self.current.block.range().start);
        let thread = 32 * warp as usize + self.hazard.lane;
        let copies = self
            .copies
            .get(thread)
            .into_iter()
            .flat_map(|copies| copies.in_flight());
        let holds =
            |start: u64, size: u32| (start..start + u64::from(size)).contains(&self.hazard.at);
        let mut copies = copies.filter(|copy| {
            let shared = matches!(self.seen.region, Region::Shared | Region::Peer(_));
            copy.pc == earlier.pc()
                && copy.source.is_none() == shared
                && holds(copy.offset, copy.size)
        });
        copies.any(|copy| {
            let issue = Record::new(
                copy.time,
                earlier.warp,
                1 << self.hazard.lane,
                earlier.pc(),
                true,
            );
            self.current.now.follows(&issue) || self.current.unordered(&issue, issue.lanes) == 0
        })
    }

    /// For a lock that does not protect one of the two accesses.
    fn of_lock(&self, words: &Words, here: &Place) -> Option<String> {
        let (chains, earlier) = (self.current.chains, &self.hazard.earlier);
        let narrow = self.current.now.shares_block(earlier);
        let fence = if narrow {
            words.block_fence
        } else {
            words.fence
        };
        if let Some(pc) = chains.taken_without_acquire(earlier, self.hazard.lane) {
            return Some(self.unprotected(pc, fence));
        }
        let (warp, lane) = (self.current.now.warp_in_block(), self.current.lane);
        if let Some(pc) = self.current.block.unprotected(warp, lane, !narrow) {
            return Some(self.unprotected(pc, fence));
        }
        let heard =
            self.current
                .block
                .without_fence(chains, (warp, lane), earlier, self.hazard.lane);
        heard.then(|| {
            format!("{fence} after the atomic or the flag that this thread waits for, and before {here}: a relaxed access alone acquires nothing")
        })
    }

    fn unprotected(&self, pc: u32, fence: &str) -> String {
        let program = self.context.program;
        let place = program.place(pc);
        match self.locks.is_blind(pc) {
            true => format!(
                "nobody looks whether {place} takes the lock: repeat it until it does, then {fence}"
            ),
            false => format!(
                "the lock that {place} takes does not protect this: {fence} after it is taken and before the first access, for who fails to take it no access at all"
            ),
        }
    }

    /// For a barrier object that is used before it is initialised or after it is invalidated.
    fn of_object(&self, words: &Words, between: &str) -> Option<String> {
        let pcs = [self.current.now.pc, self.hazard.earlier.pc()];
        let barrier = match self.current.now.shares_block(&self.hazard.earlier) {
            true => words.block_barrier,
            false => words.cluster_barrier,
        };
        pcs.into_iter().find_map(|pc| match &self.context.program.code[pc as usize].op {
            Op::Mbarrier(op) => match op.kind {
                MbarrierKind::Init { .. } => Some(format!(
                    "one thread makes the barrier object; then {barrier} {between}, before any other uses it"
                )),
                MbarrierKind::Invalidate => Some(format!(
                    "the barrier object may end only when all have used it for the last time: {barrier} {between}"
                )),
                _ => None,
            },
            _ => None,
        })
    }

    /// For a release by the earlier thread's warp that the current thread has acquired, but that
    /// does not cover the access.
    fn of_release(&self, words: &Words, there: &Place, here: &Place) -> Option<String> {
        let (earlier, lane) = (&self.hazard.earlier, self.hazard.lane);
        let arrive = self.release_word();
        let mut elsewhere = *earlier;
        elsewhere.lanes = !(1 << lane);
        if self.current.unordered(&elsewhere, elsewhere.lanes) != elsewhere.lanes {
            return Some(format!(
                "{} after {there} and before the elected lane's {arrive}: it tells only what that lane knows",
                words.elected_barrier
            ));
        }
        let meets = self.current.knows_before(earlier, lane);
        if meets && self.is_in_another_block_of_the_cluster() {
            return Some(format!(
                "a wait for an {arrive} that comes after {there}, or {}: what {here} has waited for comes before it",
                words.cluster_barrier
            ));
        }
        if meets {
            let again = match self.uses.objects || self.uses.counts {
                true => "move it after".to_owned(),
                false => format!(
                    "{} after it, and only then the store that raises the flag or opens the lock",
                    match self.current.now.shares_block(earlier) {
                        true => words.block_fence,
                        false => words.fence,
                    }
                ),
            };
            return Some(format!(
                "a later {arrive}: the one that {here} has waited for comes before {there}; {again}"
            ));
        }
        None
    }

    /// Whether the two threads are of two blocks of one cluster.
    fn is_in_another_block_of_the_cluster(&self) -> bool {
        let threads = self.context.config.block.iter().product::<u32>();
        let other = u64::from(self.hazard.earlier.warp / threads.div_ceil(32));
        !self.current.now.shares_block(&self.hazard.earlier) && self.context.share_cluster(other)
    }

    fn release_word(&self) -> &'static str {
        let Uses {
            objects, counts, ..
        } = *self.uses;
        match (objects, counts) {
            (true, _) => "arrive (or other release)",
            (false, true) => "arrive or release",
            (false, false) => "release",
        }
    }

    fn in_block(&self, words: &Words, between: &str) -> String {
        let barrier = words.block_barrier;
        let copy = |pc: u32| matches!(self.context.program.code[pc as usize].op, Op::CopyAsync(_));
        if copy(self.hazard.earlier.pc()) {
            return format!(
                "{barrier} after the wait for the copy, {between}: the copy counts as done where its thread waits"
            );
        }
        match *self.uses {
            Uses { objects: true, .. } => format!(
                "an arrive at an mbarrier and a wait for its phase {between}, or a barrier: {} of the threads concerned, {barrier} for all",
                words.named_barrier
            ),
            Uses { counts: true, .. } => format!(
                "{} that the threads of both take part in, {between}; or {barrier} for all",
                words.named_barrier
            ),
            _ if self.locks.have_any() => format!(
                "{barrier} {between}; if a lock is to order them, both must hold it, with {} after it is taken and another before it is opened",
                words.block_fence
            ),
            _ => format!("{barrier} {between}"),
        }
    }

    fn between_blocks(&self, words: &Words, between: &str) -> String {
        let strength = judge::strength(self.context.program, self.hazard.earlier.pc());
        if self.current.strength.is_some() && strength.is_some() && !self.is_volatile() {
            return format!(
                "the scope of one of the two is only its own block ({}): with the device's ({}) they may meet",
                words.block_scope, words.device_scope
            );
        }
        if self.is_in_another_block_of_the_cluster() {
            return format!(
                "{} {between}: both are blocks of one cluster",
                words.cluster_barrier
            );
        }
        if self.context.is_cooperative() {
            return format!(
                "{} {between}: the grid is launched to meet there",
                words.grid_barrier
            );
        }
        let lock = match self.locks.have_any() {
            true => "a lock that both hold, taken before a fence and opened after one, ",
            false => "",
        };
        format!(
            "no barrier reaches another block: a second launch {between}, {lock}an atomic at both, or a flag that is written after {fence} and read before one, all of them with the scope of the device ({})",
            words.device_scope,
            fence = words.fence
        )
    }
}
