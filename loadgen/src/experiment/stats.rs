//! Statistics over trials: medians, and bootstrap intervals of medians and of their ratio.
//!
//! The unit of observation is the trial, never the request: requests of one trial share its process,
//! its memory layout and its minute, so they are no independent repetitions.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// Resamples of a bootstrap (Efron and Tibshirani 1993, section 13.3, ask for 1,000 or more).
const RESAMPLES: usize = 4_000;
/// Medians closer than this are called a tie whatever the interval says.
pub const NOISE_THRESHOLD: f64 = 0.02;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// 2.5 % quantile of the resampled statistic.
    pub low: f64,
    /// 97.5 % quantile of the resampled statistic.
    pub high: f64,
}

/// The median; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// 95 % percentile-bootstrap interval of the median; `None` for fewer than three values, which
/// cannot carry one.
pub fn median_interval(values: &[f64], seed: u64) -> Option<Interval> {
    if values.len() < 3 {
        return None;
    }
    let mut random = SmallRng::seed_from_u64(seed);
    let mut drawn = vec![0.0; values.len()];
    Some(interval((0..RESAMPLES).map(|_| resampled_median(values, &mut drawn, &mut random))))
}

/// 95 % percentile-bootstrap interval of `median(of) / median(to)`, both resampled on their own: for
/// trials of different runs, which have no blocks in common.
pub fn ratio_interval(of: &[f64], to: &[f64], seed: u64) -> Option<Interval> {
    if of.len() < 3 || to.len() < 3 {
        return None;
    }
    let mut random = SmallRng::seed_from_u64(seed);
    let (mut drawn_of, mut drawn_to) = (vec![0.0; of.len()], vec![0.0; to.len()]);
    Some(interval((0..RESAMPLES).map(|_| {
        resampled_median(of, &mut drawn_of, &mut random)
            / resampled_median(to, &mut drawn_to, &mut random)
    })))
}

/// Whether ratios, one of each block, show a difference: the interval of their median excludes 1 and
/// the median differs from it by more than `least`, which is [`NOISE_THRESHOLD`] or what is known to
/// be noise on the machine. Fewer than three show nothing.
pub fn differ(ratios: &[f64], least: f64, seed: u64) -> bool {
    (median(ratios) - 1.0).abs() > least
        && median_interval(ratios, seed).is_some_and(|i| i.low > 1.0 || i.high < 1.0)
}

/// Spread of the ratio of two trials of the same contender that ran one after the other, as those of
/// a block do: the median size of the logarithms of the ratios in `values`, times 1.4826, which is the
/// standard deviation where they are normal. A slow drift does not count, and a rare jump hardly, as
/// in a median over blocks. `None` for fewer than three values, and where one is not positive.
pub fn ratio_spread(values: &[f64]) -> Option<f64> {
    let sizes: Vec<f64> = values.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs()).collect();
    (sizes.len() >= 2 && sizes.iter().all(|size| size.is_finite())).then(|| 1.4826 * median(&sizes))
}

/// The difference, as a share, that the median over `trials` ratios of such a spread exceeds by chance
/// in one of twenty cases: 1.96 standard errors, where that of a median is √(π/2) of that of a mean.
/// Never less than [`NOISE_THRESHOLD`], under which everything is called a tie.
pub fn smallest_difference(ratio_spread: f64, trials: u32) -> f64 {
    let of_median = (std::f64::consts::FRAC_PI_2 / f64::from(trials.max(1))).sqrt();
    (1.96 * of_median * ratio_spread).max(NOISE_THRESHOLD)
}

/// Positions of the values whose modified z-score exceeds 3.5 (Iglewicz and Hoaglin 1993).
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = median(&deviations);
    // Below five values, or with a spread of nothing, no value can be called an outlier.
    if values.len() < 5 || mad <= middle.abs() * 1e-3 {
        return Vec::new();
    }
    (0..values.len()).filter(|&i| 0.6745 * deviations[i] / mad > 3.5).collect()
}

fn resampled_median(values: &[f64], drawn: &mut [f64], random: &mut SmallRng) -> f64 {
    for slot in drawn.iter_mut() {
        *slot = values[random.random_range(0..values.len())];
    }
    median(drawn)
}

fn interval(statistics: impl Iterator<Item = f64>) -> Interval {
    let mut sorted: Vec<f64> = statistics.collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    Interval { low: sorted[last * 25 / 1000], high: sorted[last * 975 / 1000] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).to_bits(), 2.5_f64.to_bits());
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn an_interval_of_five_values_spans_them() {
        let interval = median_interval(&[100.0, 101.0, 99.0, 104.0, 98.0], 7).unwrap();
        assert!(interval.low >= 98.0 && interval.low <= 99.0, "{interval:?}");
        assert!(interval.high >= 101.0 && interval.high <= 104.0, "{interval:?}");
        assert_eq!(median_interval(&[1.0, 2.0], 7), None);
    }

    #[test]
    fn the_interval_covers_the_true_median_about_as_often_as_it_says() {
        let mut random = SmallRng::seed_from_u64(3);
        let covered = (0..400)
            .filter(|&round| {
                // The sum of 12 uniform values is nearly normal, with mean 6.
                let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>();
                let values: Vec<f64> = (0..9).map(|_| normal()).collect();
                let interval = median_interval(&values, round).unwrap();
                interval.low <= 6.0 && 6.0 <= interval.high
            })
            .count();
        assert!((360..=400).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn clear_differences_are_told_apart_and_equal_ones_are_not() {
        let least = NOISE_THRESHOLD;
        assert!(differ(&[0.80, 0.81, 0.79, 0.805, 0.795], least, 1));
        assert!(!differ(&[0.80, 0.81, 0.79, 0.805, 0.795], 0.25, 1), "noise on this machine");
        assert!(!differ(&[1.0, 1.01, 0.99, 1.005, 0.995], least, 1));
        assert!(!differ(&[0.5, 0.51], least, 1), "two trials carry no interval");
        assert!(!differ(&[1.015; 5], least, 1), "1.5 % is under the noise threshold");
        assert!(!differ(&[], least, 1));
    }

    /// Trials of one contender with a spread of `sd` around 1, each followed by one of another that is
    /// `faster` times as fast.
    fn synthetic(trials: u32, sd: f64, faster: f64, random: &mut SmallRng) -> Vec<f64> {
        let mut trial = || {
            let sum = (0..12).map(|_| random.random::<f64>()).sum::<f64>();
            ((sum - 6.0) * sd).exp()
        };
        (0..trials).map(|_| faster * trial() / trial()).collect()
    }

    #[test]
    fn the_spread_of_ratios_is_that_of_neighbours_whatever_the_drift() {
        let mut random = SmallRng::seed_from_u64(5);
        let trials: Vec<f64> = (0..4_000)
            .map(|index| 1_000.0 * f64::from(index + 1) * synthetic(1, 0.03, 1.0, &mut random)[0])
            .skip(1_000)
            .collect();
        // Each value is a ratio itself, so its spread is √2 of a trial's, and that of two of them 2.
        let spread = ratio_spread(&trials).unwrap();
        assert!((spread / 0.06 - 1.0).abs() < 0.05, "{spread}");
        for few in [&[][..], &[1.0, 1.1], &[1.0, 0.0, 1.0]] {
            assert_eq!(ratio_spread(few), None);
        }
    }

    #[test]
    fn the_smallest_difference_is_what_chance_exceeds_in_one_of_twenty_cases() {
        let mut random = SmallRng::seed_from_u64(11);
        for (trials, sd) in [(5, 0.05), (9, 0.05), (15, 0.10)] {
            let least = smallest_difference(sd * std::f64::consts::SQRT_2, trials);
            let beyond = (0..4_000)
                .filter(|_| {
                    let ratios = synthetic(trials, sd, 1.0, &mut random);
                    median(&ratios).ln().abs() > least
                })
                .count();
            let share = beyond as f64 / 4_000.0;
            assert!((0.025..0.065).contains(&share), "{trials} trials of {sd}: {share}");
        }
        assert!((smallest_difference(0.0, 5) - NOISE_THRESHOLD).abs() < 1e-12);
    }

    #[test]
    fn rare_jumps_do_not_hide_what_a_median_shows() {
        let mut random = SmallRng::seed_from_u64(17);
        // One ratio in five is of trials between which the machine changed.
        let ratio = |random: &mut SmallRng| {
            let sd = if random.random::<f64>() < 0.2 { 0.2 } else { 0.035 };
            synthetic(1, sd / std::f64::consts::SQRT_2, 1.0, random)[0]
        };
        let mut at = 1.0;
        let trials: Vec<f64> = (0..2_000)
            .map(|_| {
                at *= ratio(&mut random);
                at
            })
            .collect();
        let least = smallest_difference(ratio_spread(&trials).unwrap(), 5);
        assert!(least < 0.06, "{least}");
        let beyond = (0..4_000)
            .filter(|_| {
                let ratios: Vec<f64> = (0..5).map(|_| ratio(&mut random)).collect();
                median(&ratios).ln().abs() > least
            })
            .count();
        assert!((100..320).contains(&beyond), "{beyond} of 4000");
    }

    #[test]
    fn twice_the_smallest_difference_is_shown_and_half_of_it_hardly_ever() {
        let mut random = SmallRng::seed_from_u64(13);
        let (trials, sd) = (9, 0.05);
        let least = smallest_difference(sd * std::f64::consts::SQRT_2, trials);
        let shown = |faster: f64, random: &mut SmallRng| {
            let rounds = 200;
            let shown = (0..rounds)
                .filter(|&round| differ(&synthetic(trials, sd, faster, random), least, round))
                .count();
            shown as f64 / rounds as f64
        };
        let (twice, half) =
            (shown(1.0 + 2.0 * least, &mut random), shown(1.0 + least / 2.0, &mut random));
        assert!(twice > 0.85, "{twice}");
        assert!(half < 0.35, "{half}");
    }

    #[test]
    fn one_value_far_from_the_others_is_an_outlier() {
        assert_eq!(outliers(&[100.0, 101.0, 99.0, 40.0, 100.5]), [3]);
        assert!(outliers(&[100.0, 101.0, 99.0, 98.0, 100.5]).is_empty());
        assert!(outliers(&[1.0, 1.0, 1.0, 1.0, 9.0]).is_empty());
    }
}
