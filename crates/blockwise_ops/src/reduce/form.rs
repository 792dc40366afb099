//! The differences between the kernels of whole arrays that plans and errors depend on.

use crate::operation::{Kernel, Task};

/// A kernel's form: [`Kernel::instance`] holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// 16-byte packs of each operand that a thread has in flight; 0 if it loads single elements.
    pub packs: u8,
    /// How a block's values and the blocks' results are folded.
    pub fold: Folding,
}

/// See [`Form::fold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folding {
    /// A tree in shared memory, in the element's type, and the host, as in the documents.
    Tree,
    /// Shuffles, and the host.
    Host,
    /// Shuffles, and the last block.
    LastBlock,
}

impl Form {
    /// As a [`Kernel::instance`].
    pub const fn instance(self) -> u8 {
        self.packs * 3 + self.fold as u8
    }

    /// Of a kernel of whole arrays.
    pub(super) fn of(kernel: &Kernel) -> Self {
        Self {
            packs: kernel.instance / 3,
            fold: match kernel.instance % 3 {
                0 => Folding::Tree,
                1 => Folding::Host,
                _ => Folding::LastBlock,
            },
        }
    }

    /// Of the kernel that a task's variant has for a code.
    pub(super) fn of_task(task: &Task<'_>, code: u8) -> Self {
        let mut kernels = task.variant.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.code == code);
        kernel.map_or(TREE, Self::of)
    }
}

/// A tree over single elements.
pub(super) const TREE: Form = Form {
    packs: 0,
    fold: Folding::Tree,
};

#[cfg(test)]
mod tests {
    use super::super::variants::{INTERLEAVED, SINGLE, TREE as TREE_VARIANT, WIDE};
    use super::*;

    #[test]
    fn a_form_is_kept_in_the_instance() {
        let form = |kernel: &Kernel| {
            let form = Form::of(kernel);
            assert_eq!(form.instance(), kernel.instance);
            (form.packs, form.fold)
        };
        for (variant, fold) in [
            (&INTERLEAVED, Folding::Tree),
            (&TREE_VARIANT, Folding::Tree),
        ] {
            assert!(variant.kernels.iter().all(|it| form(it) == (0, fold)));
        }
        // Dot products have two operands in flight.
        for kernel in WIDE.kernels {
            let packs = if kernel.entry.name.starts_with("dot") {
                2
            } else {
                4
            };
            assert_eq!(form(kernel), (packs, Folding::Host), "{kernel:?}");
        }
        for kernel in SINGLE.kernels {
            assert_eq!(form(kernel), (4, Folding::LastBlock), "{kernel:?}");
        }
    }
}
