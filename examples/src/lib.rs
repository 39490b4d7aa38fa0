//! Runnable examples of Hermes.
