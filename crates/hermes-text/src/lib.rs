//! Pure text functions that several Hermes crates need, kept in one place.
//!
//! Nothing here does I/O, is async, or knows the rest of Hermes: every function takes text and
//! returns text (or a small value), and the same input always gives the same output.
//!
//! | module | what it answers |
//! |---|---|
//! | [`terms`] | which terms a text is found by, in English and Chinese (S10) |
//! | [`bm25`] | how well documents answer a query, by their terms |
//! | [`cut`] | how to shorten a text to a measure without breaking a character (T10, S6) |
//! | [`json`] | the one canonical spelling of a JSON value (T8) |
//! | [`mask`] | where the secrets in a text are (R12, L7) |
//! | [`clean`] | what remains of untrusted text that may enter a context (M5, M8) |
//! | [`nearest`](mod@nearest) | which name was probably meant (T3) |
//! | [`lang`] | whether to answer in English or Chinese |
//! | [`fence`](mod@fence) | how to quote text so that it cannot leave its quotation |
//!
//! ```
//! use hermes_text::{Cut, contains_all, head_tail, index_terms, mask_secrets, query_terms};
//!
//! // Search: every term of the query is among the terms of the document.
//! let document = index_terms("订单 M-23891 已发货，请调用 getWeather");
//! assert!(contains_all(&document, &query_terms("M-23891 发货")));
//! assert!(contains_all(&document, &query_terms("weather")));
//! assert!(!contains_all(&document, &query_terms("货发")));
//!
//! // Cutting: here one character is one unit; a token counter is used in the same way.
//! let long = "line\n".repeat(100);
//! let cut: Cut = head_tail(&long, 80, |text| text.chars().count(), |omitted| {
//!     format!("[{omitted} characters left out]\n")
//! });
//! assert!(cut.cut && cut.text.chars().count() <= 80);
//!
//! // Secrets never reach a store or a log.
//! assert_eq!(mask_secrets("我的密码是 hunter22"), "我的密码是 [masked password]");
//! ```

pub mod bm25;
pub mod clean;
pub mod cut;
pub mod fence;
mod html;
pub mod json;
pub mod lang;
pub mod mask;
pub mod nearest;
pub mod terms;

pub use bm25::Bm25;
pub use clean::{clean_text, compact_json, strip_ansi, strip_invisible};
pub use cut::{Cut, head_tail, truncate_bytes, truncate_chars};
pub use fence::fence;
pub use json::{CanonicalError, canonical};
pub use lang::Language;
pub use mask::{SecretKind, contains_secret, mask_secrets};
pub use nearest::nearest;
pub use terms::{contains_all, index_terms, query_terms, rank_terms};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
