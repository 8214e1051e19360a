//! Chunked uploads as odd clients send them: counted when they are whole, and only then.

use server_contract::{Client, Program, Result, Running, Scheme};

fn stats(running: &Running) -> Result<String> {
    let response = running.connect()?.request("GET /stats HTTP/1.1\r\nHost: x\r\n\r\n")?;
    Ok(String::from_utf8(response.body)?)
}

const HEAD: &str = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

fn start() -> Result<(Running, Client)> {
    let running = Program::new(env!("CARGO_BIN_EXE_server-upload")).start(Scheme::Http)?;
    let client = running.connect()?;
    Ok((running, client))
}

#[test]
fn a_megabyte_with_extensions_and_trailers_and_the_next_request_behind_it() -> Result<()> {
    let (running, mut client) = start()?;
    client.send(HEAD)?;
    for _ in 0..16 {
        client.send("10000;name=value\r\n")?;
        client.send(vec![b'x'; 0x1_0000])?;
        client.send("\r\n")?;
    }
    client.send("0\r\nX-Trail: one\r\n\r\nGET /stats HTTP/1.1\r\nHost: x\r\n\r\n")?;
    assert_eq!(client.read_response(false)?.status, 204);
    let next = client.read_response(false)?;
    assert_eq!(next.body, br#"{"requests":1,"bytes":1048576}"#);
    assert_eq!(stats(&running)?, r#"{"requests":1,"bytes":1048576}"#);
    Ok(())
}

#[test]
fn an_empty_body_is_an_upload() -> Result<()> {
    let (running, mut client) = start()?;
    assert_eq!(client.request(format!("{HEAD}0\r\n\r\n"))?.status, 204);
    assert_eq!(client.request("POST / HTTP/1.1\r\nHost: x\r\n\r\n")?.status, 204);
    assert_eq!(stats(&running)?, r#"{"requests":2,"bytes":0}"#);
    Ok(())
}

#[test]
fn what_is_broken_is_400_and_not_counted() -> Result<()> {
    let (running, _) = start()?;
    for body in
        ["zz\r\nx\r\n0\r\n\r\n", "5\r\nhelloXX0\r\n\r\n", "ffffffffffffffffff\r\n", "-1\r\nx"]
    {
        let response = running.connect()?.request(format!("{HEAD}{body}"))?;
        assert_eq!(response.status, 400, "{body:?}");
    }
    for body in ["5\r\nhello\r\n0\r\n", "5\r\nhel", "5\r\nhello\r\n0\r\nX: y"] {
        let mut client = running.connect()?;
        client.send(format!("{HEAD}{body}"))?;
        client.finish_sending()?;
        let end = String::from_utf8_lossy(&client.read_to_end()?).into_owned();
        assert!(end.starts_with("HTTP/1.1 400"), "{body:?}: {end:?}");
    }
    assert_eq!(stats(&running)?, r#"{"requests":0,"bytes":0}"#);
    Ok(())
}
