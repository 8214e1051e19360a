//! Who runs when: contenders as processes, their cost, and the trials.

mod cgroup;
pub mod pins;
pub mod plan;
mod process_group;
mod procfs;
pub mod stats;
pub mod verdict;
