//! Ctrl-C, counted: the first stops what is going on, the next one ends the program.

use tokio::signal::ctrl_c;
use tokio::sync::watch;

/// The Ctrl-C signals since [`Interrupts::start`]. None is lost between two waits.
#[derive(Debug)]
pub(crate) struct Interrupts(watch::Receiver<u64>);

impl Interrupts {
    /// Begins to catch them. Until then Ctrl-C ends the program as usual.
    pub(crate) fn start() -> Self {
        let (count, interrupts) = watch::channel(0);
        tokio::spawn(async move {
            while ctrl_c().await.is_ok() {
                count.send_modify(|count| *count += 1);
            }
            // Where none can be caught, nobody is told of one.
            count.closed().await;
        });
        Self(interrupts)
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
