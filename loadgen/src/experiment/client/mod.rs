//! Trials whose contender is the client: it uploads files to a sink, and what it costs is measured.

mod check;
mod judge;
mod process;
mod receiver;
mod sink;
mod trial;

pub use check::{Checked, Upload, check};
pub use process::{Task, UploadResult};
pub use receiver::{Expected, Received, Receiver};
pub use trial::run;
