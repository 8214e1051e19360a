//! Names, ranges and conditions through the real server, as sent by clients that tidy nothing.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use server_contract::{Client, Framing, Program, Response, Result, Running, Scheme};

fn start() -> Result<(Running, PathBuf)> {
    let running = Program::new(env!("CARGO_BIN_EXE_server-png")).start(Scheme::Http)?;
    let data = running.data_dir();
    Ok((running, data))
}

fn get(client: &mut Client, target: &str, fields: &str) -> Result<Response> {
    client.request(format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n"))
}

fn write(data: &Path, name: &str, content: &[u8]) -> Result<()> {
    Ok(fs::write(data.join(name), content)?)
}

#[test]
fn names_are_decoded_exactly_once() -> Result<()> {
    let (running, data) = start()?;
    let names = ["a b.png", "50%.png", "m\u{fc}nchen.png", "what?.png", "a+b.png"];
    for name in names {
        write(&data, name, name.as_bytes())?;
    }
    fs::create_dir(data.join("folder"))?;
    let mut client = running.connect()?;
    let targets = ["/a%20b.png", "/50%25.png", "/m%C3%BCnchen.png", "/what%3F.png", "/a+b.png?q=1"];
    for (target, name) in targets.into_iter().zip(names) {
        let response = get(&mut client, target, "")?;
        assert_eq!((response.status, &response.body[..]), (200, name.as_bytes()), "{target}");
    }
    for target in ["/a%2520b.png", "/folder", "/folder/", "/a%20b.png/", "/a b.png"] {
        let response = get(&mut running.connect()?, target, "")?;
        assert!(matches!(response.status, 400 | 404), "{target}: {}", response.status);
    }
    Ok(())
}

#[test]
fn odd_bytes_are_4xx_and_the_next_request_works() -> Result<()> {
    let (running, data) = start()?;
    write(&data, "image.png", b"i")?;
    let long = format!("/{}", "a".repeat(70_000));
    for target in
        ["/%ff", "/image.png%00", "/%00", "/%", "/%zz", "/a%0d%0ab", "/%c0%ae%c0%ae/x", &long]
    {
        let response = get(&mut running.connect()?, target, "")?;
        assert!((400..500).contains(&response.status), "{target}: {}", response.status);
        assert_eq!(get(&mut running.connect()?, "/image.png", "")?.status, 200);
    }
    Ok(())
}

#[test]
fn only_regular_files_inside_are_served() -> Result<()> {
    let (running, data) = start()?;
    write(&data, "inside.png", b"i")?;
    symlink("inside.png", data.join("link.png"))?;
    symlink("/etc/passwd", data.join("passwd"))?;
    symlink("..", data.join("up"))?;
    let _socket = UnixListener::bind(data.join("socket"))?;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        data.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )?;
    let mut client = running.connect()?;
    assert_eq!(get(&mut client, "/link.png", "")?.body, b"i");
    for target in ["/passwd", "/up/cert.pem", "/socket", "/fifo"] {
        assert_eq!(get(&mut client, target, "")?.status, 404, "{target}");
    }
    Ok(())
}

#[test]
fn ranges_agree_in_field_length_and_body() -> Result<()> {
    let (running, data) = start()?;
    let whole: Vec<u8> = (0..1000_u32).map(|i| (i % 251) as u8).collect();
    write(&data, "f.png", &whole)?;
    write(&data, "empty.png", b"")?;
    let mut client = running.connect()?;
    for (range, first, last) in [
        ("0-0", 0, 0),
        ("50-99999", 50, 999),
        ("-99999", 0, 999),
        ("-18446744073709551616", 0, 999),
        ("999-", 999, 999),
    ] {
        let response = get(&mut client, "/f.png", &format!("Range: bytes={range}\r\n"))?;
        assert_eq!(response.status, 206, "{range}");
        let expected = format!("bytes {first}-{last}/1000");
        assert_eq!(response.header("content-range"), Some(&*expected), "{range}");
        assert_eq!(response.body, &whole[first..=last], "{range}");
    }
    for ignored in ["bytes=2-1", "bytes=0-1,5-6", "bytes: 0-22", "items=0-1"] {
        let response = get(&mut client, "/f.png", &format!("Range: {ignored}\r\n"))?;
        assert_eq!((response.status, response.body.len()), (200, 1000), "{ignored}");
    }
    for (target, range, length) in
        [("/f.png", "-0", 1000), ("/f.png", "1000-", 1000), ("/empty.png", "0-0", 0)]
    {
        let response = get(&mut client, target, &format!("Range: bytes={range}\r\n"))?;
        assert_eq!(response.status, 416, "{target} {range}");
        assert_eq!(response.header("content-range"), Some(&*format!("bytes */{length}")));
    }
    let response = get(&mut client, "/empty.png", "")?;
    assert_eq!((response.status, response.framing), (200, Framing::Length(0)));
    let head = client.request("HEAD /f.png HTTP/1.1\r\nHost: x\r\nRange: bytes=0-0\r\n\r\n")?;
    assert_eq!((head.status, head.header("content-length")), (200, Some("1000")));
    Ok(())
}

#[test]
fn if_range_needs_the_same_version() -> Result<()> {
    let (running, data) = start()?;
    write(&data, "f.png", b"0123456789")?;
    let mut client = running.connect()?;
    let response = get(&mut client, "/f.png", "")?;
    let etag = response.header("etag").unwrap_or_default().to_owned();
    let date = response.header("last-modified").unwrap_or_default().to_owned();
    let old = "Sun, 06 Nov 1994 08:49:37 GMT".to_owned();
    for (validator, expected) in
        [(&etag, 206), (&date, 206), (&format!("W/{etag}"), 200), (&old, 200)]
    {
        let fields = format!("Range: bytes=0-0\r\nIf-Range: {validator}\r\n");
        assert_eq!(get(&mut client, "/f.png", &fields)?.status, expected, "{validator}");
    }
    let fields = format!("If-None-Match: {etag}\r\nRange: bytes=0-0\r\n");
    let not_modified = get(&mut client, "/f.png", &fields)?;
    assert_eq!(not_modified.status, 304);
    assert_eq!(not_modified.header("etag"), Some(&*etag));
    assert_eq!(get(&mut client, "/f.png", "If-Match: \"x\"\r\n")?.status, 412);
    Ok(())
}

#[test]
fn large_files_are_streamed_whole_and_in_part() -> Result<()> {
    let (running, data) = start()?;
    let whole: Vec<u8> = (0..3_000_001_u32).map(|i| (i % 251) as u8).collect();
    write(&data, "large.png", &whole)?;
    let mut client = running.connect()?;
    for _ in 0..2 {
        let response = get(&mut client, "/large.png", "")?;
        assert_eq!(response.framing, Framing::Length(3_000_001));
        assert!(response.body == whole);
    }
    let response = get(&mut client, "/large.png", "Range: bytes=1-2999999\r\n")?;
    assert!(response.body == whole[1..3_000_000]);
    let head = client.request("HEAD /large.png HTTP/1.1\r\nHost: x\r\n\r\n")?;
    assert_eq!(head.header("content-length"), Some("3000001"));
    assert_eq!(get(&mut client, "/large.png", "")?.status, 200);
    Ok(())
}

#[test]
fn other_methods_are_405_only_where_there_is_a_file() -> Result<()> {
    let (running, data) = start()?;
    write(&data, "f.png", b"f")?;
    let mut client = running.connect()?;
    let post = |target| format!("POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(client.request(post("/nope"))?.status, 404);
    assert_eq!(client.request(post("/f.png"))?.status, 405);
    let body = vec![b'x'; 1_000_000];
    let head = "GET /f.png HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
    assert_eq!(client.request([head.as_bytes(), &body].concat())?.status, 200);
    Ok(())
}
