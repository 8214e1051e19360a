//! The loopback: every request of a comparison goes through it.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::{quantile, read};
use crate::check::finding::{Finding, Grade};
use crate::experiment::pins::{self, Pins};
use crate::experiment::pressure::netstat;
use crate::report::units;

/// How long bytes go to and fro, and how long they stream.
const TIME: Duration = Duration::from_millis(250);
/// Bound on everything that is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of one write of the stream.
const BLOCK: usize = 64 * 1024;

/// What was measured.
struct Measured {
    p50_us: f64,
    p99_us: f64,
    mb_per_s: f64,
    retransmitted: u64,
}

/// All lines.
pub(super) fn look(pins: &Pins) -> Vec<Finding> {
    let mtu = read("/sys/class/net/lo/mtu").and_then(|mtu| mtu.parse().ok());
    let measured = measure(pins).map_or_else(
        |error| {
            Finding::new("loopback", Grade::Bad, format!("127.0.0.1 does not work: {error}"))
                .advise("bring the interface up: ip link set lo up")
        },
        |measured| judge_loopback(&measured, mtu),
    );
    let control = read("/proc/sys/net/ipv4/tcp_congestion_control");
    vec![measured, judge_congestion(control.as_deref())]
}

fn measure(pins: &Pins) -> io::Result<Measured> {
    let before = retransmitted();
    let (mut round_trips, mb_per_s) = (round_trips_us(pins)?, stream(pins)?);
    Ok(Measured {
        p50_us: quantile(&mut round_trips, 0.5),
        p99_us: quantile(&mut round_trips, 0.99),
        mb_per_s,
        retransmitted: retransmitted().saturating_sub(before),
    })
}

fn retransmitted() -> u64 {
    netstat(&read("/proc/net/snmp").unwrap_or_default(), "Tcp", "RetransSegs")
}

/// A connected pair, with bounds on all waiting.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect_timeout(&listener.local_addr()?, TIMEOUT)?;
    let (server, _) = listener.accept()?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
    }
    Ok((client, server))
}

/// Times of one byte to the server's CPU and back, µs.
fn round_trips_us(pins: &Pins) -> io::Result<Vec<f64>> {
    let (mut client, mut server) = pair()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pins::pin_this_thread(&pins.server_cpus)?;
            let mut byte = [0];
            while server.read(&mut byte)? > 0 {
                server.write_all(&byte)?;
            }
            io::Result::Ok(())
        });
        let client = scope.spawn(move || {
            pins::pin_this_thread(&pins.generator_cpus)?;
            let (began, mut times, mut byte) = (Instant::now(), Vec::new(), [7]);
            while began.elapsed() < TIME {
                let sent = Instant::now();
                client.write_all(&byte)?;
                client.read_exact(&mut byte)?;
                times.push(sent.elapsed().as_secs_f64() * 1e6);
            }
            Ok(times)
        });
        client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What one connection carries, MB (10^6 bytes) each second.
fn stream(pins: &Pins) -> io::Result<f64> {
    let (mut client, mut server) = pair()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            pins::pin_this_thread(&pins.server_cpus)?;
            let (began, mut bytes, mut block) = (Instant::now(), 0.0, vec![0; BLOCK]);
            loop {
                let count = server.read(&mut block)?;
                if count == 0 {
                    return Ok(bytes / began.elapsed().as_secs_f64() / 1e6);
                }
                let count = count as f64;
                bytes += count;
            }
        });
        scope.spawn(move || {
            pins::pin_this_thread(&pins.generator_cpus)?;
            let (began, block) = (Instant::now(), vec![0; BLOCK]);
            while began.elapsed() < TIME {
                client.write_all(&block)?;
            }
            io::Result::Ok(())
        });
        server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn judge_loopback(measured: &Measured, mtu: Option<u32>) -> Finding {
    let Measured { p50_us, p99_us, mb_per_s, retransmitted } = *measured;
    let mut value = format!(
        "a byte goes and returns in {p50_us:.0} µs (p50), {p99_us:.0} µs (p99); {} MB/s on one \
         connection",
        units::count(mb_per_s.round().max(0.0) as u64)
    );
    let mut grade = Grade::at_most(p50_us, 60.0, 250.0)
        .max(Grade::at_most(p99_us, 500.0, 5_000.0))
        .max(Grade::at_least(mb_per_s, 500.0, 100.0));
    if retransmitted > 0 {
        value.push_str(&format!("; {retransmitted} segments were lost and sent again"));
        grade = grade.max(Grade::Tolerable);
    }
    if let Some(mtu) = mtu.filter(|mtu| *mtu < 16_384) {
        value.push_str(&format!("; its MTU is {mtu}, not 65536"));
        grade = grade.max(Grade::Tolerable);
    }
    Finding::new("loopback", grade, value)
        .figure("round_trip_us_p50", p50_us)
        .figure("round_trip_us_p99", p99_us)
        .figure("mb_per_s", mb_per_s)
        .figure("retransmitted", retransmitted as f64)
        .advise(
            "something delays it: look at `tc qdisc show dev lo`, firewall rules (nft list ruleset), \
             and deep sleep of the CPUs",
        )
}

fn judge_congestion(control: Option<&str>) -> Finding {
    let (grade, value) = match control {
        Some(name @ ("cubic" | "reno")) => (Grade::Good, name.to_owned()),
        Some(name) => (Grade::Tolerable, format!("{name}, which may pace what is sent")),
        None => (Grade::Tolerable, "not told".to_owned()),
    };
    Finding::new("congestion control", grade, value).advise(
        "the generator chooses Reno on the loopback, but the runtimes' uploads and large answers are \
         paced there: sysctl -w net.ipv4.tcp_congestion_control=cubic",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Measured =
        Measured { p50_us: 20.0, p99_us: 60.0, mb_per_s: 3_000.0, retransmitted: 0 };

    #[test]
    fn a_slow_or_lossy_loopback_is_told() {
        assert_eq!(judge_loopback(&FAST, Some(65_536)).grade, Grade::Good);
        let delayed = Measured { p50_us: 10_000.0, p99_us: 11_000.0, ..FAST };
        assert_eq!(judge_loopback(&delayed, None).grade, Grade::Bad);
        let lossy = judge_loopback(&Measured { retransmitted: 3, ..FAST }, Some(1_500));
        assert_eq!(lossy.grade, Grade::Tolerable);
        assert!(lossy.value.contains("3 segments were lost"), "{lossy:?}");
        assert!(lossy.value.contains("MTU is 1500"), "{lossy:?}");
    }

    #[test]
    fn pacing_is_told() {
        assert_eq!(judge_congestion(Some("cubic")).grade, Grade::Good);
        assert_eq!(judge_congestion(Some("bbr")).grade, Grade::Tolerable);
    }

    #[test]
    fn the_loopback_of_this_machine_is_measured() {
        let allowed = pins::allowed_cpus().unwrap();
        let pins = Pins { server_cpus: allowed.clone(), generator_cpus: allowed, warning: None };
        let measured = measure(&pins).unwrap();
        assert!(measured.p50_us > 0.0 && measured.p50_us <= measured.p99_us);
        assert!(measured.mb_per_s > 0.0);
    }
}
