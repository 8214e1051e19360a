//! The clock that every figure is read from, and the timer that a fixed rate is paced by.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{quantile, read};
use crate::check::finding::{Finding, Grade};

/// Reads of the clock in one go.
const READS: u32 = 20_000;
/// Goes, of which the cheapest counts: what interrupts it is not the clock's cost.
const GOES: usize = 5;
/// Timers that are waited for.
const TIMERS: usize = 200;
/// Each of this length.
const TIMER: Duration = Duration::from_micros(500);

/// Both lines.
pub(super) fn look() -> Vec<Finding> {
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let timer = lateness().map_or_else(
        |error| {
            Finding::new("timer", Grade::Bad, format!("the kernel gives no timer: {error}"))
                .advise("use a kernel with timerfd")
        },
        |mut late_us| judge_timer(quantile(&mut late_us, 0.5), quantile(&mut late_us, 0.99)),
    );
    vec![judge_clock(source.as_deref(), ns_per_read()), timer]
}

/// What reading the monotonic clock costs.
fn ns_per_read() -> f64 {
    let go = |_| {
        let began = Instant::now();
        for _ in 0..READS {
            black_box(Instant::now());
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(READS)
    };
    (0..GOES).map(go).fold(f64::INFINITY, f64::min)
}

fn judge_clock(source: Option<&str>, ns_per_read: f64) -> Finding {
    let source = source.unwrap_or("a clock source that is not told");
    let value = format!("{source}, {ns_per_read:.0} ns for each read");
    Finding::new("clock", Grade::at_most(ns_per_read, 100.0, 500.0), value)
        .figure("ns_per_read", ns_per_read)
        .advise(
            "each request reads it twice: let the kernel use the CPU's own counter (boot with \
             clocksource=tsc where that is reliable)",
        )
}

/// How late each of some timers was, µs: the kernel's timers as the load engine uses them.
fn lateness() -> std::io::Result<Vec<f64>> {
    // Where this is refused the timers are a little later, and that is what is told.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let length = Timespec { tv_sec: 0, tv_nsec: i64::from(TIMER.subsec_nanos()) };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: length };
    let mut late_us = Vec::with_capacity(TIMERS);
    for _ in 0..TIMERS {
        let began = Instant::now();
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
        rustix::io::read(&timer, &mut [0_u8; 8])?;
        late_us.push(began.elapsed().saturating_sub(TIMER).as_secs_f64() * 1e6);
    }
    // The kernel's default for the rest of this thread's life.
    let _ = rustix::thread::set_current_timer_slack(None);
    Ok(late_us)
}

fn judge_timer(p50_us: f64, p99_us: f64) -> Finding {
    let value = format!("late by {p50_us:.0} µs (p50) and {p99_us:.0} µs (p99)");
    let grade = Grade::at_most(p50_us, 100.0, 1_000.0).max(Grade::at_most(p99_us, 500.0, 5_000.0));
    Finding::new("timer", grade, value)
        .figure("late_us_p50", p50_us)
        .figure("late_us_p99", p99_us)
        .advise(
            "requests at a fixed rate are sent this late: use a kernel with high-resolution timers, \
             and keep the CPUs from deep sleep (idle=poll, or cpupower idle-set -D 10)",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_and_a_late_timer_are_told() {
        assert_eq!(judge_clock(Some("tsc"), 25.0).grade, Grade::Good);
        let slow = judge_clock(Some("hpet"), 900.0);
        assert_eq!(slow.grade, Grade::Bad);
        assert!(slow.value.starts_with("hpet, 900 ns"), "{slow:?}");
        assert_eq!(judge_timer(30.0, 90.0).grade, Grade::Good);
        assert_eq!(judge_timer(30.0, 900.0).grade, Grade::Tolerable);
        assert_eq!(judge_timer(4_000.0, 4_100.0).grade, Grade::Bad);
    }

    #[test]
    fn a_timer_is_never_early() {
        let late_us = lateness().unwrap();
        assert_eq!(late_us.len(), TIMERS);
        assert!(late_us.iter().all(|late| *late >= 0.0));
    }
}
