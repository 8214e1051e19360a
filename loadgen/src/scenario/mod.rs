//! What each scenario sends, and what a right answer is.

mod answer;
mod body;
mod fill;
mod suite;
mod suite_file;

pub use answer::{Answer, Content, fibonacci, head_fields};
pub use body::{random_bytes, request_bytes};
pub use fill::fill;
pub use suite::{Contender, Profile, RequestBody, Role, Scenario, Suite, Window, Workers};
