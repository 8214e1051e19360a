//! What is measured in which order: blocks over all cells, shuffled with a seed.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::scenario::Profile;

/// Time that a trial takes besides its load: start, check, stop.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(700);

/// One scenario on one contender at one number of connections.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// Scenario name.
    pub scenario: String,
    /// Contender name.
    pub contender: String,
    /// Connections kept open.
    pub connections: u32,
}

/// One measurement of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// What is measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// The block it belongs to, from 0; every cell has one trial in each block.
    pub block: u32,
}

/// All trials in the order they run: each block holds every cell once, in an order of its own. The
/// contenders of one scenario at one number of connections follow each other, so that the machine is
/// nearly the same for those that are compared: its drift falls out of their ratio within the block.
pub fn order(cells: &[Cell], trials: u32, seed: u64) -> Vec<PlannedTrial> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut tables: BTreeMap<(&str, u32), Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        tables.entry((&cell.scenario, cell.connections)).or_default().push(cell);
    }
    let mut tables: Vec<Vec<&Cell>> = tables.into_values().collect();
    let mut planned = Vec::with_capacity(cells.len() * trials as usize);
    for block in 0..trials {
        tables.shuffle(&mut random);
        for table in &mut tables {
            table.shuffle(&mut random);
            planned.extend(table.iter().map(|&cell| PlannedTrial { cell: cell.clone(), block }));
        }
    }
    planned
}

/// How long one trial takes, about: one with this window under `profile`.
pub fn estimate(profile: &Profile, window: Duration) -> Duration {
    // Most contenders are steady long before the longest warm-up ends.
    let warmup = profile.warmup + profile.warmup_max.saturating_sub(profile.warmup) / 3;
    warmup + window + TRIAL_OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cells() -> Vec<Cell> {
        let cell = |contender: &str, connections| Cell {
            scenario: "hello".into(),
            contender: contender.into(),
            connections,
        };
        vec![cell("rust", 50), cell("node", 50), cell("bun", 50), cell("rust", 100)]
    }

    #[test]
    fn every_block_has_every_cell_once() {
        let planned = order(&cells(), 5, 1);
        assert_eq!(planned.len(), 20);
        for (block, chunk) in (0..).zip(planned.chunks(4)) {
            let distinct: BTreeSet<_> = chunk.iter().map(|trial| &trial.cell).collect();
            assert_eq!(distinct.len(), 4);
            assert!(chunk.iter().all(|trial| trial.block == block));
        }
    }

    #[test]
    fn contenders_that_are_compared_follow_each_other() {
        let mut cells = cells();
        cells.extend(["rust", "node"].map(|contender| Cell {
            scenario: "https".into(),
            contender: contender.into(),
            connections: 50,
        }));
        for block in order(&cells, 5, 1).chunks(cells.len()) {
            let tables: Vec<(&str, u32)> = block
                .iter()
                .map(|trial| (trial.cell.scenario.as_str(), trial.cell.connections))
                .collect();
            let changes = tables.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(changes, 2, "three tables, each in one piece: {tables:?}");
        }
    }

    #[test]
    fn the_seed_alone_decides_the_order() {
        assert_eq!(order(&cells(), 5, 1), order(&cells(), 5, 1));
        assert_ne!(order(&cells(), 5, 1), order(&cells(), 5, 2));
        let planned = order(&cells(), 5, 1);
        assert!(planned.chunks(4).any(|block| block[0].cell != planned[0].cell), "rotated");
    }
}
