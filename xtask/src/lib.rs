//! Checks of the repository itself, as ordinary tests: layers, manifests, tidiness, documents.
//!
//! There is no library here. `cargo test -p xtask` runs the rules over the working tree; each says what it
//! found, where, and what to do.

#[cfg(test)]
mod document;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod manifest;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod workspace;
