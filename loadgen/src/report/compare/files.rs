//! The files of a comparison, made from its result: pages, tables and charts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{cells_csv, figures, html, markdown, trials_csv};
use crate::experiment::record::Comparison;

/// Folder of the charts in the folder of the result.
const CHARTS: &str = "charts";

/// Writes `report.html`, `report.md`, `cells.csv`, `trials.csv` and one SVG for each chart to
/// `folder`, each whole or not at all. Returns the paths of the four files.
///
/// # Errors
/// A chart that cannot be drawn, a file that cannot be written.
pub fn write(comparison: &Comparison, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let figures = figures(comparison).map_err(io::Error::other)?;
    let files = [
        ("report.html", html(comparison, &figures)),
        ("report.md", markdown(comparison)),
        ("cells.csv", cells_csv(comparison)),
        ("trials.csv", trials_csv(comparison)),
    ];
    let charts = folder.join(CHARTS);
    fs::create_dir_all(&charts)?;
    for chart in figures.iter().flat_map(super::Figures::charts) {
        replace(&charts.join(format!("{}.svg", chart.name)), &chart.standalone())?;
    }
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        replace(&path, &text)?;
        written.push(path);
    }
    Ok(written)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let about =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, text).map_err(about)?;
    fs::rename(&temporary, path).map_err(about)
}
