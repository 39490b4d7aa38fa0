//! Giving way to other tasks, so that arithmetic on an async thread does not hold them up.

use std::future::poll_fn;
use std::task::Poll;

/// The most text, in bytes, that is worked on before other tasks of the thread get their turn: 0.2 to 0.5 ms in an
/// optimised build, 2 ms for text without a word in it.
pub(crate) const PART_BYTES: usize = 4 * 1024;

/// What a text costs beside its length, as bytes of text: an empty one takes about as long as these.
pub(crate) const TEXT_BYTES: usize = 16;

/// Counts work, in bytes of text, since other tasks had a turn.
#[derive(Debug, Default)]
pub(crate) struct Pace(usize);

impl Pace {
    /// Announces work; gives way first if it would make more than [`PART_BYTES`] without a turn.
    pub(crate) async fn spend(&mut self, bytes: usize) {
        if self.0 > 0 && self.0 + bytes > PART_BYTES {
            give_way().await;
            self.0 = 0;
        }
        self.0 += bytes;
    }
}

/// Lets the runtime poll its other tasks before this one goes on.
async fn give_way() {
    let mut gave_way = false;
    poll_fn(|context| {
        if gave_way {
            return Poll::Ready(());
        }
        gave_way = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
