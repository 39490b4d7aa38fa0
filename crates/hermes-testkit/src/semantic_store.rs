//! The cases of [`SemanticStore`], clause by clause.

pub mod query;
pub mod record;
pub mod space;

use hermes_core::{
    Candidate, EmbedderId, Embedding, Limit, MemoryFilter, MemoryId, MemoryRecord, SemanticQuery,
    SemanticStore,
};

use crate::check::ok;
use crate::sample::owner;

/// The space of these cases: three numbers, so that vectors can be written down.
pub(crate) fn space() -> EmbedderId {
    EmbedderId::new("plain@3").expect("a valid id")
}

/// A vector, brought to unit length.
pub(crate) fn vector(values: [f32; 3]) -> Embedding {
    Embedding::new(values.to_vec()).expect("finite numbers")
}

/// Binds the store to [`space`].
pub(crate) async fn bind(clause: &str, store: &dyn SemanticStore) {
    ok(clause, store.bind(&space(), 3).await);
}

/// Stores a record with a vector.
pub(crate) async fn create(
    clause: &str,
    store: &dyn SemanticStore,
    record: &MemoryRecord,
    values: [f32; 3],
) -> MemoryRecord {
    ok(clause, store.create(record, &vector(values)).await)
}

/// Asks for the usual owner's records.
pub(crate) async fn find(
    clause: &str,
    store: &dyn SemanticStore,
    vector: Option<Embedding>,
    terms: &[&str],
    filter: MemoryFilter,
    limit: usize,
) -> Vec<Candidate> {
    let terms = terms.iter().map(|term| (*term).to_owned()).collect();
    ok(
        clause,
        store.query(&owner(), &SemanticQuery { vector, terms, filter, limit: Limit::new(limit) }).await,
    )
}

/// The ids of candidates, in their order.
pub(crate) fn ids(candidates: &[Candidate]) -> Vec<MemoryId> {
    candidates.iter().map(|candidate| candidate.record.id).collect()
}
