//! What may not be stored is kept out before anything else happens to a text (R12).

use hermes_text::{contains_secret, mask_secrets, strip_invisible};

use crate::error::Error;
use crate::memory::Memory;

impl Memory {
    /// A sentence as it is kept: on one line, without invisible characters. One that holds a secret is refused, since what is left of it
    /// without the secret would only tell that there is one.
    pub(crate) fn clean_content(&self, text: &str) -> Result<String, Error> {
        let visible = strip_invisible(text);
        let content = visible.split_whitespace().collect::<Vec<_>>().join(" ");
        if content.is_empty() {
            return Err(Error::Unusable { reason: "it is empty" });
        }
        if content.chars().count() > self.config.max_content_chars {
            return Err(Error::Unusable { reason: "it is too long for one memory" });
        }
        match contains_secret(&content) {
            Some(kind) => Err(Error::Secret { kind }),
            None => Ok(content),
        }
    }
}

/// A line as the extractor sees it and as quotes are kept.
pub(crate) fn masked(text: &str) -> String {
    mask_secrets(text).into_owned()
}
