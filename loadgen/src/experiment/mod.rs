//! Who runs when: contenders as processes, their cost, and the trials.

pub mod ceiling;
pub mod cgroup;
pub mod checked;
pub mod contender;
pub mod cpu_quota;
pub mod host;
pub mod load;
pub mod null_server;
pub mod null_server_process;
pub mod pins;
pub mod plan;
pub mod preflight;
pub mod prepare;
pub mod pressure;
pub mod probe;
pub mod process_group;
pub mod procfs;
pub mod record;
pub mod run;
pub mod sampler;
pub mod stats;
pub mod store;
pub mod summary;
pub mod trial;
pub mod verdict;
pub mod warmup;
