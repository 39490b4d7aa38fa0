//! From what the model wrote to what is executed: repair, check, fill (T3, T4, L2).

use std::borrow::Cow;

use hermes_core::{CallContext, Filled, IdempotencyKey, JsonText, ToolCall, ToolOutcome};
use hermes_text::Language;
use serde_json::Value;

use crate::canonical;
use crate::config::Repair;
use crate::contract::Entry;
use crate::feedback::{ArgumentFault, Pattern, Room, Wording};
use crate::hook::ArgumentFiller;
use crate::options::{Approved, ExecuteOptions, Resume};
use crate::registry::{Settings, ToolRegistry};
use crate::repair;
use crate::schema;
use crate::stats::{Arguments, Caller};
use crate::validate::{self, Problem, Violation};

/// Arguments that fit the contract, and the key of the effect.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) arguments: JsonText,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) filled: Vec<Filled>,
    pub(crate) repaired: Vec<String>,
}

/// The arguments of a call as they can be given back to a provider: the text itself where it is a JSON object, the mended text where it
/// can be mended, and otherwise `{}`. Providers refuse a history whose arguments are not JSON.
///
/// ```
/// use hermes_tools::replayed_arguments;
/// assert_eq!(replayed_arguments(r#"{"a": 1}"#), r#"{"a": 1}"#);
/// assert_eq!(replayed_arguments("  "), "{}");
/// ```
#[must_use]
pub fn replayed_arguments(text: &str) -> Cow<'_, str> {
    match repair::read_repaired(text) {
        Ok(read) if read.value.is_object() && read.repaired.is_empty() => Cow::Borrowed(text),
        Ok(read) if read.value.is_object() => Cow::Owned(read.text),
        _ => Cow::Borrowed("{}"),
    }
}

/// What a registered contract says about arguments, without running anything: for tests of schemas and for measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// They would be executed as this, after these repairs.
    Fits {
        /// The arguments that would be executed.
        arguments: JsonText,
        /// What was repaired.
        repaired: Vec<String>,
    },
    /// They would be refused.
    Refused {
        /// What is wrong.
        fault: ArgumentFault,
        /// What the model would be told.
        feedback: String,
    },
}

impl ToolRegistry {
    /// Checks a call's arguments without running it; `None` when there is no such tool.
    #[must_use]
    pub fn check(&self, call: &ToolCall) -> Option<Verdict> {
        let table = self.shared.table();
        let entry = table.tools.get(&call.name)?;
        Some(match read(entry, &self.settings, &call.arguments) {
            Ok((read, violations)) if violations.is_empty() => {
                Verdict::Fits { arguments: text_of(&read), repaired: in_words(&read) }
            }
            refused => {
                let fault = refused
                    .map_or_else(|fault| fault, |(_, violations)| ArgumentFault::Violations(violations));
                let wording = self.wording(call, &ExecuteOptions::default());
                let feedback = refusal(&self.settings, wording, entry, &fault);
                Verdict::Refused { fault, feedback: error_text(feedback) }
            }
        })
    }

    /// The words for a call: those that are set, else those of the user, else those of its arguments.
    pub(crate) fn wording(&self, call: &ToolCall, options: &ExecuteOptions) -> Wording {
        let language = self.settings.language.or(options.language);
        Wording::new(language.unwrap_or_else(|| guess(&call.arguments)))
    }

    /// Gives what is to be executed, or what the model is told.
    pub(crate) async fn prepare(
        &self,
        entry: &Entry,
        call: &ToolCall,
        context: &CallContext,
        options: &ExecuteOptions,
        caller: Caller<'_>,
        wording: Wording,
    ) -> Result<Prepared, Box<ToolOutcome>> {
        if let Some(Resume { started, .. }) = &options.resume {
            return Ok(Prepared {
                arguments: started.arguments.clone(),
                key: started.key.clone(),
                filled: started.filled.clone(),
                repaired: started.repaired.clone(),
            });
        }
        if let Some(approved) = &options.approved {
            return self.prepare_approved(entry, call, approved, wording);
        }
        let (mut read, mut violations) = match read(entry, &self.settings, &call.arguments) {
            Ok(read) => read,
            Err(fault) => {
                self.shared.stats.checked(caller, Arguments::Refused);
                return Err(Box::new(refusal(&self.settings, wording, entry, &fault)));
            }
        };
        let mut filled = Vec::new();
        if let Some(filler) = options.filler.as_deref().filter(|_| only_missing(&violations))
            && let Some((value, supplied)) = fill(filler, entry, &read.value, context).await
        {
            read.text = value.to_string();
            read.value = value;
            (filled, violations) = (supplied, Vec::new());
        }
        if !violations.is_empty() {
            self.shared.stats.checked(caller, Arguments::Refused);
            return Err(Box::new(refusal(
                &self.settings,
                wording,
                entry,
                &ArgumentFault::Violations(violations),
            )));
        }
        let as_they_came = read.repaired.is_empty() && filled.is_empty();
        self.shared
            .stats
            .checked(caller, if as_they_came { Arguments::Fitting } else { Arguments::Repaired });
        let key = key_of(entry, context, &read.value)
            .map_err(|error| Box::new(wording.not_started(&call.name, &error)))?;
        Ok(Prepared { arguments: text_of(&read), key, filled, repaired: in_words(&read) })
    }

    /// What was approved is executed as it was shown, if the contract still allows it.
    fn prepare_approved(
        &self,
        entry: &Entry,
        call: &ToolCall,
        approved: &Approved,
        wording: Wording,
    ) -> Result<Prepared, Box<ToolOutcome>> {
        let shown = &approved.call;
        if shown.call != *call {
            return Err(Box::new(wording.not_started(&call.name, &"the approval is for another call")));
        }
        let value = shown.arguments.read::<Value>().unwrap_or_default();
        let violations = validate::violations(entry, &value);
        if !violations.is_empty() {
            return Err(Box::new(refusal(
                &self.settings,
                wording,
                entry,
                &ArgumentFault::Violations(violations),
            )));
        }
        Ok(Prepared {
            arguments: shown.arguments.clone(),
            key: shown.key.clone(),
            filled: shown.filled.clone(),
            repaired: shown.repaired.clone(),
        })
    }
}

/// How much of the arguments is looked at for their language.
const GUESS_BYTES: usize = 4_096;

fn guess(arguments: &str) -> Language {
    let arguments = hermes_text::truncate_bytes(arguments, GUESS_BYTES);
    // Nearly all calls, and this is on the path of each.
    if arguments.is_ascii() {
        return Language::English;
    }
    hermes_text::lang::guess(arguments)
}

/// Reads, mends and checks.
fn read(
    entry: &Entry,
    settings: &Settings,
    text: &str,
) -> Result<(repair::Read, Vec<Violation>), ArgumentFault> {
    let mends = settings.config.repair == Repair::On;
    let read = if mends { repair::read_repaired(text) } else { repair::read(text) };
    let read = read.map_err(|reason| ArgumentFault::NotJson { reason })?;
    if !read.value.is_object() {
        return Err(ArgumentFault::NotAnObject { got: validate::type_of(&read.value) });
    }
    if entry.validator.is_valid(&read.value) {
        return Ok((read, Vec::new()));
    }
    let read = if mends { repair::mend_values(&entry.validator, read) } else { read };
    let violations = validate::violations(entry, &read.value);
    Ok((read, violations))
}

/// The text that came where nothing was changed: numbers keep their digits.
fn text_of(read: &repair::Read) -> JsonText {
    JsonText::parse(&read.text).unwrap_or_else(|_| JsonText::from(&read.value))
}

fn in_words(read: &repair::Read) -> Vec<String> {
    read.repaired.iter().map(ToString::to_string).collect()
}

fn refusal(settings: &Settings, wording: Wording, entry: &Entry, fault: &ArgumentFault) -> ToolOutcome {
    let count = |text: &str| settings.count(text);
    let limit = usize::try_from(settings.config.feedback_tokens).unwrap_or(usize::MAX);
    let example = entry.spec.examples.first().map(|example| Pattern::Example(example.to_string()));
    let pattern = example.or_else(|| match fault {
        ArgumentFault::Violations(violations) => validate::shape(entry, violations).map(Pattern::Shape),
        _ => None,
    });
    wording.refused(&entry.spec.name, fault, pattern.as_ref(), &Room { count: &count, limit })
}

fn error_text(outcome: ToolOutcome) -> String {
    match outcome.result {
        hermes_core::Outcome::Failure { error, .. } => error,
        hermes_core::Outcome::Success { .. } => String::new(),
    }
}

fn key_of(
    entry: &Entry,
    context: &CallContext,
    arguments: &Value,
) -> Result<Option<IdempotencyKey>, hermes_text::CanonicalError> {
    let Some(rule) = entry.spec.key_rule() else { return Ok(None) };
    canonical::key_of(&rule, &context.owner, context.into(), &entry.spec.name, arguments).map(Some)
}

fn only_missing(violations: &[Violation]) -> bool {
    !violations.is_empty()
        && violations.iter().all(|violation| matches!(violation.problem, Problem::Missing { .. }))
}

/// The arguments with what memory supplies, if they fit then. What is there is never replaced, and a value that the schema refuses is
/// not taken.
async fn fill(
    filler: &dyn ArgumentFiller,
    entry: &Entry,
    arguments: &Value,
    context: &CallContext,
) -> Option<(Value, Vec<Filled>)> {
    let missing = validate::fillable(entry, arguments);
    if missing.is_empty() {
        return None;
    }
    let mut value = arguments.clone();
    let mut taken: Vec<Filled> = Vec::new();
    for offer in filler.fill(&entry.spec, arguments, &missing, context).await {
        let asked = missing.iter().any(|missing| missing.pointer == offer.pointer);
        let new = value.pointer(&offer.pointer).is_none();
        if !asked || !new {
            continue;
        }
        let Some(candidate) = with(&value, &offer) else { continue };
        let fits = validate::violations(entry, &candidate).iter().all(|left| {
            matches!(left.problem, Problem::Missing { .. }) && !is_inside(&left.pointer, &offer.pointer)
        });
        if fits {
            value = candidate;
            taken.push(offer);
        }
    }
    (!taken.is_empty() && entry.validator.is_valid(&value)).then_some((value, taken))
}

fn with(arguments: &Value, offer: &Filled) -> Option<Value> {
    let (parent, name) = offer.pointer.rsplit_once('/')?;
    let mut candidate = arguments.clone();
    let object = candidate.pointer_mut(parent)?.as_object_mut()?;
    object.insert(schema::unescape(name), offer.value.read().ok()?);
    Some(candidate)
}

fn is_inside(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
