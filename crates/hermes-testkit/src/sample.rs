//! Records for tests, alike everywhere: times count from one fixed instant, names are short.

use std::time::Duration;

use hermes_core::{
    ApprovalNote, AttributeKey, Body, CallContext, CallId, CallReport, CallStarted, ContentPart,
    ContextMetadata, CounterId, FailureKind, FileRef, FileSource, Filled, HolderId, IdempotencyKey, JsonText,
    Layer, MemoryId, MemoryKind, MemoryRecord, MemorySource, MemoryStatus, NewArtifact, NewClaim, NewMessage,
    NewSession, NewState, Owner, Provenance, ProviderMetadata, Score, Seq, SessionId, StateKey, StepId,
    Summary, SummaryOrigin, Takeover, TenantId, TokenCount, Tokens, ToolCall, ToolResult, UserId, Version,
};
use jiff::Timestamp;

/// `seconds` after the instant that samples count from (2023-11-14 22:13:20.000001 UTC: odd microseconds show who drops them).
///
/// # Panics
/// Beyond the end of time.
#[must_use]
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microsecond(1_700_000_000_000_001 + seconds * 1_000_000).expect("a time in reach")
}

/// So many seconds.
#[must_use]
pub const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The user `user` of the tenant `tenant`.
///
/// # Panics
/// When one of them is no id.
#[must_use]
pub fn owner_of(tenant: &str, user: &str) -> Owner {
    Owner::new(TenantId::new(tenant).expect("a valid id"), UserId::new(user).expect("a valid id"))
}

/// The owner that most tests use.
#[must_use]
pub fn owner() -> Owner {
    owner_of("acme", "dana")
}

/// Another user of the same tenant, and the same user's name at another tenant.
#[must_use]
pub fn strangers() -> [Owner; 2] {
    [owner_of("acme", "erin"), owner_of("globex", "dana")]
}

/// A holder of leases and claims.
///
/// # Panics
/// When `name` is no id.
#[must_use]
pub fn holder(name: &str) -> HolderId {
    HolderId::new(name).expect("a valid id")
}

/// An idempotency key.
///
/// # Panics
/// When `text` is no id.
#[must_use]
pub fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("a valid id")
}

/// JSON text.
///
/// # Panics
/// When `text` is not JSON.
#[must_use]
pub fn json(text: &str) -> JsonText {
    JsonText::parse(text).expect("valid JSON")
}

/// JSON that is spoiled by whoever parses it and writes it again: order, white space, numbers, escapes, doubled names.
pub const AWKWARD_JSON: &str = "{\"z\": 1.0,  \"a\":\"\\u4f60\\/\", \"n\":12345678901234567890123, \"e\":1E2, \"z\" : null,\n\t\"中\":[ ]}";

/// A session of [`owner`] made at [`at`]`(0)`.
#[must_use]
pub fn session(title: &str) -> NewSession {
    session_of(&owner(), title)
}

/// A session made at [`at`]`(0)`.
#[must_use]
pub fn session_of(owner: &Owner, title: &str) -> NewSession {
    NewSession::new(owner.clone(), title, at(0))
}

/// A call.
///
/// # Panics
/// When `id` is no id.
#[must_use]
pub fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    ToolCall::new(CallId::new(id).expect("a valid id"), tool, arguments)
}

/// A successful result of a call.
#[must_use]
pub fn result_of(call: &ToolCall, text: &str) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        content: vec![ContentPart::Text(text.to_owned())],
        failure: None,
        report: CallReport::default(),
    }
}

/// The context of some call of some session of [`owner`].
#[must_use]
pub fn call_context() -> CallContext {
    CallContext::new(owner(), SessionId::generate(), Seq::new(1), StepId::generate(), CallId::generate())
}

/// Messages that use every part that a message can have.
#[must_use]
pub fn rich_messages() -> Vec<NewMessage> {
    let first = call("call_1", "search restaurant?", "{\"city\": \"成都\" , }");
    let second = call("call_1", "", "");
    let image = FileRef {
        media_type: "image/png".to_owned(),
        source: FileSource::Url("https://e.test/a?b=1&c".to_owned()),
    };
    let file = FileRef {
        media_type: "text/plain".to_owned(),
        source: FileSource::Artifact(hermes_core::ArtifactId::generate()),
    };
    let provider: ProviderMetadata =
        [("openai".to_owned(), json(AWKWARD_JSON)), ("Ünï".to_owned(), json("[1.50]"))].into();
    let started = CallStarted {
        call: first.id.clone(),
        tool: first.name.clone(),
        arguments: json(AWKWARD_JSON),
        key: Some(key("k/1:\"quoted\"")),
        filled: vec![Filled {
            pointer: "/party".to_owned(),
            value: json("2.0"),
            memory: MemoryId::generate(),
        }],
        repaired: vec!["a comma too many".to_owned()],
        approval: Some(ApprovalNote { by: "dana".to_owned(), at: at(3) }),
    };
    let report = CallReport {
        duration_us: u64::from(u32::MAX) + 7,
        attempts: 3,
        repaired: vec!["逗号".to_owned()],
        filled: vec![MemoryId::generate()],
        from_record: true,
        truncated: true,
        artifact: Some(hermes_core::ArtifactId::generate()),
    };
    let failed = ToolResult {
        call: first.id.clone(),
        tool: first.name.clone(),
        content: vec![ContentPart::Text("{\"success\":false}".to_owned()), ContentPart::Image(image.clone())],
        failure: Some(FailureKind::OutcomeUnknown),
        report,
    };
    let counted = TokenCount {
        tokens: Tokens::new(u32::MAX),
        counter: CounterId::new("o200k_base").expect("a valid id"),
    };
    let mut said = NewMessage::new(Body::User {
        content: vec![
            ContentPart::Text(
                "'; DROP TABLE \"messages\"; -- % _ \\ \u{1f35c} 你好\r\n\u{202e}e\u{301}".to_owned(),
            ),
            ContentPart::Image(image),
            ContentPart::File(file),
            ContentPart::Text(String::new()),
        ],
    });
    said.tokens = Some(counted);
    said.created = Some(at(-86_400 * 365 * 60));
    let step = StepId::generate();
    vec![
        NewMessage::system("Be kind."),
        said.with_sticky(),
        NewMessage::new(Body::Assistant {
            content: vec![ContentPart::Text("Let me look.".to_owned())],
            calls: vec![first.clone(), second],
        })
        .with_step(step)
        .with_provider(provider),
        NewMessage::started(started).with_step(step),
        NewMessage::result(failed).with_step(step),
        NewMessage::assistant(""),
        NewMessage::new(Body::User { content: Vec::new() }),
    ]
}

/// What is known about a context, with every part set.
#[must_use]
pub fn context(through: u64) -> ContextMetadata {
    ContextMetadata {
        summary: Some(Summary {
            text: "She likes Sichuan food. 她喜欢四川菜。".to_owned(),
            anchors: vec!["order 42".to_owned(), "/tmp/a b".to_owned()],
            through: Seq::new(through),
            origin: SummaryOrigin::Digest,
            tokens: Some(TokenCount {
                tokens: Tokens::new(9),
                counter: CounterId::new("cl100k_base").expect("a valid id"),
            }),
            created: at(7),
        }),
        sticky: vec![Seq::new(1), Seq::new(3)],
        remaining: Some(Tokens::new(1_000)),
        trimmed: Some(Tokens::ZERO),
        fold_failures: 2,
        fold_retry_at: Some(at(600)),
    }
}

/// An active episodic preference of [`owner`], made and updated at [`at`]`(0)`; its fingerprint is its content.
#[must_use]
pub fn memory(content: &str) -> MemoryRecord {
    MemoryRecord {
        id: MemoryId::generate(),
        owner: owner(),
        layer: Layer::Episodic,
        kind: MemoryKind::Preference,
        content: content.to_owned(),
        attribute: None,
        confidence: Score::clamped(0.875),
        weight: 1.0,
        source: MemorySource::Explicit,
        provenance: vec![Provenance {
            session: SessionId::generate(),
            messages: vec![Seq::new(1)],
            quote: None,
        }],
        created: at(0),
        updated: at(0),
        recalled: None,
        recall_count: 0,
        valid_from: at(0),
        valid_until: None,
        status: MemoryStatus::Active,
        supersedes: None,
        expires: None,
        fingerprint: content.to_owned(),
        version: Version::FIRST,
    }
}

/// A memory with every part set.
#[must_use]
pub fn rich_memory(content: &str) -> MemoryRecord {
    let quoted = Provenance {
        session: SessionId::generate(),
        messages: vec![Seq::new(2), Seq::new(9)],
        quote: Some("I live in \"成都\"; really".to_owned()),
    };
    MemoryRecord {
        layer: Layer::Semantic,
        kind: MemoryKind::Fact,
        attribute: Some(AttributeKey { subject: "user".to_owned(), attribute: "home city".to_owned() }),
        confidence: Score::clamped(0.1),
        weight: 0.3,
        source: MemorySource::UserCommand,
        provenance: vec![
            quoted,
            Provenance { session: SessionId::generate(), messages: Vec::new(), quote: None },
        ],
        updated: at(50),
        recalled: Some(at(60)),
        recall_count: 17,
        valid_from: at(-1_000_000),
        valid_until: Some(at(1_000_000)),
        status: MemoryStatus::Demoted,
        supersedes: Some(MemoryId::generate()),
        expires: Some(at(2_000_000)),
        fingerprint: format!("fact|{content}"),
        ..memory(content)
    }
}

/// A claim made at [`at`]`(now)` that expires 60 seconds later and takes nothing over.
#[must_use]
pub fn claim(session: SessionId, holder_name: &str, now: i64) -> NewClaim {
    NewClaim {
        session,
        tool: "make_reservation".to_owned(),
        holder: holder(holder_name),
        at: at(now),
        expires: at(now + 60),
        takeover: Takeover::Never,
    }
}

/// A text artifact made at [`at`]`(created)` without expiry.
#[must_use]
pub fn artifact(bytes: impl AsRef<[u8]>, created: i64) -> NewArtifact {
    NewArtifact {
        media_type: "text/plain; charset=utf-8".to_owned(),
        name: "output of \"search\" 搜索".to_owned(),
        bytes: bytes.as_ref().to_vec(),
        created: at(created),
        expires: None,
    }
}

/// The name of a state entry.
#[must_use]
pub fn state_key(key: &str) -> StateKey {
    StateKey::new("hermes.test", key)
}

/// A state entry set at [`at`]`(now)`, of no session and without expiry.
#[must_use]
pub fn state(value: &str, now: i64) -> NewState {
    NewState { value: json(value), session: None, at: at(now), expires: None }
}
