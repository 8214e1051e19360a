//! The rule of the time limits, with a clock of its own.

use super::*;

/// Ticks of a number of seconds.
fn after(seconds: u32) -> Tick {
    seconds * 4
}

fn in_phase(phase: Phase) -> Stamps {
    Stamps { phase, reading: Flow::starting(0), blocked_write: None }
}

/// The second at which `stamps` gets its first verdict, and the verdict.
fn first(stamps: Stamps, stopping: Option<Tick>) -> Option<(u32, Verdict)> {
    let limits = Timeouts { rest: Duration::from_secs(1_000_000), ..Timeouts::default() };
    (0..after(1000)).find_map(|now| {
        due(&stamps, now, stopping, &limits).map(|verdict| (now.div_ceil(4), verdict))
    })
}

#[test]
fn silence_ends_at_the_limit_of_its_phase() {
    assert_eq!(first(in_phase(Phase::Handshake), None), Some((11, Verdict::Abort)));
    assert_eq!(first(in_phase(Phase::Head), None), Some((11, Verdict::HeadTimeout)));
    assert_eq!(first(in_phase(Phase::Idle), None), Some((76, Verdict::Close)));
    assert_eq!(first(in_phase(Phase::Resting), None), Some((76, Verdict::Close)));
    assert_eq!(first(in_phase(Phase::Body), None), Some((6, Verdict::BodyTimeout)));
    assert_eq!(first(in_phase(Phase::Lingering), None), Some((6, Verdict::Abort)));
    assert_eq!(first(in_phase(Phase::Answering), None), None);
    assert_eq!(first(in_phase(Phase::Responding), None), None);
}

#[test]
fn an_idle_connection_rests_before_it_is_closed() {
    let limits = Timeouts::default();
    let idle = in_phase(Phase::Idle);
    assert_eq!(due(&idle, after(1), None, &limits), None);
    assert_eq!(due(&idle, after(2), None, &limits), Some(Verdict::Rest));
    assert_eq!(due(&in_phase(Phase::Resting), after(2), None, &limits), None);
}

#[test]
fn a_fast_body_may_take_any_time_but_not_pause() {
    let mut stamps = in_phase(Phase::Body);
    stamps.reading = Flow { since: 0, progress: after(500), bytes: 1_000_000 };
    assert_eq!(first_after(stamps, after(500)), Some((511, Verdict::BodyTimeout)));
}

fn first_after(stamps: Stamps, start: Tick) -> Option<(u32, Verdict)> {
    (start..start + after(100)).find_map(|now| {
        due(&stamps, now, None, &Timeouts::default()).map(|verdict| (now.div_ceil(4), verdict))
    })
}

#[test]
fn a_body_of_one_byte_a_second_is_too_slow_after_the_grace() {
    let limits = Timeouts::default();
    let mut flow = Flow::starting(0);
    let mut end = None;
    for second in 1..20 {
        flow = flow.moved(after(second), 1);
        let stamps = Stamps { reading: flow, ..in_phase(Phase::Body) };
        if due(&stamps, after(second), None, &limits).is_some() {
            end = Some(second);
            break;
        }
    }
    assert_eq!(end, Some(6));
}

#[test]
fn a_body_at_the_least_rate_is_accepted() {
    let limits = Timeouts::default();
    let mut flow = Flow::starting(0);
    for second in 1..100 {
        flow = flow.moved(after(second), limits.least_rate);
        let stamps = Stamps { reading: flow, ..in_phase(Phase::Body) };
        assert_eq!(due(&stamps, after(second), None, &limits), None, "second {second}");
    }
}

#[test]
fn an_answer_not_taken_is_dropped() {
    let stamps = Stamps { blocked_write: Some(Flow::starting(0)), ..in_phase(Phase::Responding) };
    assert_eq!(first(stamps, None), Some((6, Verdict::Abort)));
}

#[test]
fn lingering_has_an_end_even_for_a_client_that_never_stops_sending() {
    let limits = Timeouts::default();
    let flow = Flow { since: 0, progress: after(31), bytes: u64::MAX };
    let stamps = Stamps { reading: flow, ..in_phase(Phase::Lingering) };
    assert_eq!(due(&stamps, after(31), None, &limits), Some(Verdict::Abort));
    let flow = Flow { since: 0, progress: after(29), bytes: u64::MAX };
    let stamps = Stamps { reading: flow, ..in_phase(Phase::Lingering) };
    assert_eq!(due(&stamps, after(29), None, &limits), None);
    let dripping = Flow { since: 0, progress: after(6), bytes: 6 };
    let stamps = Stamps { reading: dripping, ..in_phase(Phase::Lingering) };
    assert_eq!(due(&stamps, after(6), None, &limits), Some(Verdict::Abort));
}

#[test]
fn a_stop_closes_idle_connections_after_a_grace_and_no_others() {
    let idle = in_phase(Phase::Idle);
    assert_eq!(first(idle, Some(after(10))), Some((11, Verdict::Close)));
    let limits = Timeouts::default();
    assert_eq!(due(&idle, after(10), Some(after(10)), &limits), Some(Verdict::Rest));
    assert_eq!(first(in_phase(Phase::Answering), Some(0)), None);
}
