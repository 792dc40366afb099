//! Executes PTX on the CPU and reports what a GPU hides.
