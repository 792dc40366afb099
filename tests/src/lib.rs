//! Integration tests across the Blockwise workspace.
