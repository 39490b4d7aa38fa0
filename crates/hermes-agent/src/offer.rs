//! Which tools a step offers (T12): chosen once, then stable between counted changes, across turns and processes.

use std::sync::Arc;

use hermes_core::{Expected, JsonText, Limit, LogQuery, NewState, Role, StateKey, StoreError, ToolSpec};
use hermes_tools::{Folding, SelectInput, Selection};

use crate::turn::{Ground, Turn};

const NAMESPACE: &str = "hermes.tools.selection";
/// How many messages back a tool's call still counts as use in the window.
const USED_MESSAGES: usize = 50;

impl Turn {
    /// The tools of the next request, in order. A store that fails costs the memory of the list, not the turn.
    pub(crate) async fn offer(&mut self, ground: &Ground) -> Vec<Arc<ToolSpec>> {
        self.parts.tools.refresh_all();
        if self.parts.tools.is_empty() {
            return Vec::new();
        }
        let mut selection = match self.selection.take() {
            Some(selection) => selection,
            None => self.stored_selection().await,
        };
        let before = selection.clone();
        let (used, last_text) = self.recent().await;
        let intent = format!("{}\n{last_text}", ground.text);
        let (window, _) = self.parts.models.window();
        let folding = if self.folded { Folding::Yes } else { Folding::No };
        let input =
            SelectInput { session: self.log.session().id(), intent: &intent, used: &used, window, folding };
        let offered = self.parts.tools.select(&mut selection, &input).await;
        if selection != before
            && let Err(error) = self.store_selection(&selection).await
        {
            tracing::warn!(%error, "the list of offered tools could not be stored");
        }
        self.selection = Some(selection);
        offered
    }

    async fn stored_selection(&self) -> Selection {
        let Some(state) = &self.parts.state else { return Selection::default() };
        let stored = state.get(self.log.session().owner(), &self.selection_key()).await;
        stored.ok().flatten().and_then(|entry| entry.value.read().ok()).unwrap_or_default()
    }

    async fn store_selection(&self, selection: &Selection) -> Result<(), StoreError> {
        let (Some(state), Ok(value)) = (&self.parts.state, JsonText::of(selection)) else { return Ok(()) };
        let session = self.log.session();
        let new = NewState { value, session: Some(session.id()), at: self.parts.clock.now(), expires: None };
        state.put(session.owner(), &self.selection_key(), &new, Expected::Any).await.map(|_| ())
    }

    fn selection_key(&self) -> StateKey {
        StateKey::new(NAMESPACE, self.log.session().id().to_string())
    }

    /// The tools that were called lately, and the model's last text of the turn.
    async fn recent(&self) -> (Vec<String>, String) {
        let query = LogQuery::newest(Limit::new(USED_MESSAGES));
        let Ok(page) = self.log.session().history(&query).await else { return (Vec::new(), String::new()) };
        let mut used: Vec<String> = page
            .messages
            .iter()
            .flat_map(|message| message.body().calls())
            .map(|call| call.name.clone())
            .collect();
        used.sort();
        used.dedup();
        let said = page.messages.iter().take_while(|message| message.role() != Role::User);
        let text = said
            .filter(|message| message.role() == Role::Assistant)
            .map(hermes_core::Message::text)
            .find(|text| !text.is_empty());
        (used, text.unwrap_or_default())
    }
}
