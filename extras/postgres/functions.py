"""What the SQL of the stores uses of SQLite that PostgreSQL lacks, as functions in the schema."""

from __future__ import annotations

FUNCTIONS: tuple[str, ...] = (
    # A NUL in a JSON text is no text to PostgreSQL; what is stored keeps it, what is looked for has none.
    r"""
CREATE OR REPLACE FUNCTION json_extract(document text, path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT replace(document, '\u0000', '\ufffd')::json #>> string_to_array(substr(path, 3), '.')$$""",
    r"""
CREATE OR REPLACE FUNCTION json_each(document text) RETURNS TABLE (key bigint, value text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT ordinality - 1, value::text
  FROM json_array_elements(replace(document, '\u0000', '\ufffd')::json) WITH ORDINALITY$$""",
    """
CREATE OR REPLACE FUNCTION count_true(counted bigint, value boolean) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT CASE WHEN value IS NULL THEN counted ELSE coalesce(counted, 0) + value::int END$$;
CREATE OR REPLACE AGGREGATE sum(boolean) (sfunc = count_true, stype = bigint)""",
    """
CREATE OR REPLACE FUNCTION add_text(added numeric, value text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT CASE WHEN value IS NULL THEN added ELSE coalesce(added, 0) + value::numeric END$$;
CREATE OR REPLACE AGGREGATE sum(text) (sfunc = add_text, stype = numeric)""",
    """
CREATE OR REPLACE FUNCTION join_text(joined text, value text, separator text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT CASE WHEN value IS NULL THEN joined ELSE coalesce(joined || separator, '') || value END$$;
CREATE OR REPLACE AGGREGATE group_concat(text, text) (sfunc = join_text, stype = text)""",
    """
CREATE OR REPLACE FUNCTION max(one double precision, other double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT greatest(one, other)$$""",
    """
CREATE OR REPLACE FUNCTION instr(whole text, part text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT strpos(whole, part)$$""",
    r"""
CREATE OR REPLACE FUNCTION json_array_length(document text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$SELECT json_array_length(replace(document, '\u0000', '\ufffd')::json)$$""",
    """
CREATE OR REPLACE FUNCTION required(holds boolean) RETURNS void LANGUAGE plpgsql AS
$$BEGIN IF holds IS NOT TRUE THEN RAISE EXCEPTION 'a condition does not hold'; END IF; END$$""",
    """
CREATE OR REPLACE VIEW sqlite_master AS SELECT 'table' AS type, table_name::text AS name
FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'""",
)
"""Run when the store is opened and this list has changed."""

WORDS: tuple[str, ...] = (
    """ALTER TABLE memories ADD COLUMN IF NOT EXISTS words tsvector
    GENERATED ALWAYS AS (to_tsvector('simple', text || ' ' || tags)) STORED""",
    "CREATE INDEX IF NOT EXISTS memories_words ON memories USING gin (words)",
    # The words of a search come as SQLite's FTS5 takes them: "one"* OR "two"*
    """
CREATE OR REPLACE FUNCTION memories_fts(match text) RETURNS TABLE ("rowid" bigint, rank real)
LANGUAGE sql STABLE AS
$$SELECT m.rowid, -ts_rank(m.words, q) FROM memories m, to_tsquery('simple', replace(replace(replace(
  replace(match, '"*', ''':*'), '"', ''''), ' OR ', ' | '), ' AND ', ' & ')) q WHERE m.words @@ q$$""",
    """CREATE TABLE IF NOT EXISTS blobs (hash text COLLATE "C" PRIMARY KEY, content bytea NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS store_id (id text PRIMARY KEY)",
    "INSERT INTO store_id SELECT gen_random_uuid()::text WHERE NOT EXISTS (SELECT FROM store_id)",
)
"""Run after the migrations: the index of words, the large contents, which lie beside a file of SQLite, and
the name that a store keeps wherever its rows are put back."""

NUMBERS: tuple[str, ...] = tuple(
    f"CREATE INDEX IF NOT EXISTS {table}_rowid ON {table} (rowid)"
    for table in ("runs", "effects", "sessions", "memories")
)
"""Indexes of the numbers of rows, by which pages are read: SQLite's tables lie in that order."""
