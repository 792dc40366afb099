//! The command `blockwise` as a process: exit codes, messages, files.
//!
//! These tests live beside the command, because only its own package's tests are sure to find it
//! built.

mod book;
mod check;
mod chunks;
mod command;
mod debug;
mod debug_extension;
mod debug_port;
mod devices;
mod drivers;
mod files;
mod launching;
mod mesh_times;
mod meshes;
mod new;
mod outputs;
mod profile;
mod references;
mod results;
mod rows;
mod scale;
mod scans;
mod shell;
mod stepping;
mod textures;
mod trace;
mod tuning;
mod types;
