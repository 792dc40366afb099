//! A warp at the cluster barrier: a thread arrives, and later waits for all others to arrive.

use super::{Warp, WarpContext};
use crate::exec::observe::{Arrived, Observer};
use crate::exec::raise::{Checked, raise};
use crate::exec::split::{Split, State};
use crate::fault::FaultKind;

/// The state of a warp's lanes at the cluster barrier.
#[derive(Clone, Default)]
pub(in crate::exec) struct ClusterPhase {
    /// Lanes that have arrived in the current phase.
    pub(in crate::exec) arrived: u32,
    /// Lanes whose phase is complete but that have not yet waited for it.
    passed: u32,
    /// The arrivals, for observers.
    pub(in crate::exec) arrivals: Vec<Arrived>,
}

impl Warp {
    /// Lanes arrive or wait at the cluster barrier.
    pub(super) fn meet_cluster<O: Observer + ?Sized>(
        &mut self,
        mut split: Split,
        (waits, aligned): (bool, bool),
        around: &mut WarpContext<'_, '_, O>,
    ) -> Checked<()> {
        if aligned && split.mask != self.live {
            // Other lanes of the warp may still arrive.
            split.state = State::Members;
            self.push(split);
            return Ok(());
        }
        let phase = &mut self.cluster;
        let known = phase.arrived | phase.passed;
        let wrong = if waits {
            split.mask & !known
        } else {
            split.mask & known
        };
        if wrong != 0 {
            let problem = if waits {
                "`barrier.cluster.wait` without an arrival before it"
            } else {
                "`barrier.cluster.arrive` twice without a wait between"
            };
            let problem = problem.to_owned();
            let lane = wrong.trailing_zeros() as usize;
            return Err(raise(lane, FaultKind::InvalidOperand { problem }));
        }
        if !waits {
            *around.ticket += 1;
            let who = Arrived {
                warp: self.index,
                mask: split.mask,
                ticket: *around.ticket,
            };
            around.observer.arrives(around.slot, &who);
            phase.arrived |= split.mask;
            phase.arrivals.push(who);
            split.pc += 1;
            self.push(split);
            return Ok(());
        }
        let through = split.mask & phase.passed;
        phase.passed &= !through;
        self.push(Split {
            pc: split.pc + 1,
            mask: through,
            ..split.clone()
        });
        split.mask &= !through;
        split.state = State::Cluster;
        self.push(split);
        Ok(())
    }

    /// Completes the phase: releases the waiting lanes and returns its arrivals.
    pub(in crate::exec) fn complete_cluster(&mut self) -> Vec<Arrived> {
        let phase = &mut self.cluster;
        phase.passed |= phase.arrived & self.live;
        phase.arrived = 0;
        for split in &mut self.splits {
            if split.state == State::Cluster {
                split.state = State::Runnable;
                split.pc += 1;
                phase.passed &= !split.mask;
            }
        }
        let arrivals = std::mem::take(&mut phase.arrivals);
        self.merge();
        arrivals
    }
}
