//! The page in a browser: nothing overlaps, is cut off or runs over the edge, on a phone and on a
//! desk. Needs `chromium`; without it the test says so, and fails only where `CI` is set.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::fixture::comparison;
use super::{folder, report};

/// A browser that takes longer than this hangs.
const HANGS: Duration = Duration::from_secs(120);

fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.find(|path| path.is_file())
}

/// A page of `width` px that holds `report` in a frame and measures it.
fn wrapper(report: &str, width: u32) -> String {
    let inner = report.replace('&', "&amp;").replace('<', "&lt;");
    let script = include_str!("measure.js");
    format!(
        "<!DOCTYPE html><meta charset=utf-8><body style=\"margin:0\"><pre id=found hidden></pre>\
         <iframe style=\"border:0;width:{width}px;height:2400px\"></iframe>\
         <textarea id=page hidden>{inner}</textarea><script>{script}\n\
         frame.srcdoc = document.getElementById('page').value</script>"
    )
}

/// Runs the browser on `page`; its standard output and its log.
fn run(browser: &Path, page: &Path, more: &[&str]) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(HANGS) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("the browser still runs after {HANGS:?}");
    };
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn nothing_overlaps_on_a_phone_and_on_a_desk() {
    let Some(browser) = browser() else {
        assert!(std::env::var_os("CI").is_none(), "chromium is not on PATH");
        eprintln!("skipped: chromium is not on PATH");
        return;
    };
    let folder = folder(&comparison(|_, _| 1.0));
    report(folder.path());
    let report = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for width in [400, 1400] {
        let page = folder.path().join(format!("frame-{width}.html"));
        fs::write(&page, wrapper(&report, width)).unwrap();
        let size = format!("--window-size={width},2400");
        let (dom, log) = run(&browser, &page, &["--dump-dom", &size]);
        assert!(!log.contains("CONSOLE"), "{log}");
        let found = dom.split("hidden=\"\">").nth(1).and_then(|rest| rest.split("</pre>").next());
        let found = found.unwrap_or_else(|| panic!("no measurements: {log}"));
        let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let found: Value = serde_json::from_str(&found).unwrap();
        for trouble in ["overflow", "overlapping", "cut"] {
            let list = found[trouble].as_array().unwrap();
            assert!(list.is_empty(), "{trouble} at {width} px: {list:#?}");
        }
        assert!(found["texts"].as_u64().unwrap() > 500, "{found}");
        assert_eq!(found["pictures"], 4 * 12 + 7 * 2);
        assert!(found["smallest"].as_f64().unwrap() >= 8.5, "{found}");
        screenshot(&browser, &page, width, &size);
    }
}

/// Keeps a picture of the page for people: `target/tmp/report-WIDTH.png`.
fn screenshot(browser: &Path, page: &Path, width: u32, size: &str) {
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{width}.png"));
    let _ = fs::remove_file(&picture);
    let flag = format!("--screenshot={}", picture.display());
    let (_, log) = run(browser, page, &[&flag, size]);
    let bytes = fs::metadata(&picture).map_or(0, |file| file.len());
    assert!(bytes > 20_000, "an empty picture of {bytes} bytes: {log}");
}
