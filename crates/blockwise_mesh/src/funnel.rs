//! Pieces of any length, sent from every rank to rank 0.

use std::marker::PhantomData;
use std::sync::Arc;

use blockwise_ops::Element;

use crate::call::Digest;
use crate::{Call, Rank, Result};

/// A collective of many messages: every rank but 0 sends pieces, and rank 0 takes each rank's
/// pieces in order. Pieces that rank 0 has not taken yet are in its memory.
pub struct Funnel<T> {
    call: Arc<Call>,
    element: PhantomData<T>,
}

impl<T: Element> Funnel<T> {
    /// Starts the collective, on every rank.
    #[track_caller]
    pub fn begin(rank: &mut Rank) -> Self {
        Self {
            call: rank.call::<T>("funnel", &[], Digest::new()),
            element: PhantomData,
        }
    }

    /// Sends the next piece.
    ///
    /// # Errors
    /// Failures of the communication.
    pub fn send(&self, rank: &Rank, piece: &[T]) -> Result<()> {
        match piece {
            // An empty piece marks the end.
            [] => Ok(()),
            piece => rank.send(0, &self.call, piece),
        }
    }

    /// Ends this rank's pieces.
    ///
    /// # Errors
    /// Failures of the communication.
    pub fn end(self, rank: &Rank) -> Result<()> {
        rank.send::<T>(0, &self.call, &[])
    }

    /// On rank 0: the next piece of another rank; `None` after its last.
    ///
    /// # Errors
    /// Failures of the communication, or with that rank.
    pub fn receive(&self, rank: &Rank, from: usize) -> Result<Option<Vec<T>>> {
        let piece: Vec<T> = rank.receive(from, &self.call)?;
        Ok((!piece.is_empty()).then_some(piece))
    }
}
