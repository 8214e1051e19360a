//! How long was measured, in words.

use crate::experiment::record::{Manifest, PlannedWindow};
use crate::report::units;

/// The length of every window: `1.5 s`, or what stands for windows that differ.
pub fn of_all(manifest: &Manifest) -> String {
    let same = |window: &PlannedWindow| {
        window.requests.is_none() && (window.duration_s - manifest.duration_s).abs() < 1e-9
    };
    if manifest.windows.iter().all(same) {
        format!("{} s", manifest.duration_s)
    } else {
        "the number of requests or the time told with its scenario".into()
    }
}

/// The window of a scenario: `5,000,000 requests (node-fastify 1,000,000 requests), half a CPU each`.
/// Nothing where it is that of all scenarios.
pub fn of_scenario(manifest: &Manifest, scenario: &str) -> Option<String> {
    let of_scenario: Vec<_> = manifest.windows.iter().filter(|w| w.scenario == scenario).collect();
    let (first, rest) = of_scenario.split_first()?;
    let general = length(first);
    let mut others: Vec<(String, Vec<&str>)> = Vec::new();
    for window in rest.iter().filter(|window| length(window) != general) {
        let own = length(window);
        match others.iter_mut().find(|(length, _)| *length == own) {
            Some((_, names)) => names.push(&window.contender),
            None => others.push((own, vec![&window.contender])),
        }
    }
    let plain = first.requests.is_none()
        && others.is_empty()
        && (first.duration_s - manifest.duration_s).abs() < 1e-9;
    if plain && first.cpu_quota.is_none() {
        return None;
    }
    let others: Vec<String> = others
        .into_iter()
        .map(|(length, names)| format!("{} {length}", names.join(", ")))
        .collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
    let quota = first
        .cpu_quota
        .map_or_else(String::new, |cpus| format!("; every contender limited to {cpus} CPUs"));
    Some(format!("{general}{others}{quota}"))
}

fn length(window: &PlannedWindow) -> String {
    match window.requests {
        Some(count) => units::counted(count.get(), "request"),
        None => format!("{} s", (window.duration_s * 1e3).round() / 1e3),
    }
}

/// The sentence of a result that was scaled.
pub fn scaled(manifest: &Manifest) -> Option<String> {
    manifest.is_scaled().then(|| {
        let share = super::percent(manifest.scale * 100.0);
        format!("Scaled: numbers of requests and lengths are {share} of the profile's.")
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    fn window(contender: &str, requests: Option<u64>, duration_s: f64) -> PlannedWindow {
        PlannedWindow {
            scenario: "hello".into(),
            contender: contender.into(),
            requests: requests.and_then(NonZeroU64::new),
            duration_s,
            cpu_quota: None,
        }
    }

    fn manifest(windows: Vec<PlannedWindow>) -> Manifest {
        Manifest { duration_s: 1.5, windows, scale: 1.0, ..Manifest::default() }
    }

    #[test]
    fn windows_that_differ_are_told_with_their_contender() {
        let counted = manifest(vec![
            window("rust", Some(5_000_000), 50.0),
            window("node-fastify", Some(1_000_000), 10.0),
            window("bun-elysia", Some(1_000_000), 10.0),
            window("slow", None, 60.0),
        ]);
        assert_eq!(
            of_scenario(&counted, "hello").unwrap(),
            "5,000,000 requests (node-fastify, bun-elysia 1,000,000 requests; slow 60 s)"
        );
        assert!(of_all(&counted).starts_with("the number of requests"));
        let plain = manifest(vec![window("rust", None, 1.5)]);
        assert_eq!(of_scenario(&plain, "hello"), None);
        assert_eq!(of_all(&plain), "1.5 s");
        assert_eq!(scaled(&plain), None);
        let half = PlannedWindow { cpu_quota: Some(0.5), ..window("rust", None, 60.0) };
        let half = Manifest { scale: 0.02, ..manifest(vec![half]) };
        let text = of_scenario(&half, "hello").unwrap();
        assert_eq!(text, "60 s; every contender limited to 0.5 CPUs");
        assert!(scaled(&half).unwrap().contains("2.00 %"));
    }
}
