//! Results as text, JSON and tables; reads results, knows no processes.

pub mod check;
pub mod claims;
pub mod compare;
pub mod diff;
pub mod run;
pub mod units;
