//! What limited a trial whose contender is the client.

use super::super::verdict::{Evidence, SATURATED, Verdict, invalid, noisy, percent};

/// Judges a trial, and says why in one sentence. In `evidence` the server is the contender, whatever
/// it is, and the generator is the sink.
///
/// A client that does one upload after another waits for the sink between them, and still its rate is
/// its own: what the sink takes is the same for all. Only a sink that is busy all the time hides how
/// fast a client could be.
pub(super) fn judge(evidence: &Evidence) -> (Verdict, String) {
    if let Some(reason) = invalid(evidence) {
        return (Verdict::Invalid, reason);
    }
    if let Some(reason) = noisy(evidence) {
        return (Verdict::HostNoisy, reason);
    }
    let client = evidence.server_busy.max(evidence.busiest_thread);
    let sink = evidence.generator_busy;
    let shares = format!("the client was {} busy, the sink {}", percent(client), percent(sink));
    if client < SATURATED && sink >= SATURATED {
        return (Verdict::SinkBound, shares);
    }
    (Verdict::ContenderBound, shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Evidence = Evidence {
        sent: 1_000,
        completed: 1_000,
        wrong: 0,
        failed: 0,
        generator_busy: 0.4,
        server_busy: 0.6,
        busiest_thread: 0.6,
        steal: 0.0,
        strangers: 0.0,
        idle_connections: 0.0,
        connections: 1,
        of_generator_ceiling: None,
        stalled: 0.0,
        listen_drops: 0,
    };

    fn verdict(evidence: Evidence) -> Verdict {
        judge(&evidence).0
    }

    #[test]
    fn only_a_busy_sink_hides_what_a_client_can_do() {
        assert_eq!(verdict(GOOD), Verdict::ContenderBound);
        let (hidden, reason) = judge(&Evidence { generator_busy: 0.95, ..GOOD });
        assert_eq!(hidden, Verdict::SinkBound);
        assert_eq!(reason, "the client was 60.0 % busy, the sink 95.0 %");
        let both = Evidence { generator_busy: 0.95, busiest_thread: 0.93, ..GOOD };
        assert_eq!(verdict(both), Verdict::ContenderBound, "a client with nothing left to give");
    }

    #[test]
    fn failures_and_noise_are_as_everywhere() {
        assert_eq!(verdict(Evidence { failed: 100, ..GOOD }), Verdict::Invalid);
        assert_eq!(verdict(Evidence { completed: 0, ..GOOD }), Verdict::Invalid);
        assert_eq!(verdict(Evidence { strangers: 0.2, ..GOOD }), Verdict::HostNoisy);
    }
}
