//! The load generator and the comparison.
