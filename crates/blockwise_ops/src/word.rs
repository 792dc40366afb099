//! The words as which data-moving kernels treat elements.

use crate::Element;
use crate::reverse::Reverses;
use crate::transpose::Transposes;

/// `u32` or `u64`.
pub trait Word: Element<Word = Self> + Transposes + Reverses {}

impl Word for u32 {}
impl Word for u64 {}
