//! What limited a trial: the server, the client, a noisy host, or nothing that counts.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What a trial's figures can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The server was the limit: the figures are the contender's.
    ServerBound,
    /// The generator was the limit: the contender can do at least this.
    ClientBound,
    /// Where the contender is the client: its figures are its own.
    ContenderBound,
    /// Where the contender is the client: the server was the limit, the contender can do at least
    /// this.
    SinkBound,
    /// Somebody else had the cores.
    HostNoisy,
    /// Wrong answers, too many errors, or no answers at all.
    Invalid,
}

impl Verdict {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerBound => "server-bound",
            Self::ClientBound => "client-bound",
            Self::ContenderBound => "contender-bound",
            Self::SinkBound => "sink-bound",
            Self::HostNoisy => "host-noisy",
            Self::Invalid => "invalid",
        }
    }

    /// Whether the contender was the limit: then its figures are its own, and it is ranked.
    pub fn is_own(self) -> bool {
        matches!(self, Self::ServerBound | Self::ContenderBound)
    }

    /// Whether the other side was the limit: then the contender can do at least this.
    pub fn is_at_least(self) -> bool {
        matches!(self, Self::ClientBound | Self::SinkBound)
    }
}

/// What is known of a trial when it is judged. Shares are from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Requests sent in the window.
    pub sent: u64,
    /// Requests completed in the window, and right.
    pub completed: u64,
    /// Answers that were wrong: status, length, header or content.
    pub wrong: u64,
    /// Requests that failed in any other way, timeouts included.
    pub failed: u64,
    /// Largest share of the window that one generator thread was on the CPU.
    pub generator_busy: f64,
    /// CPU time of the contender by the CPUs it may use.
    pub server_busy: f64,
    /// Share of the window that the contender's busiest thread was on the CPU.
    pub busiest_thread: f64,
    /// Share of the window that the hypervisor kept the CPUs in use from us.
    pub steal: f64,
    /// CPU share of the server's and the generator's CPUs that went to strangers.
    pub strangers: f64,
    /// Little's law: share of the connections that were not waiting for the server.
    pub idle_connections: f64,
    /// Connections kept open.
    pub connections: u32,
    /// Rate by what the generator reached on a server that does nothing but answer; `None`: unknown.
    pub of_generator_ceiling: Option<f64>,
    /// Share of the time in which every task of the machine waited for memory or a disk.
    pub stalled: f64,
    /// Connections that full listen queues dropped.
    pub listen_drops: u64,
}

/// A side that is on the CPU this much of the time has nothing left to give.
pub(super) const SATURATED: f64 = 0.90;
/// More errors than this make the survivors no fair sample.
const MAX_ERROR_SHARE: f64 = 0.01;
/// More steal than this moves rates by as much as contenders differ.
const MAX_STEAL: f64 = 0.03;
/// The same for other processes on the cores in use.
const MAX_STRANGERS: f64 = 0.07;
/// The same for stalls of the whole machine.
const MAX_STALLED: f64 = 0.05;
/// This near to its ceiling, the generator had part in the rate.
const NEAR_CEILING: f64 = 0.90;
/// This near, and as busy as the server, it is as likely the limit as the server is.
const AT_CEILING: f64 = 0.97;
/// Connections that idle this much of the time were not kept busy by the generator.
const MAX_IDLE_CONNECTIONS: f64 = 0.15;
/// Little's law holds on the average of many requests, not of a few.
const LITTLE_MIN_REQUESTS_PER_CONNECTION: u64 = 20;

/// Judges a trial, and says why in one sentence.
pub fn judge(evidence: &Evidence) -> (Verdict, String) {
    if let Some(reason) = invalid(evidence) {
        return (Verdict::Invalid, reason);
    }
    if let Some(reason) = noisy(evidence) {
        return (Verdict::HostNoisy, reason);
    }
    let (verdict, mut reason) = bound(evidence);
    if evidence.listen_drops > 0 {
        let _ = write!(reason, "; {} connections met a full listen queue", evidence.listen_drops);
    }
    (verdict, reason)
}

/// Why somebody else had the cores, if that was so.
pub(super) fn noisy(evidence: &Evidence) -> Option<String> {
    if evidence.steal > MAX_STEAL {
        return Some(format!("the hypervisor took {} of the CPUs in use", percent(evidence.steal)));
    }
    if evidence.strangers > MAX_STRANGERS {
        let share = percent(evidence.strangers);
        return Some(format!("other processes took {share} of the CPUs in use"));
    }
    if evidence.stalled > MAX_STALLED {
        let share = percent(evidence.stalled);
        return Some(format!("the machine waited for memory or a disk {share}"));
    }
    None
}

/// Which side was the limit.
fn bound(evidence: &Evidence) -> (Verdict, String) {
    let server = evidence.server_busy.max(evidence.busiest_thread);
    let generator = evidence.generator_busy;
    let (server_share, generator_share) = (percent(server), percent(generator));
    let ceiling = evidence.of_generator_ceiling.unwrap_or(0.0);
    let both = generator >= SATURATED && ceiling >= AT_CEILING;
    if server >= SATURATED && !both {
        return (Verdict::ServerBound, format!("the server was {server_share} busy"));
    }
    if generator >= SATURATED {
        let reason = format!(
            "the generator was {generator_share} busy, the server {server_share}; give the \
             generator more cores"
        );
        return (Verdict::ClientBound, reason);
    }
    if ceiling >= NEAR_CEILING {
        let reason = format!(
            "at {} of what the generator reaches on a server that does nothing but answer (server \
             {server_share} busy, generator {generator_share})",
            percent(ceiling)
        );
        return (Verdict::ClientBound, reason);
    }
    let enough = LITTLE_MIN_REQUESTS_PER_CONNECTION * u64::from(evidence.connections);
    if evidence.completed >= enough && evidence.idle_connections > MAX_IDLE_CONNECTIONS {
        let idle = percent(evidence.idle_connections);
        let reason = format!("connections waited for the generator {idle} of the time");
        return (Verdict::ClientBound, reason);
    }
    let reason = format!(
        "every connection waited for the server, which was {server_share} busy (generator \
         {generator_share})"
    );
    (Verdict::ServerBound, reason)
}

/// Why the figures count for nothing, if that is so.
pub(super) fn invalid(evidence: &Evidence) -> Option<String> {
    let Evidence { sent, completed, wrong, failed, .. } = *evidence;
    if wrong > 0 {
        let share = percent(ratio(wrong, sent));
        return Some(format!("{wrong} of {sent} answers were wrong ({share})"));
    }
    if completed == 0 {
        return Some(format!("none of {sent} requests completed"));
    }
    if ratio(failed, sent) > MAX_ERROR_SHARE {
        let share = percent(ratio(failed, sent));
        return Some(format!("{failed} of {sent} requests failed ({share})"));
    }
    None
}

/// `part / whole` for counts; 0 of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    let (part, whole) = (part as f64, whole as f64);
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Evidence = Evidence {
        sent: 100_000,
        completed: 99_950,
        wrong: 0,
        failed: 0,
        generator_busy: 0.5,
        server_busy: 0.98,
        busiest_thread: 0.98,
        steal: 0.0,
        strangers: 0.01,
        idle_connections: 0.01,
        connections: 50,
        of_generator_ceiling: Some(0.5),
        stalled: 0.0,
        listen_drops: 0,
    };

    fn verdict(evidence: Evidence) -> Verdict {
        judge(&evidence).0
    }

    #[test]
    fn a_busy_server_is_the_limit() {
        assert_eq!(verdict(GOOD), Verdict::ServerBound);
        let single_threaded = Evidence { server_busy: 0.25, busiest_thread: 0.97, ..GOOD };
        assert_eq!(verdict(single_threaded), Verdict::ServerBound);
    }

    #[test]
    fn a_busy_generator_is_the_limit_when_the_server_is_not() {
        let client =
            Evidence { generator_busy: 0.97, server_busy: 0.6, busiest_thread: 0.6, ..GOOD };
        let (verdict, reason) = judge(&client);
        assert_eq!(verdict, Verdict::ClientBound);
        assert!(reason.contains("97.0 %") && reason.contains("60.0 %"), "{reason}");
    }

    #[test]
    fn connections_that_wait_for_the_generator_are_its_fault() {
        let idle =
            Evidence { server_busy: 0.5, busiest_thread: 0.5, idle_connections: 0.3, ..GOOD };
        assert_eq!(verdict(idle), Verdict::ClientBound);
        // With a few requests per connection the edges of the window alone make such a residual.
        assert_eq!(verdict(Evidence { completed: 120, sent: 150, ..idle }), Verdict::ServerBound);
    }

    #[test]
    fn wrong_answers_and_errors_make_it_invalid_whatever_else() {
        assert_eq!(verdict(Evidence { wrong: 1, ..GOOD }), Verdict::Invalid);
        assert_eq!(verdict(Evidence { completed: 0, ..GOOD }), Verdict::Invalid);
        let failing = Evidence { failed: 2_000, steal: 0.5, ..GOOD };
        let (verdict_of_failing, reason) = judge(&failing);
        assert_eq!(verdict_of_failing, Verdict::Invalid);
        assert_eq!(reason, "2000 of 100000 requests failed (2.0 %)");
        assert_eq!(verdict(Evidence { failed: 5, ..GOOD }), Verdict::ServerBound);
    }

    #[test]
    fn a_rate_near_the_generators_ceiling_is_the_generators() {
        let near = Evidence { of_generator_ceiling: Some(0.93), ..GOOD };
        assert_eq!(verdict(near), Verdict::ServerBound, "a server with nothing left to give");
        let idle = Evidence { server_busy: 0.6, busiest_thread: 0.6, ..near };
        let (verdict_of_idle, reason) = judge(&idle);
        assert_eq!(verdict_of_idle, Verdict::ClientBound);
        assert!(reason.starts_with("at 93.0 % of what the generator reaches"), "{reason}");
        let both = Evidence { of_generator_ceiling: Some(0.99), generator_busy: 0.95, ..GOOD };
        assert_eq!(verdict(both), Verdict::ClientBound);
        assert_eq!(verdict(Evidence { of_generator_ceiling: None, ..GOOD }), Verdict::ServerBound);
    }

    #[test]
    fn dropped_connections_are_told_whoever_was_the_limit() {
        let (_, reason) = judge(&Evidence { listen_drops: 3, ..GOOD });
        assert!(reason.ends_with("; 3 connections met a full listen queue"), "{reason}");
    }

    #[test]
    fn steal_and_strangers_make_it_noisy() {
        assert_eq!(verdict(Evidence { steal: 0.05, ..GOOD }), Verdict::HostNoisy);
        assert_eq!(verdict(Evidence { strangers: 0.2, ..GOOD }), Verdict::HostNoisy);
        assert_eq!(verdict(Evidence { stalled: 0.2, ..GOOD }), Verdict::HostNoisy);
    }
}
