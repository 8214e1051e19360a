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
