//! The upload clients on Node.js, Deno and Bun: every byte of what they upload is compared.
//!
//! `npm ci` installs the runtimes where they are missing. Where that is impossible the tests say so
//! and pass, unless `CI` is set.

mod runtimes;

use std::path::Path;
use std::time::Duration;

use loadgen::engine::StopFlag;
use loadgen::experiment::client::{Checked, Task, Upload, check};
use loadgen::experiment::contender::Allowance;
use loadgen::experiment::pins;
use loadgen::experiment::preflight::NotReady;
use loadgen::scenario::{Scenario, Suite};
use runtimes::{bun, deno, node};
use server_contract::{Program, Result};

/// One test for each client.
macro_rules! clients {
    ($($name:ident: $program:expr => $framing:literal;)*) => {
        $(#[test]
        fn $name() -> Result<()> {
            let Some(program) = $program? else { return Ok(()) };
            uploads(&program, $framing)
        })*
    };
}

clients! {
    node_streams: node("upload-client") => "chunked";
    node_sends_a_blob: node("upload-client-blob") => "content-length";
    deno_streams: deno("upload-client") => "chunked";
    bun_sends_a_buffer: bun("upload-client-buffer") => "content-length";
    bun_sends_a_file: bun("upload-client-file") => "content-length";
    deno_runs_the_file_of_node: deno("../node/upload-client") => "chunked";
    bun_runs_the_file_of_node: bun("../node/upload-client") => "chunked";
}

fn scenario() -> Scenario {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("data");
    let suite = Suite::load(None, &data).expect("the built-in suite");
    suite.scenario("upload-1kb").expect("the scenario").clone()
}

/// Content that is nowhere the same for long.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

fn upload(program: &Program, length: usize) -> Result<Checked, NotReady> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let upload = Upload {
        body: content(length),
        file: folder.path().join("file.bin"),
        timeout: Duration::from_secs(30),
    };
    let cpus = pins::allowed_cpus().expect("the CPUs");
    let command = |task: &Task, port: u16| {
        let mut command = program.command();
        command.env("HOST", "127.0.0.1").env("PORT", port.to_string()).envs(task.env());
        Ok(command)
    };
    let allowance = Allowance { cpus: &cpus, cpu_quota: None };
    check(&scenario(), upload, command, allowance, &StopFlag::new())
}

/// A file of one byte, one that is one piece for all, and one that is several for all.
fn uploads(program: &Program, framing: &str) -> Result<()> {
    for length in [1, 1_095, 3_000_001] {
        let checked = upload(program, length)?;
        assert_eq!(checked.shape.body_bytes, length);
        assert_eq!(checked.shape.framing, framing, "{length} bytes");
        assert_eq!(checked.shape.content_type.as_deref(), Some("text/plain"));
    }
    Ok(())
}
