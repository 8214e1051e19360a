//! The development certificate is made at the first start, by whoever comes first.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use server_contract::{Client, Error, Result, Scheme};

/// A server that is killed with its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(workspace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_server-https"));
    for name in ["HOST", "PORT", "TLS_CERT", "TLS_KEY", "DATA_DIR", "WORKERS"] {
        command.env_remove(name);
    }
    command.args(["--port", "0"]).current_dir(workspace);
    command
}

/// Where a server cannot listen: one whose certificate is not refused ends all the same.
const NOWHERE: [&str; 2] = ["--host", "203.0.113.1"];

/// A folder that looks like this project.
fn workspace() -> Result<tempfile::TempDir> {
    let workspace = tempfile::tempdir()?;
    fs::create_dir_all(workspace.path().join("servers/kit"))?;
    fs::write(workspace.path().join("servers/kit/Cargo.toml"), "")?;
    Ok(workspace)
}

#[test]
fn servers_that_start_at_once_share_one() -> Result<()> {
    let workspace = workspace()?;
    let servers = (0..4)
        .map(|_| Ok(Server(command(workspace.path()).stdout(Stdio::piped()).spawn()?)))
        .collect::<Result<Vec<_>>>()?;
    let mut certificates = Vec::new();
    for mut server in servers {
        let stdout = server.0.stdout.take().ok_or_else(|| Error::msg("no stdout"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.split("https://").nth(1).and_then(|rest| rest.split(',').next());
        let address: SocketAddr = address.unwrap_or_default().parse()?;
        let client = Client::connect(address, Scheme::Https)?;
        let seen = client.tls().and_then(|tls| tls.peer_certificates());
        certificates.push(seen.map(<[_]>::to_vec));
    }
    assert!(certificates[0].is_some());
    assert!(certificates.iter().all(|certificate| *certificate == certificates[0]));
    let key = fs::metadata(workspace.path().join("certs/key.pem"))?;
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    Ok(())
}

/// A certificate and its key in `dir`, expired or not.
fn pair(dir: &Path, name: &str, expired: bool) -> Result<(String, String)> {
    let key = rcgen::KeyPair::generate()?;
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()])?;
    if expired {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    }
    let path = |kind: &str| dir.join(format!("{name}-{kind}.pem")).display().to_string();
    fs::write(path("cert"), params.self_signed(&key)?.pem())?;
    fs::write(path("key"), key.serialize_pem())?;
    Ok((path("cert"), path("key")))
}

#[test]
fn a_certificate_that_cannot_be_served_is_told_in_one_line_with_the_remedy() -> Result<()> {
    let workspace = workspace()?;
    let dir = workspace.path();
    let (one, one_key) = pair(dir, "one", false)?;
    let (old, old_key) = pair(dir, "old", true)?;
    let folder = dir.display().to_string();
    let missing = dir.join("missing.pem").display().to_string();
    for (cert, key, words) in [
        (&old, &old_key, "old-cert.pem has expired"),
        (&one, &old_key, "do not make a pair"),
        (&one, &one, "no private key in PEM at"),
        (&one_key, &one_key, "no certificate in PEM at"),
        (&folder, &one_key, "no certificate in PEM at"),
        (&one, &missing, "missing.pem"),
    ] {
        let output = command(dir).args(["--cert", cert, "--key", key]).args(NOWHERE).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words}");
        assert!(stderr.contains(words) && stderr.lines().count() == 1, "{words}: {stderr:?}");
        assert!(stderr.contains("give another pair with --cert and --key"), "{stderr:?}");
    }
    Ok(())
}

#[test]
fn the_remedy_for_an_expired_certificate_of_this_project_helps() -> Result<()> {
    let workspace = workspace()?;
    let certs = workspace.path().join("certs");
    fs::create_dir(&certs)?;
    let (cert, key) = pair(&certs, "old", true)?;
    fs::rename(cert, certs.join("cert.pem"))?;
    fs::rename(key, certs.join("key.pem"))?;
    let output = command(workspace.path()).args(NOWHERE).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let remedy = "cert.pem has expired; delete it with its key, and the next start makes new ones";
    assert!(stderr.contains(remedy), "{stderr:?}");
    // The remedy that was named.
    fs::remove_file(certs.join("cert.pem"))?;
    fs::remove_file(certs.join("key.pem"))?;
    let mut server = Server(command(workspace.path()).stdout(Stdio::piped()).spawn()?);
    let stdout = server.0.stdout.take().ok_or_else(|| Error::msg("no stdout"))?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    assert!(line.contains("https://"), "{line:?}");
    Ok(())
}

#[test]
fn half_a_pair_and_a_wrong_pair_are_told_in_one_line() -> Result<()> {
    let workspace = workspace()?;
    for (args, expected) in [
        (&["--cert", "c.pem"][..], "belong together"),
        (&["--cert", "c.pem", "--key", "k.pem"], "c.pem"),
    ] {
        let output = command(workspace.path()).args(args).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{stderr:?}");
    }
    Ok(())
}
