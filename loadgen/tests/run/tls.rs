//! TLS: certificates, names, versions.

use std::time::Duration;

use crate::support::{Identity, Next, Server, loadgen, loadgen_raw, ok, write};

fn secure(names: &[&str], ca: bool) -> (Server, Identity) {
    let identity = Identity::self_signed(names, ca);
    let server = Server::start_tls(&identity, |_, conn| write(conn, &ok("ok"), Next::Keep));
    (server, identity)
}

fn localhost(server: &Server) -> String {
    format!("https://localhost:{}/", server.port())
}

#[test]
fn lg30_a_self_signed_certificate_is_one_clear_error_that_names_the_flag() {
    for (names, ca) in
        [(&["localhost", "127.0.0.1"][..], false), (&["localhost"], true), (&[], true)]
    {
        let (server, _) = secure(names, ca);
        for limit in [["-n", "100"], ["-d", "50s"]] {
            let outcome = loadgen(&[limit[0], limit[1], &localhost(&server)]);
            assert_eq!(outcome.code, Some(3));
            assert!(outcome.errors("tls") > 0, "{outcome:#?}");
            assert!(outcome.example("tls").contains("-k"), "{outcome:#?}");
            assert_eq!(server.requests(), 0);
            assert!(outcome.wall < Duration::from_secs(40), "an early end: {outcome:#?}");
        }
    }
}

#[test]
fn lg30_with_the_flag_every_certificate_works_by_name_and_by_address() {
    for (names, ca) in
        [(&["localhost", "127.0.0.1"][..], false), (&["localhost"], true), (&[], true)]
    {
        let (server, _) = secure(names, ca);
        for url in [localhost(&server), server.url("/")] {
            let outcome = loadgen(&["-k", "-n", "40", "-c", "4", &url]);
            outcome.assert_all_right();
            assert_eq!(outcome.get("tls.alpn"), "http/1.1");
            assert_eq!(outcome.get("tls.version"), "TLSv1.3");
            assert_eq!(outcome.count("handshake_time_us.count"), 4);
        }
        assert_eq!((server.requests(), server.connections()), (80, 8));
    }
}

#[test]
fn lg30_sni_is_the_host_of_the_url() {
    let (server, _) = secure(&["localhost"], false);
    let url = localhost(&server);
    for (args, name) in [
        (&[&*url][..], Some("localhost")),
        (&["-H", "Host: other.test", &url], Some("localhost")),
        (&["--sni", "given.test", &url], Some("given.test")),
        (&[&server.url("/")], None),
    ] {
        let before = server.server_names().len();
        let mut all = vec!["-k", "-n", "1", "-c", "1"];
        all.extend(args);
        loadgen(&all).assert_all_right();
        assert_eq!(server.server_names()[before..], [name.map(str::to_owned)], "{args:?}");
    }
}

#[test]
fn a_certificate_may_be_trusted_by_file() {
    let (server, identity) = secure(&["localhost"], false);
    let dir = tempfile::tempdir().unwrap();
    let (certificate, _) = identity.write(dir.path());
    let certificate = certificate.to_str().unwrap();
    loadgen(&["--cacert", certificate, "-n", "20", &localhost(&server)]).assert_all_right();
    // Trusted, but for another name.
    let outcome = loadgen(&["--cacert", certificate, "-n", "5", &server.url("/")]);
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.errors("tls") > 0, "{outcome:#?}");
    let named = ["--cacert", certificate, "--sni", "localhost", "-n", "5"];
    let url = server.url("/");
    let mut named = named.to_vec();
    named.push(&url);
    loadgen(&named).assert_all_right();
}

#[test]
fn a_server_may_demand_a_certificate() {
    let client = Identity::self_signed(&["client.test"], false);
    let server = Identity::self_signed(&["localhost"], false).demanding(&client);
    let server = Server::start_tls(&server, |_, conn| write(conn, &ok("ok"), Next::Keep));
    let url = server.url("/");
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = client.write(dir.path());
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let with = ["-k", "--cert", certificate, "--key", key, "-n", "20", "-c", "2", &url];
    loadgen(&with).assert_all_right();
    let without = loadgen(&["-k", "-n", "4", "-c", "2", &url]);
    assert_eq!(without.code, Some(3));
    assert!(without.errors("tls") > 0, "{without:#?}");
    assert_eq!(server.requests(), 20);
    let swapped = loadgen_raw(&["run", "-k", "--cert", key, "--key", certificate, &url]);
    assert_eq!((swapped.code, swapped.stderr.lines().count()), (Some(2), 1), "{swapped:#?}");
}

#[test]
fn one_version_of_tls_may_be_asked_for() {
    let (server, _) = secure(&["localhost"], false);
    for version in ["1.2", "1.3"] {
        let outcome =
            loadgen(&["-k", "--tls-version", version, "-n", "10", "-c", "2", &server.url("/")]);
        outcome.assert_all_right();
        assert_eq!(outcome.get("tls.version"), &*format!("TLSv{version}"));
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_a_tls_error() {
    let server = Server::canned(ok("ok"), Next::Close);
    let url = format!("https://127.0.0.1:{}/", server.port());
    let outcome = loadgen(&["-k", "-n", "5", "-c", "2", "--connect-timeout", "2s", &url]);
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.errors("tls") + outcome.errors("connect_timeout") > 0, "{outcome:#?}");
}

#[test]
fn connects_and_handshakes_are_not_in_service_time() {
    let identity = Identity::self_signed(&["localhost"], false);
    let server = Server::start_tls(&identity, |_, conn| write(conn, &ok("ok"), Next::Close));
    let outcome = loadgen(&["-k", "--no-keepalive", "-n", "40", "-c", "1", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("handshake_time_us.count"), 40);
    assert_eq!(outcome.count("connect_time_us.count"), 40);
    // The quickest of each, which no busy machine made longer: a request in which its handshake counted
    // would take longer than that.
    let (handshake, service) =
        (outcome.number("handshake_time_us.min"), outcome.number("service_time_us.min"));
    assert!(service < handshake, "{outcome:#?}");
}

#[test]
fn large_responses_over_tls_are_whole() {
    let identity = Identity::self_signed(&["localhost"], false);
    let body = "x".repeat(500_000);
    let server = Server::start_tls(&identity, move |_, conn| write(conn, &ok(&body), Next::Keep));
    let outcome =
        loadgen(&["-k", "-n", "20", "-c", "2", "--expect-length", "500000", &server.url("/")]);
    outcome.assert_all_right();
    assert_eq!(outcome.count("bytes.received_body"), 20 * 500_000);
}

#[test]
fn a_run_names_what_is_wrong_with_the_servers_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let expired = Identity::expired();
    let elsewhere = Identity::self_signed(&["elsewhere.test"], false);
    for (identity, words) in [
        (&expired, ["outside its dates", "renew it"]),
        (&elsewhere, ["for another name", "--sni NAME"]),
    ] {
        let server = Server::start_tls(identity, |_, conn| write(conn, &ok("ok"), Next::Keep));
        let (certificate, _) = identity.write(folder.path());
        let trusted = ["--cacert", certificate.to_str().unwrap(), "-n", "20", &server.url("/")];
        let outcome = loadgen(&trusted);
        assert_eq!(outcome.code, Some(3), "{outcome:#?}");
        for word in words {
            assert!(outcome.example("tls").contains(word), "{outcome:#?}");
        }
        assert_eq!(server.requests(), 0);
        loadgen(&["-k", "-n", "20", &server.url("/")]).assert_all_right();
    }
}
