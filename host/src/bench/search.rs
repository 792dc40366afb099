//! The searches for better policies that each family offers.
//!
//! A search is a [`Work`] whose alternatives are policies; the first one is the launcher's default.

use blockwise_ops::LaunchPlan;

use super::Work;

/// A work whose alternatives are policies, the launcher's default first.
pub(super) struct Search {
    /// The work.
    pub work: Work,
    /// The source location of the launcher's choice.
    pub place: &'static str,
}

/// The launcher's default, in words.
pub(super) const CHOICE: &str = "the launcher's choice";

/// Keeps the candidates that this device can launch, and of equal launches only the first.
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
