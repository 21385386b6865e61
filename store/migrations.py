"""The tables of `planwright.db`: those of the first release, and what later ones add as migrations.

Every table carries tenant and run, so that a query can never reach into another's. An index is no fact, and
needs no migration: a store that lacks one gets it when it is opened, and an older program may open it then.
"""

import re

_INDEX = re.compile(r"\s*CREATE INDEX IF NOT EXISTS (\w+)")

MIGRATIONS: tuple[str, ...] = (
    """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, tenant TEXT NOT NULL, status TEXT NOT NULL,
    request TEXT NOT NULL, messages TEXT NOT NULL, context TEXT NOT NULL, started_at TEXT NOT NULL,
    ended_at TEXT, answer TEXT, owner TEXT, lease_token INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0, cancelled_by TEXT, paused_for TEXT, paused_why TEXT,
    ends_as TEXT, pause_by TEXT, extended TEXT
);
CREATE INDEX IF NOT EXISTS runs_of_thread ON runs (thread_id, started_at);
CREATE INDEX IF NOT EXISTS runs_open ON runs (status) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS runs_of_tenant ON runs (tenant);
CREATE INDEX IF NOT EXISTS runs_of_status ON runs (tenant, status);
CREATE INDEX IF NOT EXISTS runs_of_agent ON runs (tenant, json_extract(context, '$.agent'))
    WHERE json_extract(context, '$.agent') IS NOT NULL;
CREATE INDEX IF NOT EXISTS runs_asking ON runs (ended_at) WHERE status = 'needs_input';
CREATE INDEX IF NOT EXISTS runs_failed ON runs (ended_at) WHERE status IN ('failed', 'timeout');
CREATE INDEX IF NOT EXISTS runs_scheduled ON runs (ended_at)
    WHERE json_extract(context, '$.channel') = 'schedule';
CREATE TABLE threads (thread_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, title TEXT NOT NULL, title_hash TEXT);
CREATE TABLE plans (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, plan_hash TEXT NOT NULL, revision INTEGER NOT NULL,
    plan TEXT NOT NULL, checked TEXT NOT NULL, gate_id TEXT, created_at TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'plan', card TEXT,
    PRIMARY KEY (run_id, plan_hash)
);
CREATE INDEX IF NOT EXISTS plans_of_id ON plans (json_extract(plan, '$.plan_id')) WHERE kind = 'plan';
CREATE TABLE gates (
    gate_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, run_id TEXT NOT NULL, tenant TEXT NOT NULL,
    kind TEXT NOT NULL, step_uid TEXT, shown_hash TEXT NOT NULL, shown TEXT NOT NULL,
    requested_at TEXT NOT NULL, expires_at TEXT NOT NULL, status TEXT NOT NULL, decided_at TEXT,
    decided_by TEXT, channel TEXT, reason TEXT, edited TEXT, remembered TEXT, approvals TEXT,
    card_hash TEXT, opened_s REAL, boot TEXT, effects TEXT, closes_s REAL, by_call TEXT
);
CREATE INDEX IF NOT EXISTS gates_of_run ON gates (run_id, status);
CREATE INDEX IF NOT EXISTS gates_of_thread ON gates (thread_id, status);
CREATE INDEX IF NOT EXISTS gates_open ON gates (status) WHERE status = 'open';
CREATE TABLE effects (
    key TEXT PRIMARY KEY, tenant TEXT NOT NULL, thread_id TEXT NOT NULL, run_id TEXT NOT NULL,
    step_uid TEXT NOT NULL, attempt INTEGER NOT NULL, ordinal INTEGER NOT NULL, capability TEXT NOT NULL,
    effect TEXT NOT NULL, args_hash TEXT NOT NULL, args TEXT NOT NULL, status TEXT NOT NULL, result TEXT,
    error TEXT, intended_at TEXT NOT NULL, ended_at TEXT, code TEXT, unasked INTEGER NOT NULL DEFAULT 0,
    owner TEXT, first_key TEXT
);
CREATE INDEX IF NOT EXISTS effects_of_run ON effects (run_id);
CREATE INDEX IF NOT EXISTS effects_of_call ON effects (thread_id, capability, args_hash);
CREATE INDEX IF NOT EXISTS effects_of_tenant ON effects (tenant);
CREATE INDEX IF NOT EXISTS effects_of_status ON effects (tenant, status);
CREATE INDEX IF NOT EXISTS effects_in_doubt ON effects (intended_at) WHERE status = 'in_doubt';
CREATE TRIGGER runs_end_settled BEFORE UPDATE OF ended_at ON runs
    WHEN new.ended_at IS NOT NULL AND EXISTS (
        SELECT 1 FROM effects e WHERE e.run_id = new.run_id AND e.status = 'intent') BEGIN
    SELECT RAISE(ABORT, 'a run does not end while it has begun an effect that was not heard of'); END;
CREATE TABLE steps (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, uid TEXT NOT NULL, step_id TEXT NOT NULL,
    status TEXT NOT NULL, result TEXT NOT NULL, ended_at TEXT NOT NULL,
    PRIMARY KEY (run_id, uid)
);
CREATE INDEX IF NOT EXISTS steps_of_time ON steps (ended_at);
CREATE TABLE journal (
    run_id TEXT NOT NULL, thread_id TEXT NOT NULL, tenant TEXT NOT NULL, seq INTEGER NOT NULL,
    ts TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX IF NOT EXISTS journal_of_run ON journal (run_id, seq);
CREATE INDEX IF NOT EXISTS journal_of_models ON journal (ts) WHERE type = 'llm_call';
CREATE TABLE usage (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, run_id TEXT NOT NULL, provider TEXT NOT NULL,
    kind TEXT NOT NULL, tokens INTEGER NOT NULL, cost INTEGER, calls INTEGER NOT NULL,
    settled INTEGER NOT NULL, expires_at REAL NOT NULL, at TEXT NOT NULL, lane TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS usage_of_run ON usage (run_id);
CREATE INDEX IF NOT EXISTS usage_of_time ON usage (at);
CREATE INDEX IF NOT EXISTS usage_reserved ON usage (tenant, provider, at) WHERE settled = 0;
CREATE TABLE memories (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, run_id TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS memories_of_run ON memories (run_id);
CREATE VIRTUAL TABLE memories_fts USING fts5 (text, tags, content='memories');
CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts (rowid, text, tags) VALUES (new.rowid, new.text, new.tags); END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
    INSERT INTO memories_fts (memories_fts, rowid, text, tags)
    VALUES ('delete', old.rowid, old.text, old.tags); END;
CREATE TABLE forks (
    run_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, source_run TEXT NOT NULL, checkpoint_id TEXT, plan TEXT,
    task TEXT NOT NULL, context_hash TEXT NOT NULL, again TEXT NOT NULL, created_at TEXT NOT NULL,
    undo INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS forks_of_source ON forks (source_run);
CREATE TABLE usage_days (
    tenant TEXT NOT NULL, provider TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, provider, day)
);
CREATE TABLE work_times (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, lease_token INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (run_id, lease_token)
);
CREATE TABLE forgotten (
    key TEXT PRIMARY KEY, tenant TEXT NOT NULL, run_id TEXT NOT NULL, memory_id TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS forgotten_of_run ON forgotten (run_id);
CREATE TABLE chains (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL,
    definition TEXT NOT NULL, made_at TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
);
CREATE TABLE proposals (
    tenant TEXT NOT NULL, id TEXT NOT NULL, said_id TEXT NOT NULL, run_id TEXT NOT NULL,
    thread_id TEXT NOT NULL, text TEXT NOT NULL, said TEXT NOT NULL, tags TEXT NOT NULL, why TEXT NOT NULL,
    status TEXT NOT NULL, created_at TEXT NOT NULL, decided_at TEXT, decided_by TEXT, memory_id TEXT,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX IF NOT EXISTS proposals_of_run ON proposals (run_id);
CREATE INDEX IF NOT EXISTS proposals_of_words ON proposals (tenant, said_id);
CREATE INDEX IF NOT EXISTS proposals_of_memory ON proposals (tenant, memory_id);
CREATE INDEX IF NOT EXISTS proposals_open ON proposals (tenant, created_at) WHERE status = 'proposed';
CREATE TABLE compensations (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, source_run TEXT NOT NULL, effect_key TEXT NOT NULL,
    step_id TEXT NOT NULL,
    PRIMARY KEY (run_id, effect_key)
);
CREATE INDEX IF NOT EXISTS compensations_of_run ON compensations (source_run);
CREATE INDEX IF NOT EXISTS compensations_of_effect ON compensations (effect_key);
CREATE TABLE own_parts (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (run_id, name)
);
CREATE TABLE file_versions (
    key TEXT PRIMARY KEY, tenant TEXT NOT NULL, run_id TEXT NOT NULL, path TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS file_versions_of_path ON file_versions (tenant, path);
CREATE TABLE verdicts (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, key TEXT NOT NULL, plan_id TEXT NOT NULL,
    plan_hash TEXT NOT NULL, revision INTEGER NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
    content TEXT NOT NULL, inputs_hash TEXT NOT NULL, decided_by TEXT, at TEXT NOT NULL, facts TEXT,
    PRIMARY KEY (run_id, key)
);
CREATE TRIGGER verdicts_stay BEFORE UPDATE ON verdicts BEGIN
    SELECT RAISE(ABORT, 'a verdict is never changed'); END;
CREATE TRIGGER verdicts_remain BEFORE DELETE ON verdicts BEGIN
    SELECT RAISE(ABORT, 'a verdict is never removed'); END;
CREATE TABLE kept_effects (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, uid TEXT NOT NULL, within TEXT NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (run_id, uid)
);
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL, channel TEXT NOT NULL,
    type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
CREATE TABLE contents (
    thread_id TEXT NOT NULL, hash BLOB NOT NULL, type TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (thread_id, hash)
);
CREATE TABLE audit (
    n INTEGER PRIMARY KEY, tenant TEXT NOT NULL, run_id TEXT NOT NULL, kind TEXT NOT NULL,
    subject TEXT NOT NULL, content TEXT NOT NULL, at TEXT NOT NULL, prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'an entry of the audit chain is never changed'); END;
CREATE TRIGGER audit_remains BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'an entry of the audit chain is never removed'); END;
CREATE INDEX IF NOT EXISTS audit_setbacks ON audit (n) WHERE kind = 'setback';
CREATE INDEX IF NOT EXISTS audit_seals ON audit (run_id, n) WHERE kind = 'run';
CREATE TABLE sessions (
    run_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, tenant TEXT NOT NULL, requested_at TEXT NOT NULL,
    expires_at TEXT NOT NULL, opened_s REAL, boot TEXT, breaks INTEGER NOT NULL DEFAULT 0,
    broken_token INTEGER, schedule TEXT, closes_s REAL
);
CREATE INDEX IF NOT EXISTS sessions_of_tenant ON sessions (tenant);
CREATE TABLE extensions (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, n INTEGER NOT NULL, unit TEXT NOT NULL,
    amount REAL NOT NULL, given_by TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (run_id, n)
);
CREATE TABLE session_checkpoints (
    run_id TEXT NOT NULL, tenant TEXT NOT NULL, hash TEXT NOT NULL, verdict_key TEXT NOT NULL,
    content TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (run_id, hash)
);
CREATE TRIGGER session_checkpoints_stay BEFORE UPDATE ON session_checkpoints BEGIN
    SELECT RAISE(ABORT, 'a checkpoint of a session is never changed'); END;
CREATE TRIGGER session_checkpoints_remain BEFORE DELETE ON session_checkpoints BEGIN
    SELECT RAISE(ABORT, 'a checkpoint of a session is never removed'); END;
CREATE TABLE schedule_runs (
    name TEXT NOT NULL, tenant TEXT NOT NULL, due TEXT NOT NULL, run_id TEXT, taken_s REAL,
    PRIMARY KEY (name, due)
);
CREATE TABLE workers (
    owner TEXT PRIMARY KEY, tenant TEXT NOT NULL, started_at TEXT NOT NULL, at_once INTEGER NOT NULL
);
CREATE TABLE sign_ins (
    n INTEGER PRIMARY KEY, at TEXT NOT NULL, person TEXT NOT NULL, tenant TEXT NOT NULL, way TEXT NOT NULL,
    address TEXT NOT NULL, outcome TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS sign_ins_of_tenant ON sign_ins (tenant, n);
CREATE TRIGGER sign_ins_stay BEFORE UPDATE ON sign_ins BEGIN
    SELECT RAISE(ABORT, 'a sign-in is never changed'); END;
CREATE TRIGGER sign_ins_remain BEFORE DELETE ON sign_ins BEGIN
    SELECT RAISE(ABORT, 'a sign-in is never removed'); END;
CREATE TABLE rule_uses (rule_id TEXT PRIMARY KEY, calls INTEGER NOT NULL);
CREATE TABLE notices (
    kind TEXT NOT NULL, subject TEXT NOT NULL, way TEXT NOT NULL, tenant TEXT NOT NULL, run_id TEXT NOT NULL,
    notice_id TEXT NOT NULL, owner TEXT, free_s REAL NOT NULL, claimed_at TEXT NOT NULL,
    attempts INTEGER NOT NULL, sent_at TEXT, error TEXT,
    PRIMARY KEY (kind, subject, way)
);
CREATE INDEX IF NOT EXISTS notices_of_run ON notices (run_id);
CREATE TABLE answer_links (
    digest TEXT PRIMARY KEY, gate_id TEXT NOT NULL, run_id TEXT NOT NULL, tenant TEXT NOT NULL,
    answer_hash TEXT NOT NULL, person TEXT NOT NULL, made_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answer_links_of_run ON answer_links (run_id);
CREATE TABLE store_time (
    n INTEGER PRIMARY KEY, boot TEXT NOT NULL, boot_s REAL NOT NULL, counted_s REAL NOT NULL,
    ahead_s REAL NOT NULL, off_s REAL NOT NULL, since_s REAL NOT NULL, was_off INTEGER NOT NULL,
    gap_s REAL NOT NULL, taken_up_s REAL NOT NULL, step_s REAL NOT NULL, moved_s REAL NOT NULL
);
""",
)


def indexes(migrations: tuple[str, ...]) -> dict[str, str]:
    """Map the name of each index that migrations make to the statement that makes it."""
    parts = (part for script in migrations for part in script.split(";\n"))
    return {named[1]: part for part in parts if (named := _INDEX.match(part))}
