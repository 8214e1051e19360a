//! The sending half of a connection: requests and TLS records, as far as the kernel takes them.

use super::Conn;
use crate::engine::failure::Failure;
use crate::engine::request::RequestPlan;
use crate::engine::socket;
use crate::engine::tls::MAX_PLAINTEXT;

impl Conn {
    /// Whether part of a request, or of a TLS record, waits for the kernel.
    #[inline]
    pub(crate) fn wants_write(&self) -> bool {
        !self.write_done || self.tls.as_ref().is_some_and(|tls| !tls.pending().is_empty())
    }

    /// Writes what the kernel takes now and adds it to `sent`; `expanded` is the request just
    /// expanded, empty when a write is resumed.
    #[inline]
    pub(crate) fn write(
        &mut self,
        plan: &RequestPlan,
        expanded: &[u8],
        sent: &mut u64,
    ) -> Result<(), Failure> {
        let unsent = std::mem::take(&mut self.unsent);
        let bytes = if unsent.is_empty() { expanded } else { &unsent };
        let result = match self.tls {
            None => self.write_plain(plan, bytes, sent),
            Some(_) => self.write_records(plan, bytes, sent),
        };
        if !self.write_done {
            self.unsent = if unsent.is_empty() { expanded.to_vec() } else { unsent };
        }
        result
    }

    #[inline]
    fn write_plain(
        &mut self,
        plan: &RequestPlan,
        expanded: &[u8],
        sent: &mut u64,
    ) -> Result<(), Failure> {
        let Some(socket) = &self.socket else { return Ok(()) };
        while !self.write_done {
            let bytes = plan.unwritten(expanded, self.written);
            if bytes.is_empty() {
                self.write_done = true;
                break;
            }
            let more = plan.has_tail() && self.written < plan.prefix(expanded).len() as u64;
            match socket::write(socket, bytes, more).map_err(Failure::from_io)? {
                None => break,
                Some(written) => {
                    self.written += written as u64;
                    *sent += written as u64;
                    if written == bytes.len() && !plan.has_tail() {
                        self.write_done = true;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_records(
        &mut self,
        plan: &RequestPlan,
        expanded: &[u8],
        sent: &mut u64,
    ) -> Result<(), Failure> {
        while self.flush_records()? && !self.write_done {
            let bytes = plan.unwritten(expanded, self.written);
            if bytes.is_empty() {
                self.write_done = true;
                break;
            }
            let piece = &bytes[..bytes.len().min(MAX_PLAINTEXT)];
            if let Some(tls) = &mut self.tls {
                tls.encrypt(piece)?;
            }
            self.written += piece.len() as u64;
            *sent += piece.len() as u64;
        }
        Ok(())
    }

    /// Sends queued records; false while the kernel does not take all of them.
    pub(super) fn flush_records(&mut self) -> Result<bool, Failure> {
        let (Some(tls), Some(socket)) = (&mut self.tls, &self.socket) else { return Ok(true) };
        while !tls.pending().is_empty() {
            match socket::write(socket, tls.pending(), false).map_err(Failure::from_io)? {
                None => return Ok(false),
                Some(written) => tls.sent(written),
            }
        }
        Ok(true)
    }
}
