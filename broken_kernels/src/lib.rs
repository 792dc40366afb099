//! Kernels with one deliberate mistake each, to show what the emulator reports.
