//! Standard error drawn on by a thread of its own, so that a terminal which takes no more (Ctrl-S, a
//! full buffer that nobody reads) holds up neither a load nor its end.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How long the end of a program waits for what is still to be drawn.
const PATIENCE: Duration = Duration::from_secs(1);

/// Draws what it is shown, as long as it can.
pub(super) struct Screen<F> {
    frames: Option<SyncSender<F>>,
    /// Disconnected when all is drawn.
    drawn: Receiver<()>,
}

impl<F: Send + 'static> Screen<F> {
    /// Calls `draw` with each frame, and with `None` after the last; at most `waiting` frames wait for
    /// that, others are dropped.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(super) fn start(
        waiting: usize,
        mut draw: impl FnMut(Option<F>) + Send + 'static,
    ) -> io::Result<Self> {
        let (frames, shown) = sync_channel(waiting);
        let (drawing, drawn) = sync_channel(0);
        Builder::new().name("screen".into()).spawn(move || {
            for frame in shown {
                draw(Some(frame));
            }
            draw(None);
            drop::<SyncSender<()>>(drawing);
        })?;
        Ok(Self { frames: Some(frames), drawn })
    }

    /// Has a frame drawn, unless too many wait for that already.
    pub(super) fn show(&self, frame: F) {
        if let Some(frames) = &self.frames {
            let _ = frames.try_send(frame);
        }
    }

    /// Has the rest drawn. If something is `printed` on the terminal next, that has to wait for it
    /// anyway; otherwise nothing waits long for a terminal that takes no more.
    pub(super) fn finish(mut self, printed: bool) {
        drop(self.frames.take());
        if printed {
            let _ = self.drawn.recv();
        }
    }
}

impl<F> Drop for Screen<F> {
    /// Has the rest drawn, if it takes no longer than a moment.
    fn drop(&mut self) {
        drop(self.frames.take());
        let _ = self.drawn.recv_timeout(PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_that_takes_nothing_holds_up_nobody() {
        let (draw, may_draw) = sync_channel::<()>(0);
        let (report, drawn) = std::sync::mpsc::channel();
        let screen = Screen::start(1, move |frame| {
            let _ = may_draw.recv();
            let _ = report.send(frame);
        });
        let screen = screen.expect("a thread");
        (0..1000).for_each(|frame| screen.show(frame));
        drop(screen);
        assert!(drawn.try_recv().is_err(), "nothing could be drawn");
        drop(draw);
        let drawn: Vec<Option<i32>> = drawn.iter().collect();
        assert_eq!(drawn.first(), Some(&Some(0)));
        assert!(drawn.len() <= 3, "the others are dropped: {drawn:?}");
        assert_eq!(drawn.last(), Some(&None));
    }

    #[test]
    fn what_was_shown_is_drawn_before_the_end() {
        let (report, drawn) = std::sync::mpsc::channel();
        let draw = move |frame| report.send(frame).expect("somebody looks");
        let screen = Screen::start(10, draw).expect("a thread");
        (0..10).for_each(|frame| screen.show(frame));
        screen.finish(true);
        let drawn: Vec<Option<i32>> = drawn.try_iter().collect();
        assert_eq!(drawn, (0..10).map(Some).chain([None]).collect::<Vec<_>>());
    }
}
