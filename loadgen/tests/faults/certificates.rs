//! Certificates that are expired, for another name, of another key, or cannot be read.

use std::path::Path;

use crate::bench::{Bench, HELLO, contender, spawn as spawn_piped};
use crate::means::workspace;
use crate::support::{Identity, loadgen_raw};

#[test]
fn files_of_a_run_that_are_no_certificates_are_named() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (cert, _) = Identity::self_signed(&["client.test"], false).write(one.path());
    let (_, other_key) = Identity::self_signed(&["client.test"], false).write(other.path());
    let (cert, other_key) = (cert.to_str().unwrap(), other_key.to_str().unwrap());
    let (folder, missing) = (one.path().to_str().unwrap(), "/nowhere/ca.pem");
    let garbage = one.path().join("garbage.pem");
    std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\n????\n").unwrap();
    let garbage = garbage.to_str().unwrap();
    for (arguments, file) in [
        (&["--cert", cert, "--key", other_key][..], cert),
        (&["--cacert", folder], folder),
        (&["--cacert", missing], missing),
        (&["--cacert", garbage], garbage),
        (&["--cert", garbage, "--key", other_key], garbage),
    ] {
        let mut all = vec!["run", "-n", "1"];
        all.extend(arguments);
        all.push("https://127.0.0.1:9/");
        let outcome = loadgen_raw(&all);
        assert_eq!(outcome.code, Some(2), "{outcome:#?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:#?}");
        assert!(outcome.stderr.contains(file), "{outcome:#?}");
    }
}

/// Spoils the pair in a folder.
type Spoil = fn(&Path);

#[test]
fn a_comparison_does_not_begin_with_a_certificate_that_cannot_be_used() {
    let spoils: [(Spoil, &str); 4] = [
        (|certs| drop(Identity::expired().write(certs)), "cert.pem has expired"),
        (
            |certs| drop(Identity::self_signed(&["elsewhere.test"], false).write(certs)),
            "cert.pem cannot be used for 127.0.0.1",
        ),
        (
            |certs| {
                let (_, key) = Identity::self_signed(&["localhost"], false).write(certs);
                let kept = std::fs::read(&key).unwrap();
                Identity::self_signed(&["localhost"], false).write(certs);
                std::fs::write(key, kept).unwrap();
            },
            "do not make a pair",
        ),
        (
            |certs| {
                Identity::self_signed(&["127.0.0.1"], false).write(certs);
                std::fs::write(certs.join("key.pem"), "not a key").unwrap();
            },
            "no private key in PEM at",
        ),
    ];
    for (spoil, words) in spoils {
        let folder = tempfile::tempdir().unwrap();
        workspace(folder.path());
        let certs = folder.path().join("certs");
        std::fs::create_dir(&certs).unwrap();
        spoil(&certs);
        let bench = Bench::new(&[HELLO, &contender("one", "hello", &[])]);
        let mut command = bench.command(&[]);
        let outcome = bench.outcome(spawn_piped(command.current_dir(folder.path())));
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains(words), "{outcome:?}");
        assert!(outcome.stderr.contains("delete it with its key"), "the remedy: {outcome:?}");
        assert!(!bench.out().exists(), "nothing was begun");
    }
}
