//! Whole frames through the programs.
