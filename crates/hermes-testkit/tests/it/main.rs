//! The kit, tested: its cases fail where they should, its lists are complete, its stand-ins do as they are told.

#![expect(clippy::panic, clippy::expect_used, reason = "helpers of tests say what is wrong by stopping")]

mod broken;
mod completeness;
mod failing;
mod forwarding;
mod servers;
mod services;
mod verdict;
