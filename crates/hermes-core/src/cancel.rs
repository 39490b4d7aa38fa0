//! Cancellation: a signal that one side raises and others wait for, without a runtime (decision 4).

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    cancelled: bool,
    next: u64,
    waiting: BTreeMap<u64, Waker>,
}

/// Raises a [`CancelSignal`]. Dropping it raises nothing.
#[derive(Clone, Default)]
pub struct CancelHandle(Arc<Mutex<State>>);

/// Tells whether work is still wanted.
#[derive(Clone, Default)]
pub struct CancelSignal(Arc<Mutex<State>>);

impl CancelHandle {
    /// A handle whose signal is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The signal that this handle raises.
    #[must_use]
    pub fn signal(&self) -> CancelSignal {
        CancelSignal(Arc::clone(&self.0))
    }

    /// Raises the signal and wakes all who wait for it. Raising it again does nothing.
    pub fn cancel(&self) {
        let woken = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.cancelled = true;
            std::mem::take(&mut state.waiting)
        };
        woken.into_values().for_each(Waker::wake);
    }
}

impl CancelSignal {
    /// A signal that nobody raises.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// Whether the work is no longer wanted.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancelled
    }

    /// Waits until the work is no longer wanted.
    #[must_use]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { state: Arc::clone(&self.0), place: None }
    }
}

/// The future of [`CancelSignal::cancelled`].
pub struct Cancelled {
    state: Arc<Mutex<State>>,
    place: Option<u64>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let mut state = this.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.cancelled {
            return Poll::Ready(());
        }
        let place = *this.place.get_or_insert_with(|| {
            state.next = state.next.wrapping_add(1);
            state.next
        });
        state.waiting.insert(place, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&place);
        }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelHandle").field("cancelled", &self.signal().is_cancelled()).finish()
    }
}

impl fmt::Debug for CancelSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelSignal").field("cancelled", &self.is_cancelled()).finish()
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_waiter_is_woken_once_and_a_dropped_one_is_forgotten() {
        let handle = CancelHandle::new();
        let signal = handle.signal();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut first = Box::pin(signal.cancelled());
        let mut second = Box::pin(signal.clone().cancelled());
        let mut third = Box::pin(signal.cancelled());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        drop(third);
        assert!(!signal.is_cancelled());
        handle.cancel();
        handle.cancel();
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
        assert!(first.as_mut().poll(&mut cx).is_ready());
        assert!(second.as_mut().poll(&mut cx).is_ready());
        assert!(Box::pin(signal.cancelled()).as_mut().poll(&mut cx).is_ready());
    }
}
