//! Pins (M8): a tool's definition is remembered by its hash when it is first approved, and a changed one is withheld.
//!
//! The hash covers what a model or an approver sees: name, title, description, both schemas and the hints. Making the
//! hash is pure; [`Pins`] keeps the hashes in a [`StateStore`].

use std::fmt;
use std::sync::Arc;

use hermes_core::{Clock, Expected, JsonText, NewState, Owner, StateKey, StateStore, StoreError};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::namespace::hex;
use crate::wire::WireTool;

/// The namespace of the pins in a [`StateStore`].
pub const NAMESPACE: &str = "hermes.mcp.pin";

/// The hash of a tool's definition: SHA-256 of its canonical JSON (RFC 8785), in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fingerprint of a definition. The order of keys does not count; everything else does.
pub(crate) fn fingerprint(tool: &WireTool) -> Fingerprint {
    let hints = tool.annotations;
    let definition = json!({
        "name": tool.name, "title": tool.title, "description": tool.description,
        "inputSchema": tool.input_schema, "outputSchema": tool.output_schema,
        "hints": [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
    });
    // What is nested too deeply for canonical JSON is hashed as it came: it is skipped later, by the check of its schema.
    let text = hermes_text::canonical(&definition).unwrap_or_else(|_| definition.to_string());
    Fingerprint(hex(&Sha256::digest(text.as_bytes())))
}

/// Where the pins of one owner are kept.
#[derive(Debug, Clone)]
pub struct Pins {
    store: Arc<dyn StateStore>,
    owner: Owner,
}

/// What the pins say about a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pinned {
    /// It is the approved one, or the first of its name and approved by that.
    Approved,
    /// It is another than the approved one.
    Changed,
}

impl Pins {
    /// Keeps pins in a store, for an owner.
    #[must_use]
    pub fn new(store: Arc<dyn StateStore>, owner: Owner) -> Self {
        Self { store, owner }
    }

    pub(crate) async fn check(
        &self,
        server: &str,
        tool: &str,
        seen: &Fingerprint,
        clock: &dyn Clock,
    ) -> Result<Pinned, StoreError> {
        let key = key(server, tool);
        if let Some(pinned) = self.read(&key).await? {
            return Ok(verdict(&pinned, seen));
        }
        match self.write(&key, seen, Expected::Absent, clock).await {
            Ok(()) => Ok(Pinned::Approved),
            // Another process pinned it in the meantime.
            Err(StoreError::VersionMismatch { .. }) => {
                Ok(self.read(&key).await?.map_or(Pinned::Changed, |pinned| verdict(&pinned, seen)))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn approve(
        &self,
        server: &str,
        tool: &str,
        seen: &Fingerprint,
        clock: &dyn Clock,
    ) -> Result<(), StoreError> {
        self.write(&key(server, tool), seen, Expected::Any, clock).await
    }

    async fn read(&self, key: &StateKey) -> Result<Option<String>, StoreError> {
        let entry = self.store.get(&self.owner, key).await?;
        // A value that is not a text is a pin that nothing fits: the tool is withheld.
        Ok(entry.map(|entry| entry.value.read::<String>().unwrap_or_default()))
    }

    async fn write(
        &self,
        key: &StateKey,
        seen: &Fingerprint,
        expected: Expected,
        clock: &dyn Clock,
    ) -> Result<(), StoreError> {
        let value = JsonText::from(&json!(seen.as_str()));
        let new = NewState { value, session: None, at: clock.now(), expires: None };
        self.store.put(&self.owner, key, &new, expected).await.map(drop)
    }
}

fn verdict(pinned: &str, seen: &Fingerprint) -> Pinned {
    if pinned == seen.as_str() { Pinned::Approved } else { Pinned::Changed }
}

fn key(server: &str, tool: &str) -> StateKey {
    StateKey::new(NAMESPACE, format!("{server}/{tool}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire;

    fn of(definition: &Value) -> Fingerprint {
        fingerprint(&wire::tool(definition).unwrap())
    }

    #[test]
    fn order_does_not_count_and_content_does() {
        let base = json!({ "name": "pay", "description": "Pays", "inputSchema": { "type": "object", "properties": { "a": {}, "b": {} } } });
        let turned: Value = serde_json::from_str(
            r#"{"inputSchema":{"properties":{"b":{},"a":{}},"type":"object"},"description":"Pays","name":"pay"}"#,
        )
        .unwrap();
        assert_eq!(of(&base), of(&turned));
        for (pointer, value) in [
            ("/description", json!("Pays twice")),
            ("/inputSchema/properties/a", json!({ "type": "string" })),
        ] {
            let mut changed = base.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert_ne!(of(&base), of(&changed), "{pointer}");
        }
        let mut hinted = base.clone();
        hinted["annotations"] = json!({ "readOnlyHint": true });
        assert_ne!(of(&base), of(&hinted));
    }
}
