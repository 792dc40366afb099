//! What the families offer to the search for a better policy.
//!
//! A search is a [`Work`] whose rungs are policies, the first of which is what the launcher takes by
//! itself.

use blockwise_ops::LaunchPlan;

use super::Work;

/// A work whose rungs are policies, the launcher's choice first.
pub(super) struct Search {
    /// The work.
    pub work: Work,
    /// Where the launcher's choice is written.
    pub place: &'static str,
}

/// What the launcher takes by itself, in words.
pub(super) const CHOICE: &str = "the launcher's choice";

/// Leaves the ways that this device can launch, and of several that are one launch the first.
pub(super) fn distinct<W>(candidates: &mut Vec<W>, plan: impl Fn(&W) -> Option<LaunchPlan>) {
    let mut plans = Vec::new();
    candidates.retain(|candidate| match plan(candidate) {
        Some(plan) if !plans.contains(&plan) => {
            plans.push(plan);
            true
        }
        _ => false,
    });
}
