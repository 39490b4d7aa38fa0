//! Every trait is implemented for `Arc<T>` and `Box<T>` of its implementors, so that a shared store is a store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    ApprovalRequest, Approver, ArtifactId, ArtifactRecord, ArtifactStore, CallContext, Candidate, ChatModel,
    ChatRequest, ChatStream, Claim, ClaimRecord, ClaimTicket, Clock, ContextMetadata, CounterId, Decision,
    EmbedError, Embedder, EmbedderId, EmbedderInfo, Embedding, EpisodicQuery, EpisodicStore, Expected,
    HolderId, IdempotencyKey, IdempotencyStore, JsonText, Lease, LeaseStore, Limit, LogPage, LogQuery,
    MemoryFilter, MemoryId, MemoryRecord, Message, ModelError, ModelInfo, NewArtifact, NewClaim, NewMessage,
    NewSession, NewState, Owner, Page, PageRequest, Purpose, SearchHit, SearchQuery, SemanticQuery,
    SemanticStore, Seq, SessionId, SessionStore, SourceTools, StateEntry, StateKey, StateStore, StoreError,
    StoredSession, Summarizer, SummaryRequest, TokenCounter, Tokens, Tool, ToolCall, ToolError, ToolHost,
    ToolOutcome, ToolOutput, ToolSource, ToolSpec, Version, WriteGuard,
};

/// Writes `impl Trait for Arc<T>` and `Box<T>`: methods marked `async` are awaited, the others called.
macro_rules! forward {
    ($trait:ident { $($body:tt)* }) => {
        forward!(@impl Arc, $trait { $($body)* });
        forward!(@impl Box, $trait { $($body)* });
    };
    (@impl $ptr:ident, $trait:ident {
        $(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) $(-> $out:ty)?;)*
        $(async fn $aname:ident(&self $(, $aarg:ident: $aty:ty)*) $(-> $aout:ty)?;)*
    }) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: $trait + ?Sized> $trait for $ptr<T> {
            $(fn $name(&self $(, $arg: $ty)*) $(-> $out)? { T::$name(self $(, $arg)*) })*
            $(async fn $aname(&self $(, $aarg: $aty)*) $(-> $aout)? { T::$aname(self $(, $aarg)*).await })*
        }
    };
}

forward!(LeaseStore {
    async fn acquire(&self, owner: &Owner, session: SessionId, holder: &HolderId, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError>;
    async fn renew(&self, lease: &Lease, ttl: Duration, at: Timestamp) -> Result<Lease, StoreError>;
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
});

forward!(SessionStore {
    async fn create(&self, session: &NewSession) -> Result<StoredSession, StoreError>;
    async fn get(&self, owner: &Owner, session: SessionId) -> Result<Option<StoredSession>, StoreError>;
    async fn list(&self, owner: &Owner, page: &PageRequest) -> Result<Page<StoredSession>, StoreError>;
    async fn rename(&self, owner: &Owner, session: SessionId, title: &str, guard: WriteGuard) -> Result<(), StoreError>;
    async fn append(&self, owner: &Owner, session: SessionId, expected: Seq, messages: &[NewMessage], guard: WriteGuard) -> Result<Vec<Message>, StoreError>;
    async fn page(&self, owner: &Owner, session: SessionId, query: &LogQuery) -> Result<LogPage, StoreError>;
    async fn messages(&self, owner: &Owner, session: SessionId, places: &[Seq]) -> Result<Vec<Message>, StoreError>;
    async fn put_context(&self, owner: &Owner, session: SessionId, context: &ContextMetadata, guard: WriteGuard) -> Result<(), StoreError>;
    async fn search(&self, owner: &Owner, query: &SearchQuery) -> Result<Page<SearchHit>, StoreError>;
    async fn fork(&self, owner: &Owner, session: SessionId, at: Seq, fork: &NewSession) -> Result<StoredSession, StoreError>;
    async fn delete(&self, owner: &Owner, session: SessionId, guard: WriteGuard) -> Result<bool, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(IdempotencyStore {
    async fn claim(&self, owner: &Owner, key: &IdempotencyKey, claim: &NewClaim) -> Result<Claim, StoreError>;
    async fn complete(&self, ticket: &ClaimTicket, outcome: &JsonText, at: Timestamp, retain_until: Timestamp) -> Result<(), StoreError>;
    async fn release(&self, ticket: &ClaimTicket) -> Result<(), StoreError>;
    async fn get(&self, owner: &Owner, key: &IdempotencyKey) -> Result<Option<ClaimRecord>, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(ArtifactStore {
    async fn put(&self, owner: &Owner, session: SessionId, artifact: NewArtifact) -> Result<ArtifactRecord, StoreError>;
    async fn get(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Result<Option<ArtifactRecord>, StoreError>;
    async fn read(&self, owner: &Owner, session: SessionId, id: ArtifactId, offset: u64, length: usize) -> Result<Vec<u8>, StoreError>;
    async fn list(&self, owner: &Owner, session: SessionId, page: &PageRequest) -> Result<Page<ArtifactRecord>, StoreError>;
    async fn delete(&self, owner: &Owner, session: SessionId, id: ArtifactId) -> Result<bool, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(StateStore {
    async fn get(&self, owner: &Owner, key: &StateKey) -> Result<Option<StateEntry>, StoreError>;
    async fn put(&self, owner: &Owner, key: &StateKey, state: &NewState, expected: Expected) -> Result<Version, StoreError>;
    async fn delete(&self, owner: &Owner, key: &StateKey, expected: Expected) -> Result<bool, StoreError>;
    async fn list(&self, owner: &Owner, namespace: &str, page: &PageRequest) -> Result<Page<StateEntry>, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(EpisodicStore {
    async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;
    async fn update(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;
    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError>;
    async fn list(&self, owner: &Owner, filter: &MemoryFilter, page: &PageRequest) -> Result<Page<MemoryRecord>, StoreError>;
    async fn query(&self, owner: &Owner, query: &EpisodicQuery) -> Result<Vec<Candidate>, StoreError>;
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError>;
    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(SemanticStore {
    async fn bind(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError>;
    async fn reset(&self, space: &EmbedderId, dimension: usize) -> Result<(), StoreError>;
    async fn unembedded(&self, limit: Limit) -> Result<Vec<MemoryRecord>, StoreError>;
    async fn create(&self, record: &MemoryRecord, vector: &Embedding) -> Result<MemoryRecord, StoreError>;
    async fn update(&self, record: &MemoryRecord, vector: Option<&Embedding>) -> Result<MemoryRecord, StoreError>;
    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError>;
    async fn list(&self, owner: &Owner, filter: &MemoryFilter, page: &PageRequest) -> Result<Page<MemoryRecord>, StoreError>;
    async fn query(&self, owner: &Owner, query: &SemanticQuery) -> Result<Vec<Candidate>, StoreError>;
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError>;
    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
});

forward!(ChatModel {
    fn info(&self) -> &ModelInfo;
    async fn stream(&self, request: ChatRequest) -> Result<ChatStream, ModelError>;
});

forward!(Summarizer {
    async fn summarize(&self, request: SummaryRequest) -> Result<String, ModelError>;
});

forward!(Embedder {
    fn info(&self) -> &EmbedderInfo;
    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, EmbedError>;
});

forward!(Tool {
    fn spec(&self) -> Arc<ToolSpec>;
    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError>;
});

forward!(ToolHost {
    fn specs(&self) -> Vec<Arc<ToolSpec>>;
    async fn call(&self, call: &ToolCall, context: CallContext) -> ToolOutcome;
});

forward!(ToolSource {
    fn name(&self) -> &str;
    fn tools(&self) -> SourceTools;
    async fn changed(&self, after: u64);
});

forward!(Approver {
    async fn decide(&self, request: &ApprovalRequest<'_>) -> Decision;
});

forward!(TokenCounter {
    fn id(&self) -> &CounterId;
    fn count(&self, text: &str) -> Tokens;
});

forward!(Clock {
    fn now(&self) -> Timestamp;
});
