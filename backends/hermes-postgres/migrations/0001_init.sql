-- The first schema. Times are microseconds UTC; JSON is kept as the text that came, never as json or jsonb, which change
-- it; text that a caller chose is kept with NUL escaped (see src/escape.rs). What is compared or sorted in an index is in
-- the collation "C": by bytes, as the contracts say, and untouched by an update of the system's locales. Tables carry a
-- prefix, so that a program may keep its own tables in the same schema.

CREATE TABLE hermes_session (
    -- Stands for the session in its messages.
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    time_zone text,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    parent uuid,
    parent_at bigint,
    last bigint NOT NULL,
    fence bigint NOT NULL,
    lease_holder text,
    lease_expires bigint,
    context text NOT NULL
);

CREATE INDEX hermes_session_by_owner ON hermes_session (tenant, user_id, updated DESC, id DESC);
CREATE INDEX hermes_session_leased ON hermes_session (lease_expires) WHERE lease_expires IS NOT NULL;

CREATE TABLE hermes_message (
    session bigint NOT NULL,
    place bigint NOT NULL,
    created bigint NOT NULL,
    tokens bigint,
    step uuid,
    sticky boolean NOT NULL,
    turn_start boolean NOT NULL,
    counter text,
    body text NOT NULL,
    provider text,
    -- What the message is found by, each term with a mark of its owner before it (see src/term.rs).
    terms text[] COLLATE "C" NOT NULL,
    PRIMARY KEY (session, place)
);

CREATE INDEX hermes_message_sticky ON hermes_message (session, place) WHERE sticky;
CREATE INDEX hermes_message_turn_start ON hermes_message (session, place) WHERE turn_start;
-- Every search reads all of the list of entries that are not sorted in yet, whoever wrote them: 256 kB bound it.
CREATE INDEX hermes_message_terms ON hermes_message USING gin (terms) WITH (gin_pending_list_limit = 256);

CREATE TABLE hermes_memory (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    layer text NOT NULL,
    kind text NOT NULL,
    content text NOT NULL,
    subject text,
    attribute text,
    confidence real NOT NULL,
    weight real NOT NULL,
    source text NOT NULL,
    provenance text NOT NULL,
    -- The sessions of the provenance, each once.
    sessions uuid[] NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    recalled bigint,
    recall_count bigint NOT NULL,
    valid_from bigint NOT NULL,
    valid_until bigint,
    status text NOT NULL,
    supersedes uuid,
    expires bigint,
    fingerprint text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    -- As those of messages.
    terms text[] COLLATE "C" NOT NULL
);

CREATE INDEX hermes_memory_by_owner ON hermes_memory (tenant, user_id, updated DESC, id DESC);
CREATE UNIQUE INDEX hermes_memory_twin ON hermes_memory (tenant, user_id, fingerprint) WHERE status = 'active';
CREATE INDEX hermes_memory_expires ON hermes_memory (expires) WHERE expires IS NOT NULL;
CREATE INDEX hermes_memory_terms ON hermes_memory USING gin (terms) WITH (gin_pending_list_limit = 256);

-- A key that is claimed anew gets a higher fence, whatever became of its row.
CREATE SEQUENCE hermes_claim_fence;

CREATE TABLE hermes_claim (
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    tool text NOT NULL,
    holder text NOT NULL,
    fence bigint NOT NULL,
    expires bigint NOT NULL,
    outcome text,
    completed bigint,
    retain_until bigint,
    PRIMARY KEY (tenant, user_id, key)
);

CREATE INDEX hermes_claim_by_session ON hermes_claim (tenant, user_id, session);
CREATE INDEX hermes_claim_retained ON hermes_claim (retain_until) WHERE retain_until IS NOT NULL;

CREATE TABLE hermes_artifact (
    id uuid PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    session uuid NOT NULL,
    media_type text NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    bytes bytea NOT NULL
);

-- Not compressed, so that a part of an artifact is read without the rest.
ALTER TABLE hermes_artifact ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE INDEX hermes_artifact_by_session ON hermes_artifact (tenant, user_id, session, created DESC, id DESC);
CREATE INDEX hermes_artifact_expires ON hermes_artifact (expires) WHERE expires IS NOT NULL;

CREATE TABLE hermes_state (
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    session uuid,
    updated bigint NOT NULL,
    expires bigint,
    value text NOT NULL,
    PRIMARY KEY (tenant, user_id, namespace, key)
);

CREATE INDEX hermes_state_by_session ON hermes_state (tenant, user_id, session) WHERE session IS NOT NULL;
CREATE INDEX hermes_state_expires ON hermes_state (expires) WHERE expires IS NOT NULL;
