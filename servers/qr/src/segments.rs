//! Splits a text into the segments npm qrcode chooses: the cheapest path of modes over its runs of
//! one character class.
//!
//! A port of `lib/core/segments.js` of npm [`qrcode`] 1.5.4 (MIT, Ryan Day and contributors) and of
//! the order in which its `dijkstrajs` visits nodes, because that order decides between paths of
//! equal cost.
//!
//! npm's graph has a layer per run and a node per mode the run can take. Its edge weights are not
//! quite the true costs: staying in a mode is weighed by the bits that the run adds to `lastCount`
//! characters, and `lastCount` is 0 or the length of the *same* run, never what was really
//! collected. Every code must come out as npm's does, so the weights are kept as they are.
//!
//! Kanji mode is off, as it is in npm without `toSJISFunc`.
//!
//! [`qrcode`]: https://www.npmjs.com/package/qrcode

use std::ops::Range as Span;

use crate::version::{Load, Range, Version};

/// How the characters of a segment are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Digits: three in ten bits.
    Numeric,
    /// Digits, capitals and nine signs: two in eleven bits.
    Alphanumeric,
    /// UTF-8, without an ECI header.
    Byte,
}

impl Mode {
    /// The modes a run of this class can take, in npm's order.
    fn choices(self) -> &'static [Self] {
        const ALL: [Mode; 3] = [Mode::Numeric, Mode::Alphanumeric, Mode::Byte];
        &ALL[self as usize..]
    }

    /// Bits of `length` characters (bytes in byte mode), without the header.
    pub(crate) fn payload_bits(self, length: usize) -> usize {
        match self {
            Self::Numeric => length / 3 * 10 + [0, 4, 7][length % 3],
            Self::Alphanumeric => length / 2 * 11 + length % 2 * 6,
            Self::Byte => length * 8,
        }
    }

    /// Bits of a segment's header: mode indicator and character count.
    pub(crate) fn header_bits(self, range: Range) -> usize {
        const COUNT_BITS: [[u8; 3]; 3] = [[10, 12, 14], [9, 11, 13], [8, 16, 16]];
        4 + usize::from(COUNT_BITS[self as usize][range as usize])
    }
}

/// A part of the text in one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) mode: Mode,
    /// The bytes of the text.
    pub(crate) span: Span<usize>,
}

/// The longest run of bytes of one class; its class is the mode that packs it best.
struct Run {
    class: Mode,
    length: usize,
    /// For each mode taken here, which mode the run before takes on the cheapest path.
    previous: [Mode; 3],
}

/// Finds segments; keeps its lists from text to text, so that a request allocates none.
#[derive(Default)]
pub(crate) struct Segmenter {
    runs: Vec<Run>,
    segments: Vec<Segment>,
}

impl Segmenter {
    /// The segments of a text, and the smallest version that holds them, or `None` if none does.
    pub(crate) fn segment(&mut self, text: &str) -> Option<(Version, &[Segment])> {
        self.split(text.as_bytes());
        // npm weighs the paths by the headers of the version that the raw runs would need, not of
        // the final one.
        let mut raw = Load::default();
        for run in &self.runs {
            raw.add(run.class, run.length);
        }
        let range = raw.smallest_version().map_or(Range::To40, Version::range);
        let last = find_path(&mut self.runs, range);
        self.collect(last, text.len());

        let mut load = Load::default();
        for segment in &self.segments {
            load.add(segment.mode, segment.span.len());
        }
        load.smallest_version().map(|version| (version, &*self.segments))
    }

    fn split(&mut self, text: &[u8]) {
        self.runs.clear();
        for same in text.chunk_by(|a, b| class_of(*a) == class_of(*b)) {
            let class = class_of(same[0]);
            self.runs.push(Run { class, length: same.len(), previous: [class; 3] });
        }
    }

    /// Walks the path back from the mode of the last run; neighbours of one mode become one
    /// segment.
    fn collect(&mut self, last: Mode, text_len: usize) {
        self.segments.clear();
        let mut mode = last;
        let mut end = text_len;
        for run in self.runs.iter().rev() {
            let start = end - run.length;
            match self.segments.last_mut() {
                Some(segment) if segment.mode == mode => segment.span.start = start,
                _ => self.segments.push(Segment { mode, span: start..end }),
            }
            mode = run.previous[mode as usize];
            end = start;
        }
        self.segments.reverse();
    }
}

/// A node of the current layer: a run in one of its modes.
#[derive(Clone, Copy)]
struct Node {
    mode: Mode,
    cost: usize,
}

/// Notes the cheapest way to each mode of each run, and returns the mode of the last.
///
/// Dijkstra's algorithm on layers, without its queue: nodes leave the queue by cost, and where
/// costs are equal in the order they were queued, which is the order their own predecessors left
/// it. So a layer's nodes are kept in the order they leave, and of equally cheap predecessors the
/// first wins.
fn find_path(runs: &mut [Run], range: Range) -> Mode {
    let mut layer = [Node { mode: Mode::Byte, cost: 0 }; 3];
    let mut len = 0;
    for run in runs {
        let before = layer;
        let before = &before[..len];
        let choices = run.class.choices();
        // `(cost, place of the predecessor, mode)` sorts nodes into the order they leave the queue.
        let mut found = [(usize::MAX, 0, Mode::Byte); 3];
        for (place, &mode) in choices.iter().enumerate() {
            let switch = mode.payload_bits(run.length) + mode.header_bits(range);
            // `lastCount`: the first mode finds it at 0; then the switches drawn from there have
            // set it to the length.
            let carried = if place == 0 { 0 } else { run.length };
            let stay = mode.payload_bits(carried + run.length) - mode.payload_bits(carried);
            let (cost, from) = before
                .iter()
                .enumerate()
                .map(|(i, node)| (node.cost + if node.mode == mode { stay } else { switch }, i))
                .min()
                .unwrap_or((switch, 0));
            found[place] = (cost, from, mode);
            run.previous[mode as usize] = before.get(from).map_or(mode, |node| node.mode);
        }
        len = choices.len();
        let found = &mut found[..len];
        found.sort_by_key(|&(cost, from, mode)| (cost, from, mode as usize));
        for (node, &mut (cost, _, mode)) in layer.iter_mut().zip(found) {
            *node = Node { mode, cost };
        }
    }
    layer[0].mode
}

/// The class of a byte of UTF-8; characters outside ASCII are bytes.
fn class_of(byte: u8) -> Mode {
    CLASSES[usize::from(byte)]
}

const CLASSES: [Mode; 256] = {
    let mut classes = [Mode::Byte; 256];
    let alphanumeric = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
    let mut i = 0;
    while i < alphanumeric.len() {
        classes[alphanumeric[i] as usize] = Mode::Alphanumeric;
        i += 1;
    }
    let mut digit = b'0';
    while digit <= b'9' {
        classes[digit as usize] = Mode::Numeric;
        digit += 1;
    }
    classes
};
