//! Methods of arrays in global memory that do not depend on which elements a thread owns.

/// Methods of a type with the fields `first` and `len`.
macro_rules! whole_array {
    () => {
        /// The number of elements of the whole array.
        #[inline(always)]
        pub fn len(&self) -> usize {
            self.len
        }

        /// Whether there are no elements.
        #[inline(always)]
        pub fn is_empty(&self) -> bool {
            self.len == 0
        }

        /// A pointer to the first element, for kernels with `unsafe` inside, which are then
        /// responsible for ownership.
        #[inline(always)]
        pub fn as_mut_ptr(&mut self) -> *mut T {
            self.first
        }
    };
}

pub(super) use whole_array;
