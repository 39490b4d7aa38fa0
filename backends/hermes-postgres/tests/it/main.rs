//! What the conformance suites do not reach: connections, processes and faults.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at what is wrong, and child processes talk to their parents"
)]

mod cancel;
mod contention;
mod crash;
mod crowd;
mod fault;
mod fixture;
mod ground;
mod process;
mod reopen;
mod schema;
