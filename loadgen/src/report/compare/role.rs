//! What is said otherwise where the contenders of a scenario are clients.

use crate::experiment::record::Comparison;

/// Whether the contenders of `scenario` are clients, which upload a file.
pub(super) fn is_client(comparison: &Comparison, scenario: &str) -> bool {
    comparison.manifest.uploads.contains_key(scenario)
}

/// How uploads are measured, for readers; `None` where there are none.
pub(super) fn method(comparison: &Comparison) -> Option<&'static str> {
    (!comparison.manifest.uploads.is_empty()).then_some(
        "In the upload scenarios the contender is the client: it uploads a file again and again, one \
         upload after another, to server-upload on the generator's CPUs, and tells the time of each, \
         from opening the file to the end of the answer. CPU and memory are the client's; the sink \
         must have counted every upload and byte that the client claims. They are ranked \
         (contender-bound) unless the sink was busy all the time and the client was not (sink-bound). \
         The sink acknowledges what it receives at once (TCP_QUICKACK): Deno's fetch sends a file in \
         small writes that wait for an acknowledgement, which the kernel would delay by 40 ms. \
         A contender with another sink is told so under its table.",
    )
}

/// The level of connections in words, as an addition to a title; a client opens its own.
pub(super) fn at_level(client: bool, connections: u32) -> String {
    if client { String::new() } else { format!(", {connections} connections") }
}
