//! What a contender costs: CPU at the window's edges, memory sampled in between.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::cpu_quota::Throttling;
use super::pressure::HostPressure;
use super::process_group::ProcessGroup;
use super::procfs::{self, CpuLine, CpuTime};

/// Ten samples a second are enough for a mean, and cost nothing that shows.
const MEMORY_INTERVAL: Duration = Duration::from_millis(100);
/// Threads under this share of a CPU are not listed.
const LISTED_THREAD: f64 = 0.01;

/// The counters at one edge of the window.
#[derive(Clone, Debug)]
pub struct Edge {
    at: Instant,
    cpu: CpuTime,
    threads: BTreeMap<i32, (String, Duration)>,
    context_switches: u64,
    cpus_in_use: CpuLine,
    tasks_ran: Option<Duration>,
    throttling: Option<Throttling>,
    /// CPU time of this process: engine, content checks, sampling.
    harness: Duration,
    /// CPU time that reading all this took.
    reading: Duration,
}

impl Edge {
    /// Reads the counters now. `cpus` are those of the server and the generator.
    pub fn read(group: &ProcessGroup, cpus: &[usize]) -> Self {
        let (at, cpu, began) = (Instant::now(), group.cpu_time(), cpu_time(ClockId::ThreadCPUTime));
        let throttling = group.throttling();
        let members = group.sampled_members();
        let threads = members.iter().flat_map(|&pid| procfs::thread_times(pid));
        Self {
            at,
            cpu,
            threads: threads.map(|(tid, name, time)| (tid, (name, time))).collect(),
            context_switches: members.iter().map(|&pid| procfs::context_switches(pid)).sum(),
            cpus_in_use: procfs::cpu_lines(cpus),
            tasks_ran: procfs::tasks_ran(cpus),
            throttling,
            harness: cpu_time(ClockId::ProcessCPUTime),
            reading: cpu_time(ClockId::ThreadCPUTime).saturating_sub(began),
        }
    }
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// What happened between the two edges of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCost {
    /// Length, s.
    pub elapsed_s: f64,
    /// CPU time in user mode, all threads and children, s.
    pub cpu_user_s: f64,
    /// CPU time in the kernel, s.
    pub cpu_system_s: f64,
    /// Threads at the end of the window.
    pub threads: usize,
    /// Threads that used at least 1 % of a CPU, busiest first.
    pub busy_threads: Vec<ThreadShare>,
    /// Context switches of all threads.
    pub context_switches: u64,
    /// Time all processes spent on the CPUs in use, s.
    pub host_busy_s: f64,
    /// Time the hypervisor kept these CPUs from us, s.
    pub host_steal_s: f64,
    /// CPU time of the whole of this program: engine, content checks, sampling, s.
    #[serde(default)]
    pub harness_cpu_s: f64,
    /// Of it, what reading the counters at the window's edges took, s.
    #[serde(default)]
    pub edge_cpu_s: f64,
    /// What the CPU quota did; `null` without one.
    #[serde(default)]
    pub throttling: Option<Throttling>,
    /// What happened to the machine.
    #[serde(default)]
    pub pressure: HostPressure,
}

impl WindowCost {
    /// Threads that shared the work: those with at least a quarter of the busiest one's CPU time.
    pub fn working_threads(&self) -> usize {
        let busiest = self.busy_threads.first().map_or(0.0, |thread| thread.cpu_percent);
        self.busy_threads.iter().filter(|thread| thread.cpu_percent >= busiest / 4.0).count()
    }
}

/// One thread's use of a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadShare {
    /// Its name.
    pub name: String,
    /// Share of the window on the CPU, percent.
    pub cpu_percent: f64,
}

/// The difference of two edges.
pub fn window_cost(opened: &Edge, closed: &Edge) -> WindowCost {
    let elapsed = closed.at.duration_since(opened.at).as_secs_f64();
    let cpu = closed.cpu.since(opened.cpu);
    let mut busy_threads: Vec<ThreadShare> = closed
        .threads
        .iter()
        .map(|(tid, (name, time))| {
            let before = opened.threads.get(tid).map_or(Duration::ZERO, |(_, time)| *time);
            let share = time.saturating_sub(before).as_secs_f64() / elapsed;
            ThreadShare { name: name.clone(), cpu_percent: share * 100.0 }
        })
        .filter(|thread| thread.cpu_percent >= LISTED_THREAD * 100.0)
        .collect();
    busy_threads.sort_by(|a, b| b.cpu_percent.total_cmp(&a.cpu_percent));
    let host = |edge: &Edge| edge.cpus_in_use;
    // Clock ticks leave interrupts out, and the exact clock what runs outside of a container.
    let ticks = host(closed).busy.saturating_sub(host(opened).busy);
    let exact = opened.tasks_ran.zip(closed.tasks_ran).map(|(then, now)| now.saturating_sub(then));
    WindowCost {
        elapsed_s: elapsed,
        cpu_user_s: cpu.user.as_secs_f64(),
        cpu_system_s: cpu.system.as_secs_f64(),
        threads: closed.threads.len(),
        busy_threads,
        context_switches: closed.context_switches.saturating_sub(opened.context_switches),
        host_busy_s: ticks.max(exact.unwrap_or_default()).as_secs_f64(),
        host_steal_s: host(closed).steal.saturating_sub(host(opened).steal).as_secs_f64(),
        harness_cpu_s: closed.harness.saturating_sub(opened.harness).as_secs_f64(),
        edge_cpu_s: (opened.reading + closed.reading).as_secs_f64(),
        throttling: opened.throttling.zip(closed.throttling).map(|(then, now)| now.since(then)),
        pressure: HostPressure::default(),
    }
}

/// Memory of a contender over the window, MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Mean resident memory of all its processes.
    pub mean: f64,
    /// Largest resident memory, since the start where it is one process (VmHWM).
    pub peak: f64,
    /// Proportional memory right after the window: shared pages divided among their users.
    pub proportional: Option<f64>,
    /// Samples taken.
    pub samples: u32,
    /// CPU time the sampling itself took, s; on the generator's CPUs.
    pub sampler_cpu_s: f64,
}

/// Samples resident memory on a thread of its own until it is finished.
#[derive(Debug)]
pub struct MemorySampler {
    stop: Sender<()>,
    thread: JoinHandle<Sampled>,
}

#[derive(Debug, Default)]
struct Sampled {
    sum_bytes: u64,
    peak_bytes: u64,
    samples: u32,
    cpu: Duration,
}

impl MemorySampler {
    /// Starts sampling the processes of `group`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(group: &ProcessGroup) -> std::io::Result<Self> {
        let members = group.sampled_members();
        let (stop, stopped) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name("memory sampler".into()).spawn(move || {
                let mut sampled = Sampled::default();
                loop {
                    let bytes: u64 =
                        members.iter().filter_map(|&pid| procfs::resident_bytes(pid)).sum();
                    sampled.sum_bytes += bytes;
                    sampled.peak_bytes = sampled.peak_bytes.max(bytes);
                    sampled.samples += 1;
                    if stopped.recv_timeout(MEMORY_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
                sampled.cpu = cpu_time(ClockId::ThreadCPUTime);
                sampled
            })?;
        Ok(Self { stop, thread })
    }

    /// Ends the sampling and adds what only needs to be read once.
    pub fn finish(self, group: &ProcessGroup) -> Memory {
        // The thread may already be gone; then its samples are what there is.
        let _ = self.stop.send(());
        let sampled = self.thread.join().unwrap_or_default();
        let members = group.members();
        let mut peak = sampled.peak_bytes;
        if let [pid] = members.as_slice() {
            peak = peak.max(procfs::peak_resident_bytes(*pid).unwrap_or(0));
        }
        let proportional: Option<u64> =
            members.iter().map(|&pid| procfs::proportional_bytes(pid)).sum();
        Memory {
            mean: mebibytes(sampled.sum_bytes / u64::from(sampled.samples.max(1))),
            peak: mebibytes(peak),
            proportional: proportional.filter(|_| !members.is_empty()).map(mebibytes),
            samples: sampled.samples,
            sampler_cpu_s: sampled.cpu.as_secs_f64(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "memory sizes are far below 2^53")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(at: Instant, user_ms: u64, thread_ms: u64) -> Edge {
        Edge {
            at,
            cpu: CpuTime { user: Duration::from_millis(user_ms), system: Duration::ZERO },
            threads: BTreeMap::from([(1, ("main".to_owned(), Duration::from_millis(thread_ms)))]),
            context_switches: user_ms,
            cpus_in_use: CpuLine::default(),
            tasks_ran: None,
            throttling: None,
            harness: Duration::ZERO,
            reading: Duration::ZERO,
        }
    }

    #[test]
    fn the_cost_of_a_window_is_the_difference_of_its_edges() {
        let start = Instant::now();
        let cost =
            window_cost(&edge(start, 100, 90), &edge(start + Duration::from_secs(2), 1_100, 1_090));
        assert!((cost.elapsed_s - 2.0).abs() < 1e-9 && (cost.cpu_user_s - 1.0).abs() < 1e-9);
        assert_eq!(cost.busy_threads.len(), 1);
        assert!((cost.busy_threads[0].cpu_percent - 50.0).abs() < 1e-9);
        assert_eq!((cost.threads, cost.context_switches), (1, 1_000));
    }

    #[test]
    fn helper_threads_do_not_count_as_workers() {
        let thread = |cpu_percent| ThreadShare { name: "a".into(), cpu_percent };
        let busy_threads = vec![thread(90.0), thread(60.0), thread(20.0)];
        let cost = WindowCost { busy_threads, ..WindowCost::default() };
        assert_eq!(cost.working_threads(), 2);
        assert_eq!(WindowCost::default().working_threads(), 0);
    }

    #[test]
    fn idle_threads_are_counted_but_not_listed() {
        let start = Instant::now();
        let cost = window_cost(&edge(start, 0, 0), &edge(start + Duration::from_secs(1), 0, 1));
        assert!(cost.busy_threads.is_empty());
        assert_eq!(cost.threads, 1);
    }
}
