//! The detectors over every kernel of the workspace: silent about good ones, not about their mutants,
//! and what compute-sanitizer is to broken ones. One program, because all take the same launches,
//! which are recorded once.

mod against_hardware;
mod clean;
mod mutation;
