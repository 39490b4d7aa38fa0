-- The first schema. Ids are BLOBs of 16 bytes (UUIDs sort by bytes as they do by text, in less than half the space);
-- times are microseconds UTC; JSON is kept as the text that came. Tables carry a prefix, so that a program may keep
-- its own tables in the same file.

CREATE TABLE hermes_session (
    -- Stands for the session in its messages; see hermes_message.
    key INTEGER PRIMARY KEY CHECK (key < 2147483648),
    id BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    title TEXT NOT NULL,
    time_zone TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    parent BLOB,
    parent_at INTEGER,
    last INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    lease_holder TEXT,
    lease_expires INTEGER,
    context TEXT NOT NULL
) STRICT;

CREATE INDEX hermes_session_by_owner ON hermes_session (tenant, user, updated DESC, id DESC);
CREATE INDEX hermes_session_leased ON hermes_session (lease_expires) WHERE lease_expires IS NOT NULL;

CREATE TABLE hermes_message (
    -- The session's key in the upper half and the place in its log in the lower one: a log is one stretch of the
    -- table, and no second index is needed to find a message.
    id INTEGER PRIMARY KEY,
    created INTEGER NOT NULL,
    sticky INTEGER NOT NULL,
    turn_start INTEGER NOT NULL,
    step BLOB,
    tokens INTEGER,
    counter TEXT,
    body TEXT NOT NULL,
    provider TEXT
) STRICT;

-- The row's id follows the column in an index by itself.
CREATE INDEX hermes_message_sticky ON hermes_message (sticky) WHERE sticky = 1;
CREATE INDEX hermes_message_turn_start ON hermes_message (turn_start) WHERE turn_start = 1;

-- Which terms a message is found by. The terms come ready-made, so that the tokenizer only has to part them at spaces
-- and leave all else alone; neither positions nor texts are kept.
CREATE VIRTUAL TABLE hermes_message_terms USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE hermes_memory (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    layer TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    subject TEXT,
    attribute TEXT,
    confidence REAL NOT NULL,
    weight REAL NOT NULL,
    source TEXT NOT NULL,
    provenance TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    recalled INTEGER,
    recall_count INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_until INTEGER,
    status TEXT NOT NULL,
    supersedes BLOB,
    expires INTEGER,
    fingerprint TEXT NOT NULL,
    version INTEGER NOT NULL
) STRICT;

CREATE INDEX hermes_memory_by_owner ON hermes_memory (tenant, user, updated DESC, id DESC);
CREATE UNIQUE INDEX hermes_memory_twin ON hermes_memory (tenant, user, fingerprint) WHERE status = 'active';
CREATE INDEX hermes_memory_expires ON hermes_memory (expires) WHERE expires IS NOT NULL;

CREATE TABLE hermes_memory_term (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    term TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES hermes_memory (key) ON DELETE CASCADE,
    PRIMARY KEY (tenant, user, term, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX hermes_memory_term_of ON hermes_memory_term (memory);

CREATE TABLE hermes_claim (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    session BLOB NOT NULL,
    tool TEXT NOT NULL,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    outcome TEXT,
    completed INTEGER,
    retain_until INTEGER,
    PRIMARY KEY (tenant, user, key)
) STRICT;

CREATE INDEX hermes_claim_by_session ON hermes_claim (tenant, user, session);
CREATE INDEX hermes_claim_retained ON hermes_claim (retain_until) WHERE retain_until IS NOT NULL;

-- The highest fence that a claim ever had: a key that is claimed anew gets a higher one, whatever became of its row.
CREATE TABLE hermes_claim_fence (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    fence INTEGER NOT NULL
) STRICT;

INSERT INTO hermes_claim_fence (only, fence) VALUES (1, 0);

CREATE TABLE hermes_artifact (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    session BLOB NOT NULL,
    media_type TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    -- Last, so that reading the columns before it never reads the bytes.
    bytes BLOB NOT NULL
) STRICT;

CREATE INDEX hermes_artifact_by_session ON hermes_artifact (tenant, user, session, created DESC, id DESC);
CREATE INDEX hermes_artifact_expires ON hermes_artifact (expires) WHERE expires IS NOT NULL;

CREATE TABLE hermes_state (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    session BLOB,
    updated INTEGER NOT NULL,
    expires INTEGER,
    value TEXT NOT NULL,
    UNIQUE (tenant, user, namespace, key)
) STRICT;

CREATE INDEX hermes_state_by_session ON hermes_state (tenant, user, session) WHERE session IS NOT NULL;
CREATE INDEX hermes_state_expires ON hermes_state (expires) WHERE expires IS NOT NULL;
