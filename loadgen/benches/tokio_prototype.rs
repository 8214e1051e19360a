//! The design that was not taken, kept so that the choice can be measured again: httparse on a
//! current_thread tokio runtime, closed loop, nothing verified but the length.
//!
//! `tokio_prototype ADDRESS CONNECTIONS SECONDS` prints requests, and CPU µs for each of them.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [address, connections, seconds] = words.as_slice() else { return };
    let (Ok(connections), Ok(seconds)) = (connections.parse::<u32>(), seconds.parse()) else {
        return;
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return;
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let requests = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(connection(address.clone(), request.clone(), until)))
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap_or(0);
        }
        sum
    });
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu_us = cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3;
    println!("{requests} requests, {:.2} CPU µs per request", cpu_us / f64::from(requests.max(1)));
}

async fn connection(address: String, request: String, until: Instant) -> u32 {
    let Ok(mut stream) = TcpStream::connect(address).await else { return 0 };
    let _ = stream.set_nodelay(true); // only a little slower without
    let mut buffer = vec![0; 8192];
    let mut filled = 0;
    let mut requests = 0;
    while Instant::now() < until {
        if stream.write_all(request.as_bytes()).await.is_err() {
            return requests;
        }
        loop {
            match stream.read(&mut buffer[filled..]).await {
                Ok(bytes) if bytes > 0 => filled += bytes,
                _ => return requests,
            }
            if response_len(&buffer[..filled]).is_some_and(|length| length <= filled) {
                filled = 0;
                requests += 1;
                break;
            }
        }
    }
    requests
}

/// Length of the response at the start of `bytes`, when its head is complete.
fn response_len(bytes: &[u8]) -> Option<usize> {
    let mut headers = [httparse::EMPTY_HEADER; 16];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = response.parse(bytes).ok()? else { return None };
    let length = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| std::str::from_utf8(header.value).ok()?.parse::<usize>().ok())?;
    Some(head + length)
}
