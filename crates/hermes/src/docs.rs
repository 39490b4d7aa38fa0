//! The README and the guides, so that their code is compiled and run as documentation tests.

#[doc = include_str!("../../../README.md")]
mod readme {}
#[doc = include_str!("../../../docs/guide.md")]
mod guide {}
#[doc = include_str!("../../../docs/writing-a-backend.md")]
mod writing_a_backend {}
