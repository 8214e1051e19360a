//! What the operating system allows and charges: descriptors, CPUs, CPU time.
#![expect(unsafe_code, reason = "getrusage and close_range have no safe wrappers here")]

use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::EngineError;

/// Descriptors a run needs besides one for each connection.
const RESERVE: u64 = 16;

/// Raises the soft limit on file descriptors so that the connections fit.
pub(crate) fn allow_descriptors(connections: u64, threads: u64) -> Result<(), EngineError> {
    let needed = connections + 2 * threads + RESERVE;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|&hard| hard < needed) {
        return Err(EngineError::Input(format!(
            "{connections} connections need {needed} file descriptors, but this process may open \
             at most {hard} (hard limit, ulimit -Hn): use fewer connections or raise the limit"
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).map_err(
        |error| EngineError::Os {
            context: format!("raising the limit on file descriptors to {needed}"),
            source: error.into(),
        },
    )
}

/// Pins the calling thread to one CPU.
pub(crate) fn pin_to(cpu: usize) -> Result<(), EngineError> {
    let refused = |source: std::io::Error| EngineError::Os {
        context: format!("pinning a worker to CPU {cpu}"),
        source,
    };
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused(rustix::io::Errno::INVAL.into()));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| refused(error.into()))
}

/// Gives the calling thread a table of file descriptors of its own, with only the standard streams.
///
/// The kernel counts references to a descriptor on every system call while threads share the table:
/// without that a request costs 2 to 3 % less. Connections of other threads, and whatever the
/// program holds open, are not kept open by this thread either.
pub(crate) fn own_descriptors() {
    // SAFETY: closes descriptors in the new table only, and the calling thread uses none that was
    // opened before: a worker opens its own after this. Where it is refused the table stays shared.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE);
    }
}

/// Makes the kernel wake the calling thread when it asked for, not up to 50 µs later.
pub(crate) fn sharpen_timers() {
    // Where this is refused the schedule is a little later, and its lag says so.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// CPU time of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

impl CpuTime {
    /// What the calling thread has spent so far.
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is valid for a write of one rusage.
        let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        if status != 0 {
            return Self::default();
        }
        // SAFETY: getrusage succeeded and has filled it in.
        let usage = unsafe { usage.assume_init() };
        Self { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }
    }

    /// What was spent since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_usec).unwrap_or(0) * 1000)
}
