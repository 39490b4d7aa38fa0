//! The clauses that both memory stores keep (EP1–EP5, EP7–EP10, SE1), written once.

use std::cmp::Reverse;

use hermes_core::{
    Embedder as _, EpisodicStore, Limit, MemoryFilter, MemoryId, MemoryKind, MemoryRecord, MemoryStatus,
    Owner, Page, PageRequest, Provenance, SemanticStore, Seq, SessionId, StoreError, Version, async_trait,
};
use jiff::Timestamp;

use crate::check::{ok, refused, strange_page, walk};
use crate::fake::HashEmbedder;
use crate::sample::{at, memory, owner, rich_memory, strangers};

/// What the two stores have in common.
#[async_trait]
pub(crate) trait Records: Sync {
    /// How a complaint about this clause begins.
    fn clause(&self, clause: &str) -> String;
    async fn create(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;
    async fn update(&self, record: &MemoryRecord) -> Result<MemoryRecord, StoreError>;
    async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError>;
    async fn list(
        &self,
        owner: &Owner,
        filter: &MemoryFilter,
        page: &PageRequest,
    ) -> Result<Page<MemoryRecord>, StoreError>;
    async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError>;
    async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError>;
    async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError>;
    async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError>;
    async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError>;
}

/// An episodic store's records.
pub(crate) struct Episodic<'a>(pub(crate) &'a dyn EpisodicStore);

/// A semantic store's records, each with the vector of its content.
pub(crate) struct Semantic<'a>(&'a dyn SemanticStore, HashEmbedder);

impl<'a> Semantic<'a> {
    /// The records of a store that is bound to the space of the usual embedder.
    pub(crate) async fn bound(store: &'a dyn SemanticStore) -> Self {
        let embedder = HashEmbedder::with_dimension(64);
        ok("SE2", store.bind(&embedder.info().id, embedder.info().dimension).await);
        Self(store, embedder)
    }
}

macro_rules! records {
    ($for:ident, |$self:ident| $clause:expr, |$one:ident, $record:ident| $create:expr, $update:expr) => {
        #[async_trait]
        impl Records for $for<'_> {
            fn clause(&$self, clause: &str) -> String {
                format!($clause, clause)
            }
            async fn create(&self, $record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
                let $one = self;
                $create.await
            }
            async fn update(&self, $record: &MemoryRecord) -> Result<MemoryRecord, StoreError> {
                let $one = self;
                $update.await
            }
            async fn get(&self, owner: &Owner, id: MemoryId) -> Result<Option<MemoryRecord>, StoreError> {
                self.0.get(owner, id).await
            }
            async fn list(
                &self,
                owner: &Owner,
                filter: &MemoryFilter,
                page: &PageRequest,
            ) -> Result<Page<MemoryRecord>, StoreError> {
                self.0.list(owner, filter, page).await
            }
            async fn touch(&self, owner: &Owner, ids: &[MemoryId], at: Timestamp) -> Result<(), StoreError> {
                self.0.touch(owner, ids, at).await
            }
            async fn delete(&self, owner: &Owner, id: MemoryId) -> Result<bool, StoreError> {
                self.0.delete(owner, id).await
            }
            async fn erase_user(&self, owner: &Owner) -> Result<u64, StoreError> {
                self.0.erase_user(owner).await
            }
            async fn erase_session(&self, owner: &Owner, session: SessionId) -> Result<u64, StoreError> {
                self.0.erase_session(owner, session).await
            }
            async fn collect(&self, now: Timestamp, limit: Limit) -> Result<u64, StoreError> {
                self.0.collect(now, limit).await
            }
        }
    };
}

records!(Episodic, |self| "{}", |store, record| store.0.create(record), store.0.update(record));
records!(
    Semantic,
    |self| "SE1 ({})",
    |store, record| store.0.create(record, &store.1.vector(&record.content)),
    store.0.update(record, Some(&store.1.vector(&record.content)))
);

async fn stored(clause: &str, store: &dyn Records, id: MemoryId) -> MemoryRecord {
    ok(clause, store.get(&owner(), id).await).unwrap_or_else(|| panic!("{clause}: the record is not there"))
}

/// EP1.
pub(crate) async fn create_then_get(store: &dyn Records) {
    let clause = &store.clause("EP1");
    for mut new in [memory("likes tea"), rich_memory("lives in 成都; \"really\"")] {
        for version in [Version::new(0), Version::new(17)] {
            new.id = MemoryId::generate();
            new.fingerprint = format!("{}", new.id);
            new.version = version;
            let expected = MemoryRecord { version: Version::FIRST, ..new.clone() };
            assert_eq!(ok(clause, store.create(&new).await), expected, "{clause}: what create gives");
            assert_eq!(stored(clause, store, new.id).await, expected, "{clause}: what get gives");
        }
    }
    let none = ok(clause, store.get(&owner(), MemoryId::generate()).await);
    assert!(none.is_none(), "{clause}: a record that never was is not there");
}

/// EP2, ids.
pub(crate) async fn create_refuses_a_taken_id(store: &dyn Records) {
    let clause = &store.clause("EP2");
    let first = ok(clause, store.create(&memory("first")).await);
    for owner in [owner()].into_iter().chain(strangers()) {
        let second = MemoryRecord { id: first.id, owner, ..memory("second") };
        let id = refused!(clause, store.create(&second).await, StoreError::Exists { id, .. } => id);
        assert_eq!(id, first.id.to_string(), "{clause}: the error names the record that is there");
    }
    assert_eq!(stored(clause, store, first.id).await, first, "{clause}: the first is unchanged");
}

/// EP2, fingerprints.
pub(crate) async fn one_active_record_has_a_fingerprint(store: &dyn Records) {
    let clause = &store.clause("EP2");
    let mut first = ok(clause, store.create(&memory("likes tea")).await);
    let same = memory("likes tea");
    let id = refused!(clause, store.create(&same).await, StoreError::Exists { id, .. } => id);
    assert_eq!(id, first.id.to_string(), "{clause}: the error names the record that is there");
    assert!(ok(clause, store.get(&owner(), same.id).await).is_none(), "{clause}: the second is not stored");
    for stranger in strangers() {
        ok(clause, store.create(&MemoryRecord { owner: stranger, ..memory("likes tea") }).await);
    }
    first.status = MemoryStatus::Expired;
    ok(clause, store.update(&first).await);
    ok(&format!("{clause}: the first counts no more"), store.create(&same).await);
}

/// EP3.
pub(crate) async fn update_checks_the_version(store: &dyn Records) {
    let clause = &store.clause("EP3");
    let first = ok(clause, store.create(&memory("likes tea")).await);
    let changed = MemoryRecord { id: first.id, version: first.version, ..rich_memory("likes coffee") };
    let second = ok(clause, store.update(&changed).await);
    assert_eq!(
        second,
        MemoryRecord { version: Version::new(2), ..changed.clone() },
        "{clause}: what update gives"
    );
    assert_eq!(stored(clause, store, first.id).await, second, "{clause}: every part is replaced");
    for wrong in [1, 3, 0] {
        let stale =
            MemoryRecord { version: Version::new(wrong), content: "stale".to_owned(), ..changed.clone() };
        let versions = refused!(clause, store.update(&stale).await,
            StoreError::VersionMismatch { expected, actual, .. } => (expected, actual));
        assert_eq!(versions, (wrong, 2), "{clause}: the error says both versions");
    }
    assert_eq!(stored(clause, store, first.id).await, second, "{clause}: nothing changed");
    let third = ok(clause, store.update(&second).await);
    assert_eq!(third.version, Version::new(3), "{clause}: the next version");
    refused!(clause, store.update(&memory("never stored")).await, StoreError::NotFound { .. });
}

/// EP3, fingerprints.
pub(crate) async fn update_cannot_make_two_active(store: &dyn Records) {
    let clause = &store.clause("EP3");
    let old = MemoryRecord { status: MemoryStatus::Expired, ..memory("likes tea") };
    let old = ok(clause, store.create(&old).await);
    let new = ok(clause, store.create(&memory("likes tea")).await);
    let revived = MemoryRecord { status: MemoryStatus::Active, ..old.clone() };
    let id = refused!(clause, store.update(&revived).await, StoreError::Exists { id, .. } => id);
    assert_eq!(id, new.id.to_string(), "{clause}: the error names the active record");
    assert_eq!(stored(clause, store, old.id).await, old, "{clause}: nothing changed");
    let kept = ok(clause, store.update(&MemoryRecord { recall_count: 5, ..new.clone() }).await);
    assert_eq!(kept.recall_count, 5, "{clause}: a record is not its own rival");
}

/// EP4.
pub(crate) async fn strangers_see_nothing(store: &dyn Records) {
    let clause = &store.clause("EP4");
    let mine = ok(clause, store.create(&memory("likes tea")).await);
    for stranger in strangers() {
        assert!(
            ok(clause, store.get(&stranger, mine.id).await).is_none(),
            "{clause}: get gives {stranger} none"
        );
        let theirs = MemoryRecord { owner: stranger.clone(), content: "stolen".to_owned(), ..mine.clone() };
        refused!(clause, store.update(&theirs).await, StoreError::NotFound { .. });
        let page = ok(clause, store.list(&stranger, &MemoryFilter::default(), &PageRequest::default()).await);
        assert!(page.items.is_empty(), "{clause}: the list of {stranger} is empty");
        ok(clause, store.touch(&stranger, &[mine.id], at(99)).await);
        assert!(!ok(clause, store.delete(&stranger, mine.id).await), "{clause}: {stranger} deletes nothing");
    }
    assert_eq!(stored(clause, store, mine.id).await, mine, "{clause}: the record is unchanged");
}

/// EP5.
pub(crate) async fn list_is_newest_first_in_pages(store: &dyn Records) {
    let clause = &store.clause("EP5");
    let mut expected = Vec::new();
    for (n, updated) in [30, 10, 30, 20, 30, 10, 40].into_iter().enumerate() {
        let new = MemoryRecord { updated: at(updated), ..memory(&format!("memory {n}")) };
        expected.push(ok(clause, store.create(&new).await));
    }
    expected.sort_by_key(|record| Reverse((record.updated, record.id)));
    let all = MemoryFilter::default();
    for limit in [1, 3, 7, 100] {
        let listed = walk(clause, limit, async |page| store.list(&owner(), &all, &page).await).await;
        assert_eq!(listed, expected, "{clause}: last updated first, {limit} a page");
    }
    refused!(clause, store.list(&owner(), &all, &strange_page()).await, StoreError::Invalid { .. });
}

/// Records that differ in all that a filter looks at, and filters that tell them apart.
pub(crate) fn varied() -> (Vec<MemoryRecord>, Vec<MemoryFilter>) {
    let session = SessionId::generate();
    let proof = |session| Provenance { session, messages: vec![Seq::new(1)], quote: None };
    let mut records = Vec::new();
    for (n, kind) in [MemoryKind::Preference, MemoryKind::Fact, MemoryKind::Event, MemoryKind::Habit]
        .into_iter()
        .enumerate()
    {
        for (m, status) in
            [MemoryStatus::Active, MemoryStatus::Expired, MemoryStatus::Demoted].into_iter().enumerate()
        {
            let place = n * 3 + m;
            let mut record = MemoryRecord { kind, status, ..memory(&format!("tea {place}")) };
            record.updated = at(i64::try_from(place).expect("a small number") * 10);
            if place % 2 == 0 {
                record.valid_from = at(50);
                record.valid_until = Some(at(100));
            }
            if place % 3 == 0 {
                record.attribute = rich_memory("").attribute;
                record.provenance = vec![proof(SessionId::generate()), proof(session)];
            }
            records.push(record);
        }
    }
    let all = MemoryFilter::default;
    let other_attribute =
        hermes_core::AttributeKey { subject: "user".to_owned(), attribute: "home".to_owned() };
    let filters = vec![
        all(),
        MemoryFilter { kinds: vec![MemoryKind::Fact], ..all() },
        MemoryFilter { kinds: vec![MemoryKind::Event, MemoryKind::Habit], ..all() },
        MemoryFilter { statuses: vec![MemoryStatus::Active], ..all() },
        MemoryFilter { statuses: vec![MemoryStatus::Active, MemoryStatus::Demoted], ..all() },
        MemoryFilter { updated_since: Some(at(60)), ..all() },
        MemoryFilter { updated_since: Some(at(90)), ageless: vec![MemoryKind::Fact], ..all() },
        MemoryFilter { ageless: vec![MemoryKind::Fact], ..all() },
        MemoryFilter { valid_at: Some(at(49)), ..all() },
        MemoryFilter { valid_at: Some(at(50)), ..all() },
        MemoryFilter { valid_at: Some(at(99)), ..all() },
        MemoryFilter { valid_at: Some(at(100)), ..all() },
        MemoryFilter { session: Some(session), ..all() },
        MemoryFilter { session: Some(SessionId::generate()), ..all() },
        MemoryFilter { attribute: rich_memory("").attribute, ..all() },
        MemoryFilter { attribute: Some(other_attribute), ..all() },
        MemoryFilter {
            kinds: vec![MemoryKind::Preference, MemoryKind::Fact, MemoryKind::Event],
            statuses: vec![MemoryStatus::Active],
            updated_since: Some(at(30)),
            ageless: vec![MemoryKind::Preference],
            valid_at: Some(at(70)),
            session: Some(session),
            attribute: rich_memory("").attribute,
        },
    ];
    (records, filters)
}

/// EP5, filters.
pub(crate) async fn list_gives_what_the_filter_matches(store: &dyn Records) {
    let clause = &store.clause("EP5");
    let (records, filters) = varied();
    let mut all = Vec::new();
    for record in &records {
        all.push(ok(clause, store.create(record).await));
    }
    all.sort_by_key(|record| Reverse((record.updated, record.id)));
    for filter in filters {
        let expected: Vec<_> = all.iter().filter(|record| filter.matches(record)).cloned().collect();
        let listed = walk(clause, 2, async |page| store.list(&owner(), &filter, &page).await).await;
        assert_eq!(listed, expected, "{clause}: what {filter:?} matches");
    }
}

/// EP7.
pub(crate) async fn touch_counts_recalls(store: &dyn Records) {
    let clause = &store.clause("EP7");
    let touched = ok(clause, store.create(&rich_memory("likes tea")).await);
    let other = ok(clause, store.create(&memory("likes coffee")).await);
    ok(clause, store.touch(&owner(), &[], at(90)).await);
    ok(clause, store.touch(&owner(), &[touched.id, MemoryId::generate()], at(100)).await);
    ok(clause, store.touch(&owner(), &[MemoryId::generate(), touched.id], at(110)).await);
    let expected =
        MemoryRecord { recalled: Some(at(110)), recall_count: touched.recall_count + 2, ..touched };
    assert_eq!(
        stored(clause, store, expected.id).await,
        expected,
        "{clause}: recalled and its count, and nothing else"
    );
    assert_eq!(stored(clause, store, other.id).await, other, "{clause}: the other is unchanged");
    ok(&format!("{clause}: the version stands"), store.update(&expected).await);
}

/// EP8.
pub(crate) async fn delete_removes_one(store: &dyn Records) {
    let clause = &store.clause("EP8");
    let gone = ok(clause, store.create(&memory("likes tea")).await);
    let kept = ok(clause, store.create(&memory("likes coffee")).await);
    assert!(ok(clause, store.delete(&owner(), gone.id).await), "{clause}: there was one");
    assert!(!ok(clause, store.delete(&owner(), gone.id).await), "{clause}: there is none any more");
    assert!(ok(clause, store.get(&owner(), gone.id).await).is_none(), "{clause}: it is gone");
    refused!(clause, store.update(&gone).await, StoreError::NotFound { .. });
    assert_eq!(stored(clause, store, kept.id).await, kept, "{clause}: the other stays");
    ok(&format!("{clause}: its fingerprint is free"), store.create(&memory("likes tea")).await);
    ok(
        &format!("{clause}: its id is free"),
        store.create(&MemoryRecord { fingerprint: "x".to_owned(), ..gone }).await,
    );
}

/// EP9.
pub(crate) async fn erase_removes_all_of_an_owner_or_session(store: &dyn Records) {
    let clause = &store.clause("EP9");
    let (first, second) = (SessionId::generate(), SessionId::generate());
    let proved_by = |sessions: &[SessionId]| -> Vec<Provenance> {
        sessions
            .iter()
            .map(|session| Provenance { session: *session, messages: vec![Seq::new(1)], quote: None })
            .collect()
    };
    let cases = [
        ("only the first", proved_by(&[first])),
        ("twice the first", proved_by(&[first, first])),
        ("both", proved_by(&[first, second])),
        ("only the second", proved_by(&[second])),
        ("nothing", proved_by(&[])),
    ];
    for who in [owner()].into_iter().chain(strangers()) {
        for (content, provenance) in &cases {
            let new = MemoryRecord { owner: who.clone(), provenance: provenance.clone(), ..memory(content) };
            ok(clause, store.create(&new).await);
        }
    }
    let contents = async |who: Owner| {
        let listed =
            walk(clause, 10, async |page| store.list(&who, &MemoryFilter::default(), &page).await).await;
        let mut contents: Vec<_> = listed.into_iter().map(|record| record.content).collect();
        contents.sort_unstable();
        contents
    };
    assert_eq!(ok(clause, store.erase_session(&owner(), first).await), 2, "{clause}: of the session");
    assert_eq!(
        contents(owner()).await,
        ["both", "nothing", "only the second"],
        "{clause}: what others prove stays"
    );
    assert_eq!(ok(clause, store.erase_user(&owner()).await), 3, "{clause}: of the owner");
    assert_eq!(ok(clause, store.erase_user(&owner()).await), 0, "{clause}: nothing is left");
    assert!(contents(owner()).await.is_empty(), "{clause}: the owner has none");
    for stranger in strangers() {
        assert_eq!(contents(stranger.clone()).await.len(), cases.len(), "{clause}: {stranger} keeps all");
    }
}

/// EP10.
pub(crate) async fn collect_removes_what_has_expired(store: &dyn Records) {
    let clause = &store.clause("EP10");
    for (content, expires) in
        [("a", Some(90)), ("b", Some(100)), ("c", Some(100)), ("d", Some(101)), ("e", None)]
    {
        ok(clause, store.create(&MemoryRecord { expires: expires.map(at), ..memory(content) }).await);
    }
    assert_eq!(ok(clause, store.collect(at(89), Limit::MAX).await), 0, "{clause}: nothing has expired");
    assert_eq!(ok(clause, store.collect(at(100), Limit::new(2)).await), 2, "{clause}: at most the limit");
    assert_eq!(ok(clause, store.collect(at(100), Limit::new(2)).await), 1, "{clause}: the rest");
    ok(clause, store.collect(at(1_000_000), Limit::MAX).await);
    let listed =
        walk(clause, 10, async |page| store.list(&owner(), &MemoryFilter::default(), &page).await).await;
    let left: Vec<_> = listed.iter().map(|record| record.content.as_str()).collect();
    assert_eq!(left, ["e"], "{clause}: what has no expiry is never collected");
}
