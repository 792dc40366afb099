//! Pieces of any length, sent from every rank to rank 0.

use std::borrow::Cow;
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
    pub fn receive(&self, rank: &Rank, from: usize) -> Result<Option<Piece<T>>> {
        let bytes = rank.receive_bytes(from, &self.call)?;
        let element = PhantomData;
        Ok((!bytes.is_empty()).then_some(Piece { bytes, element }))
    }
}

/// A piece as it has arrived.
pub struct Piece<T> {
    bytes: Vec<u8>,
    element: PhantomData<T>,
}

impl<T: Element> Piece<T> {
    /// Its elements. Large pieces are aligned as they arrive, and copying gigabytes of them would
    /// take as long as writing them to a file.
    pub fn elements(&self) -> Cow<'_, [T]> {
        match bytemuck::try_cast_slice(&self.bytes) {
            Ok(elements) => Cow::Borrowed(elements),
            Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(&self.bytes)),
        }
    }
}
