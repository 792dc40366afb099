//! One rank's values for all ranks.

use blockwise_ops::Element;

use crate::call::Digest;
use crate::{Error, Rank, Result};

impl Rank {
    /// The root's values, on every rank. What the other ranks pass is ignored.
    ///
    /// # Errors
    /// [`Error::NoRank`], and failures of the communication.
    #[track_caller]
    pub fn broadcast<T: Element>(&mut self, root: usize, values: &[T]) -> Result<Vec<T>> {
        let (me, ranks) = (self.number(), self.ranks());
        if root >= ranks {
            return Err(Error::NoRank { rank: root, ranks });
        }
        let call = self.call::<T>(&format!("broadcast from {root}"), &[], Digest::new());
        if me != root {
            return self.receive(root, &call);
        }
        for to in (0..ranks).filter(|&to| to != me) {
            self.send(to, &call, values)?;
        }
        Ok(values.to_vec())
    }
}
