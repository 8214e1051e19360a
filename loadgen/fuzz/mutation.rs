//! Inputs made of other inputs, for where libFuzzer cannot be had: no coverage guides them, but they
//! cost no build, and a seed gives the same ones again.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// Longest input made, bytes.
const LONGEST: usize = 32 * 1024;
/// Numbers at which counts and lengths go wrong.
const NUMBERS: [&str; 8] =
    ["0", "-1", "255", "65536", "4294967296", "18446744073709551615", "1e308", "0.1"];

/// Makes inputs without end.
pub(crate) struct Mutator {
    random: SmallRng,
    inputs: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// Mutations of `inputs`, of which there is one, with the words of a libFuzzer dictionary.
    pub(crate) fn new(seed: u64, inputs: Vec<Vec<u8>>, dictionary: &str) -> Self {
        let words = dictionary.lines().filter_map(word);
        let words = words.chain(NUMBERS.map(|number| number.as_bytes().to_vec())).collect();
        Self { random: SmallRng::seed_from_u64(seed), inputs, words }
    }

    /// The next input.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let mut bytes = pick(&mut self.random, &self.inputs).clone();
        for _ in 0..1 << self.random.random_range(0..4) {
            self.mutate(&mut bytes);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        let random = &mut self.random;
        let at = random.random_range(0..=bytes.len());
        let with = match random.random_range(0..9) {
            0 => {
                let length = 1 << random.random_range(0..10);
                bytes.drain(at..bytes.len().min(at + length));
                return;
            }
            1 => {
                bytes.truncate(at);
                return;
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.random_range(0..8);
                }
                return;
            }
            3 => vec![random.random()],
            4 | 5 => pick(random, &self.words).clone(),
            // A piece of itself.
            6 | 7 => {
                let from = random.random_range(0..=bytes.len());
                let length = (1 << random.random_range(0..10)).min(bytes.len() - from);
                bytes[from..from + length].to_vec()
            }
            _ => {
                let other = pick(random, &self.inputs);
                other[random.random_range(0..=other.len())..].to_vec()
            }
        };
        let replaced = if random.random() { with.len() } else { 0 };
        bytes.splice(at..bytes.len().min(at + replaced), with);
    }
}

fn pick<'a>(random: &mut SmallRng, of: &'a [Vec<u8>]) -> &'a Vec<u8> {
    &of[random.random_range(0..of.len())]
}

/// The word of a line `"word"`, in which `\xNN`, `\"` and `\\` are escapes.
fn word(line: &str) -> Option<Vec<u8>> {
    let quoted = line.trim().strip_prefix('"')?.strip_suffix('"')?;
    let (mut bytes, mut rest) = (Vec::new(), quoted.as_bytes());
    while let [first, after @ ..] = rest {
        let (byte, left) = match (first, after) {
            (b'\\', [b'x', high, low, left @ ..]) => {
                let digits = [*high, *low];
                (u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?, left)
            }
            (b'\\', [escaped, left @ ..]) => (*escaped, left),
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = left;
    }
    Some(bytes)
}
