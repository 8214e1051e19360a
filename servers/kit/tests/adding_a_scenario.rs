//! The walk-through in `docs/adding-a-scenario.md` is true: its code, put where it says, builds and
//! answers.

use std::{
    error::Error,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[test]
fn the_walk_through_makes_a_server() -> Result<()> {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let page = fs::read_to_string(real.join("docs/adding-a-scenario.md"))?;
    let workspace = workspace_with_primes(&real, &page)?;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target folder")?;
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "-p", "server-primes", "--target-dir"])
        .arg(target)
        .current_dir(&workspace)
        .status()?;
    assert!(built.success(), "the page's code does not build");

    let server = Server::start(&target.join("debug/server-primes"))?;
    let good = server.ask("/primes/100")?;
    assert!(good.starts_with("HTTP/1.1 200 "), "{good}");
    assert!(good.ends_with(r#"{"limit":100,"primes":25}"#), "{good}");
    let bad = server.ask("/primes/many")?;
    assert!(bad.starts_with("HTTP/1.1 400 "), "{bad}");
    Ok(())
}

/// A workspace beside the real one, with links to its packages and the page's package added.
fn workspace_with_primes(real: &Path, page: &str) -> Result<PathBuf> {
    // The same folder each time, so that only the first build takes long.
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding-a-scenario");
    if workspace.exists() {
        fs::remove_dir_all(&workspace)?;
    }
    fs::create_dir_all(workspace.join("servers/primes/src"))?;
    for server in fs::read_dir(real.join("servers"))? {
        let server = server?;
        symlink(server.path(), workspace.join("servers").join(server.file_name()))?;
    }
    for folder in ["loadgen", "clients"] {
        if real.join(folder).exists() {
            symlink(real.join(folder), workspace.join(folder))?;
        }
    }
    let manifest = fs::read_to_string(real.join("Cargo.toml"))?;
    let extended = manifest.replacen("members = [", "members = [\n    \"servers/primes\",", 1);
    assert_ne!(manifest, extended, "the workspace has no members");
    fs::write(workspace.join("Cargo.toml"), extended)?;
    fs::copy(real.join("Cargo.lock"), workspace.join("Cargo.lock"))?;
    for file in ["servers/primes/Cargo.toml", "servers/primes/src/main.rs"] {
        fs::write(workspace.join(file), code_of(page, file)?)?;
    }
    Ok(workspace)
}

/// The first block of code after the page names a file.
fn code_of<'a>(page: &'a str, file: &str) -> Result<&'a str> {
    let (_, after) =
        page.split_once(&format!("\n`{file}`")).ok_or("the page names no such file")?;
    let (_, block) = after.split_once("```").ok_or("no code follows")?;
    let (_language, block) = block.split_once('\n').ok_or("no code follows")?;
    let (code, _) = block.split_once("```").ok_or("the code does not end")?;
    Ok(code)
}

/// The page's server, killed when dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(program: &Path) -> Result<Self> {
        let mut process = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", "0", "--workers", "1"])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = process.stdout.take().ok_or("no standard output")?;
        let mut server = Self { process, address: String::new() };
        BufReader::new(stdout).read_line(&mut line)?;
        let (_, after) = line.split_once("http://").ok_or("it does not say where it listens")?;
        server.address =
            after.chars().take_while(|&c| c.is_ascii_digit() || ".:".contains(c)).collect();
        Ok(server)
    }

    fn ask(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
