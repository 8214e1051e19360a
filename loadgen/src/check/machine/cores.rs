//! The CPUs: how many, whether work can be pinned to them, and whether they are really apart.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::read;
use crate::check::finding::{Finding, Grade};
use crate::experiment::pins::{self, Pins};
use crate::experiment::record::Host;

/// How long each CPU is kept busy to see whether the others slow it.
const SPIN: Duration = Duration::from_millis(150);

/// All lines.
pub(super) fn look(host: &Host, pins: &Pins) -> Vec<Finding> {
    let mut findings = vec![judge_count(host), pinning(pins)];
    if pins.warning.is_none() {
        findings.push(judge_siblings(pins, &pins::siblings));
        findings.extend(kept_speed(pins).map(judge_speed));
    }
    findings.push(judge_governor(&governors(&host.cpus_allowed), host.virtualised.is_some()));
    findings.push(judge_virtualised(host.virtualised.is_some()));
    findings
}

fn judge_count(host: &Host) -> Finding {
    let allowed = host.cpus_allowed.len();
    let value = format!("{allowed} of {} CPUs may be used ({})", host.cpus, host.cpu_model);
    let advice = match allowed {
        1 => "server and generator take turns on one CPU: use a machine with two or more",
        _ => "what else runs here shares CPUs with server or generator: four or more leave it room",
    };
    Finding::new("cores", Grade::at_least(allowed as f64, 4.0, 2.0), value)
        .figure("cpus_allowed", allowed as f64)
        .advise(advice)
}

/// Pins a thread to each side in turn, and asks it where it runs.
fn pinning(pins: &Pins) -> Finding {
    if let Some(warning) = &pins.warning {
        return Finding::new("pinning", Grade::Bad, warning.clone())
            .advise("give each its own CPUs with --server-cpus and --generator-cpus");
    }
    for cpus in [&pins.server_cpus, &pins.generator_cpus] {
        let runs_on = on_cpus(cpus, rustix::thread::sched_getcpu);
        let refused = match runs_on {
            Ok(cpu) if cpus.contains(&cpu) => continue,
            Ok(cpu) => format!("a thread pinned to CPU {cpus:?} runs on CPU {cpu}"),
            Err(error) => format!("no thread can be pinned to CPU {cpus:?}: {error}"),
        };
        return Finding::new("pinning", Grade::Bad, refused)
            .advise("allow sched_setaffinity (seccomp profile or sandbox of the container)");
    }
    let (server, generator) = (&pins.server_cpus, &pins.generator_cpus);
    Finding::new(
        "pinning",
        Grade::Good,
        format!("works: server on CPU {server:?}, generator on CPU {generator:?}"),
    )
}

/// Runs `work` on a thread pinned to `cpus`.
fn on_cpus<T: Send>(cpus: &[usize], work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let pinned = move || pins::pin_this_thread(cpus).map(|()| work());
        let thread = scope.spawn(pinned);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn judge_siblings(pins: &Pins, siblings: &dyn Fn(usize) -> Vec<usize>) -> Finding {
    let shared: Vec<String> = pins
        .server_cpus
        .iter()
        .flat_map(|&cpu| siblings(cpu).into_iter().map(move |sibling| (cpu, sibling)))
        .filter(|(_, sibling)| pins.generator_cpus.contains(sibling))
        .map(|(cpu, sibling)| format!("{cpu} and {sibling}"))
        .collect();
    if shared.is_empty() {
        return Finding::new(
            "SMT",
            Grade::Good,
            "no core is shared by server and generator, as far as the kernel tells",
        );
    }
    let value = format!("server and generator share cores: CPUs {}", shared.join(", "));
    Finding::new("SMT", Grade::Bad, value).advise(
        "each slows the other: choose CPUs of different cores with --server-cpus and \
         --generator-cpus, or turn SMT off",
    )
}

/// Speed of a CPU of the server while one of the generator is busy, by its speed alone.
fn kept_speed(pins: &Pins) -> Option<f64> {
    let (server, generator) = (&pins.server_cpus[..1], &pins.generator_cpus[..1]);
    let alone = on_cpus(server, speed).ok()?;
    let (beside, other) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| on_cpus(server, speed));
        let other = scope.spawn(|| on_cpus(generator, speed));
        (beside.join(), other.join())
    });
    other.ok()?.ok()?;
    Some(beside.ok()?.ok()? / alone)
}

/// Steps of arithmetic in each second of CPU time, so that a stranger on the CPU does not count but
/// one on the other thread of its core does. Independent chains keep all of the core's units busy,
/// which a single one would leave to the other thread.
fn speed() -> f64 {
    const CHAINS: usize = 8;
    const STEPS: u32 = 10_000;
    let mut chains: [u64; CHAINS] = std::array::from_fn(|i| i as u64 + 1);
    let (began, cpu, mut steps) = (Instant::now(), thread_cpu_s(), 0.0);
    while began.elapsed() < SPIN {
        for _ in 0..STEPS {
            for chain in &mut chains {
                // Knuth's MMIX generator.
                *chain = chain.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            }
            black_box(&mut chains);
        }
        steps += f64::from(STEPS);
    }
    steps / (thread_cpu_s() - cpu).max(1e-9)
}

fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn judge_speed(kept: f64) -> Finding {
    let value = format!(
        "the server's CPU keeps {:.0} % of its speed while the generator's is busy",
        (kept * 100.0).min(100.0)
    );
    Finding::new("shared cores", Grade::at_least(kept, 0.95, 0.85), value)
        .figure("kept_speed", kept)
        .advise(
            "two CPUs of this machine may be threads of one core, or share its power: use CPUs that \
             are apart, or a machine with dedicated cores",
        )
}

fn governors(cpus: &[usize]) -> Vec<String> {
    let governor =
        |cpu: &usize| read(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let mut found: Vec<String> = cpus.iter().filter_map(governor).collect();
    found.sort();
    found.dedup();
    found
}

fn judge_governor(governors: &[String], virtualised: bool) -> Finding {
    let (grade, value) = match governors {
        [] if virtualised => (Grade::Good, "left to the hypervisor".to_owned()),
        [] => (Grade::Good, "the kernel does not change the clock rate".to_owned()),
        [only] if only == "performance" => (Grade::Good, only.clone()),
        others => (Grade::Tolerable, others.join(", ")),
    };
    Finding::new("governor", grade, value)
        .advise("clock rates change with the load: cpupower frequency-set -g performance")
}

fn judge_virtualised(virtualised: bool) -> Finding {
    let (grade, value) = if virtualised {
        (Grade::Tolerable, "a virtual machine")
    } else {
        (Grade::Good, "no hypervisor is seen")
    };
    Finding::new("virtualisation", grade, value).advise(
        "the host may move or share these CPUs at any time: name the machine beside its figures, \
         and see the line on steal",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart() -> Pins {
        Pins { server_cpus: vec![0], generator_cpus: vec![1], warning: None }
    }

    #[test]
    fn one_cpu_is_bad_and_two_are_tolerable() {
        let count = |cpus: usize| {
            let cpus_allowed = (0..cpus).collect();
            judge_count(&Host { cpus, cpus_allowed, ..Host::default() }).grade
        };
        assert_eq!([1, 2, 4].map(count), [Grade::Bad, Grade::Tolerable, Grade::Good]);
    }

    #[test]
    fn threads_of_one_core_are_told() {
        let finding = judge_siblings(&apart(), &|_| vec![0, 1]);
        assert_eq!(finding.grade, Grade::Bad);
        assert!(finding.value.ends_with("CPUs 0 and 1"), "{finding:?}");
        assert_eq!(judge_siblings(&apart(), &|cpu| vec![cpu]).grade, Grade::Good);
    }

    #[test]
    fn a_split_that_overlaps_is_bad() {
        let pins = Pins { warning: Some("server and generator share CPU [0]".into()), ..apart() };
        assert_eq!(pinning(&pins).grade, Grade::Bad);
    }

    #[test]
    fn pinned_threads_run_where_they_should() {
        let allowed = pins::allowed_cpus().unwrap();
        let last = &allowed[allowed.len() - 1..];
        assert_eq!(on_cpus(last, rustix::thread::sched_getcpu).unwrap(), last[0]);
        assert!(on_cpus(last, speed).unwrap() > 1e6);
    }

    #[test]
    fn a_governor_that_changes_the_clock_is_told() {
        let judge = |names: &[&str], virtualised| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            judge_governor(&names, virtualised).grade
        };
        assert_eq!(judge(&["performance"], false), Grade::Good);
        assert_eq!(judge(&["powersave"], false), Grade::Tolerable);
        assert_eq!(judge(&["performance", "powersave"], false), Grade::Tolerable);
        assert_eq!(judge(&[], true), Grade::Good);
    }
}
