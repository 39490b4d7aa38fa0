//! How long a test goes on: a short form every time, a long one when it is asked for.
//!
//! Kills by the hundred, contention by the minute and a million random cases take too long for every run. A test that has such a long form
//! asks here how many rounds to make; `cargo xtask endurance` sets the variable.

/// The variable that asks for the long form, whatever its value.
pub const VARIABLE: &str = "HERMES_ENDURANCE";

/// `long` where `HERMES_ENDURANCE` is set, `short` otherwise.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is where a test run is told how long it may take"
)]
pub fn rounds(short: u32, long: u32) -> u32 {
    if std::env::var_os(VARIABLE).is_some() { long } else { short }
}
