//! The memory file contents are read into, kept by a worker from one answer to the next: what has
//! just been written to a socket is in the CPU's cache, other memory is not. The contents are not
//! used again.

use std::{cell::Cell, fs::File, io, os::unix::fs::FileExt as _};

use bytes::Bytes;

thread_local! {
    /// The memory of the last answer that was written.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Contents of a file, in memory that is given back when they are dropped.
struct Contents {
    memory: Vec<u8>,
    length: usize,
}

impl AsRef<[u8]> for Contents {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        // A thread that ends may have dropped its spare before.
        let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.memory)));
    }
}

/// Reads `length` bytes of `file` from `first` with one system call.
///
/// # Errors
///
/// Those of reading, and when the file ends before.
pub(crate) fn read(file: &File, first: u64, length: usize) -> io::Result<Bytes> {
    let mut contents = Contents { memory: SPARE.take(), length };
    if contents.memory.len() < length {
        contents.memory.resize(length, 0);
    }
    file.read_exact_at(&mut contents.memory[..length], first)?;
    Ok(Bytes::from_owner(contents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write as _, ptr};

    #[test]
    fn memory_is_used_again_and_contents_are_not() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"abcdef").unwrap();
        let whole = read(&file, 0, 6).unwrap();
        let address = whole.as_ptr();
        let meanwhile = read(&file, 1, 2).unwrap();
        assert_eq!((&whole[..], &meanwhile[..]), (&b"abcdef"[..], &b"bc"[..]));
        drop(meanwhile);
        drop(whole);
        let part = read(&file, 3, 2).unwrap();
        assert_eq!(&part[..], b"de");
        assert!(ptr::eq(part.as_ptr(), address));
        assert!(read(&file, 5, 2).is_err(), "the file is shorter");
    }
}
