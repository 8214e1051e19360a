//! Reads what a contender prints to a pipe, and counts its lines, on the CPUs of the harness.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes read at once: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;
/// How long lines may be under way when the answers have arrived.
const PATIENCE: Duration = Duration::from_secs(2);

/// A pipe that is being read to its end. The reading thread ends with the last program that writes.
#[derive(Debug)]
pub struct Drain {
    lines: Arc<AtomicU64>,
}

impl Drain {
    /// Reads `output` on a thread of its own, which runs where this one may.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(mut output: impl Read + Send + 'static) -> std::io::Result<Self> {
        let lines = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lines);
        std::thread::Builder::new().name("drain".into()).spawn(move || {
            let mut chunk = vec![0; CHUNK];
            loop {
                match output.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(read) => {
                        let found = memchr::memchr_iter(b'\n', &chunk[..read]).count();
                        counted.fetch_add(found as u64, Ordering::Relaxed);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        })?;
        Ok(Self { lines })
    }

    /// Lines so far.
    pub fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Waits until there are at least so many lines, and returns how many there are. It looks again
    /// and again: to be told would cost the reading thread a wake-up for each chunk.
    pub fn wait_for(&self, lines: u64) -> u64 {
        let end = Instant::now() + PATIENCE;
        while self.lines() < lines && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.lines()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_over_chunks() {
        let text = "base case 1\n".repeat(20_000);
        let drain = Drain::start(std::io::Cursor::new(text)).unwrap();
        assert_eq!(drain.wait_for(20_000), 20_000);
    }
}
