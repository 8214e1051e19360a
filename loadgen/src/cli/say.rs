//! Lines on standard error for people who watch. Nobody may watch any more, and that is no error.

use std::fmt::Display;
use std::io::Write as _;

/// Writes a line; one that a closed terminal or a full disk does not take is dropped, where
/// `eprintln!` would panic and lose the run.
pub(in crate::cli) fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
