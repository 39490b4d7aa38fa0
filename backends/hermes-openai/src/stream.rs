//! The pieces of an answer, put together: no network here, so that every way of cutting can be tried.

use std::collections::{BTreeMap, VecDeque};

use hermes_core::{CallId, ChatEvent, FinishReason, ModelError, ToolCall, Usage};
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::{Complaint, Secrets};
use crate::reasoning::Kept;
use crate::usage::WireUsage;
use crate::wire::{Choice, Chunk, Fragment, Said, arguments, text};

/// What marks the end of a stream.
const DONE: &str = "[DONE]";

/// An answer so far.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    secrets: Secrets,
    calls: Vec<Slot>,
    kept: Kept,
    usage: Option<Usage>,
    finish: Option<String>,
    /// Whether anything was said.
    begun: bool,
    done: bool,
}

/// A call whose parts are still coming.
#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Box<RawValue>>,
}

impl Assembler {
    /// An empty answer of a service that is asked with these secrets.
    pub(crate) fn new(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Takes one event of the stream.
    pub(crate) fn event(
        &mut self,
        event: &str,
        data: &str,
        out: &mut VecDeque<ChatEvent>,
    ) -> Result<(), ModelError> {
        let data = data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == DONE {
            self.done = true;
            return Ok(());
        }
        if event == "error" {
            return Err(Complaint::read(&self.secrets.hide(data)).into_stream_error());
        }
        let chunk = self.read(data)?;
        self.usage(&chunk);
        for choice in chunk.choices.into_iter().flatten().filter(is_first) {
            // A few services send a whole message where a piece is due, some of them after its pieces.
            let said = choice.delta.or(choice.message.filter(|_| !self.begun));
            self.said(said, out).map_err(|error| unreadable(&error))?;
            self.finish = choice.finish_reason.or_else(|| self.finish.take());
        }
        Ok(())
    }

    /// Takes a whole answer, of a service that does not stream.
    pub(crate) fn reply(&mut self, body: &str, out: &mut VecDeque<ChatEvent>) -> Result<(), ModelError> {
        let chunk = self.read(body)?;
        self.usage(&chunk);
        let Some(choice) = chunk.choices.into_iter().flatten().find(is_first) else {
            return Err(ModelError::BadResponse { reason: "the answer has no choices".to_owned() });
        };
        self.said(choice.message.or(choice.delta), out).map_err(|error| unreadable(&error))?;
        self.finish = choice.finish_reason;
        self.done = true;
        Ok(())
    }

    /// Whether the service has said that this is all.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the answer is whole, though usage may follow.
    pub(crate) const fn is_whole(&self) -> bool {
        self.done || self.finish.is_some()
    }

    /// What comes last: calls, opaque data, usage and the end.
    pub(crate) fn end(self, out: &mut VecDeque<ChatEvent>) -> Result<(), ModelError> {
        if !self.is_whole() {
            return Err(ModelError::Interrupted { source: None });
        }
        let mut calls = self.calls;
        calls.retain(|call| !(call.name.is_empty() && call.arguments.is_empty()));
        calls.sort_by_key(|call| call.index);
        let finish = match self.finish.as_deref() {
            _ if !calls.is_empty() => FinishReason::ToolCalls,
            Some("length" | "max_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            // What is in the message decides, not the service's word for it (g25).
            _ => FinishReason::Stop,
        };
        let mut extras = BTreeMap::new();
        for call in calls {
            if call.name.is_empty() {
                return Err(ModelError::BadResponse { reason: "a call names no tool".to_owned() });
            }
            let id = CallId::new(&call.id).unwrap_or_else(|_| CallId::generate());
            if let Some(extra) = call.extra {
                extras.insert(id.as_str().to_owned(), BTreeMap::from([("extra_content", extra)]));
            }
            out.push_back(ChatEvent::Call(ToolCall::new(id, call.name, call.arguments)));
        }
        out.extend(self.kept.finish(&extras).map(ChatEvent::Provider));
        out.extend(self.usage.map(ChatEvent::Usage));
        out.push_back(ChatEvent::Finished(finish));
        Ok(())
    }

    fn read<'a>(&self, data: &'a str) -> Result<Chunk<'a>, ModelError> {
        let complaint = || Complaint::within(&self.secrets.hide(data)).map(Complaint::into_stream_error);
        let chunk: Result<Chunk<'_>, _> = serde_json::from_str(data);
        match chunk {
            Ok(chunk) if chunk.error.is_none() && chunk.object.as_deref() != Some("error") => Ok(chunk),
            Ok(_) => Err(complaint().unwrap_or_else(|| Complaint::default().into_stream_error())),
            // A text that stops in the middle of JSON was cut off.
            Err(error) if error.classify() == Category::Eof => {
                Err(ModelError::Interrupted { source: Some(Box::new(error)) })
            }
            Err(error) => Err(complaint().unwrap_or_else(|| unreadable(&error))),
        }
    }

    /// Some services repeat a growing count with each piece: the last stands.
    fn usage(&mut self, chunk: &Chunk<'_>) {
        let usage = chunk.usage.and_then(|usage| serde_json::from_str::<WireUsage>(usage.get()).ok());
        self.usage = usage.map(|usage| usage.buckets()).or(self.usage);
    }

    fn said(
        &mut self,
        said: Option<Said<'_>>,
        out: &mut VecDeque<ChatEvent>,
    ) -> Result<(), serde_json::Error> {
        let Some(said) = said else { return Ok(()) };
        // Where a service sends the same thinking under two names, one is shown and both are kept.
        // What is no text is only kept.
        let mut thinking = text(said.reasoning_content).unwrap_or_default();
        if thinking.is_empty() {
            thinking = text(said.reasoning).unwrap_or_default();
        }
        for (name, piece) in [
            ("reasoning_content", said.reasoning_content),
            ("reasoning", said.reasoning),
            ("reasoning_details", said.reasoning_details),
        ] {
            if let Some(piece) = piece {
                self.kept.add(name, piece)?;
            }
        }
        if !thinking.is_empty() {
            out.push_back(ChatEvent::Reasoning(thinking));
        }
        for piece in [text(said.content)?, text(said.refusal)?] {
            if !piece.is_empty() {
                self.begun = true;
                out.push_back(ChatEvent::Text(piece));
            }
        }
        for fragment in said.tool_calls.into_iter().flatten() {
            self.begun = true;
            self.fragment(fragment, out)?;
        }
        Ok(())
    }

    fn fragment(
        &mut self,
        fragment: Fragment<'_>,
        out: &mut VecDeque<ChatEvent>,
    ) -> Result<(), serde_json::Error> {
        let id = fragment.id.unwrap_or_default();
        let (name, raw) =
            fragment.function.map_or((None, None), |function| (function.name, function.arguments));
        let name = name.unwrap_or_default();
        let more = arguments(raw)?;
        let place = self.place(fragment.index, &id, &name, &more);
        if place == self.calls.len() {
            self.calls.push(Slot { index: fragment.index, ..Slot::default() });
        }
        let Some(slot) = self.calls.get_mut(place) else { return Ok(()) };
        // What came first stays; a later null or empty text erases nothing.
        if slot.id.is_empty() {
            slot.id = id;
        }
        if slot.name.is_empty() && !name.is_empty() {
            out.push_back(ChatEvent::CallBegun { index: place, name: name.clone() });
            slot.name = name;
        }
        slot.arguments.push_str(&more);
        if let Some(extra) = fragment.extra_content {
            slot.extra = Some(extra.to_owned());
        }
        Ok(())
    }

    /// The call that a fragment belongs to; the number of calls when it begins a new one.
    fn place(&self, index: Option<u64>, id: &str, name: &str, more: &str) -> usize {
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| call.id == id),
        };
        let Some((place, call)) = found.and_then(|place| Some((place, self.calls.get(place)?))) else {
            return self.calls.len();
        };
        // Some services give every call the same index or none: a name with another id, or with arguments after whole
        // arguments, begins another call. A name or id alone does not, since others repeat both with each fragment.
        let named = !name.is_empty() && !call.name.is_empty();
        let another = if id.is_empty() || call.id.is_empty() {
            named && !more.is_empty() && serde_json::from_str::<IgnoredAny>(&call.arguments).is_ok()
        } else {
            named && id != call.id
        };
        if another { self.calls.len() } else { place }
    }
}

fn is_first(choice: &Choice<'_>) -> bool {
    choice.index.unwrap_or(0) == 0
}

fn unreadable(error: &serde_json::Error) -> ModelError {
    ModelError::BadResponse { reason: error.to_string() }
}

#[cfg(test)]
mod tests;
