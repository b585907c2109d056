{#- The names of the columns that Tidemark adds; a source must not bring them, unless its format says so. -#}
{%- macro reserved_columns() -%}
    {{ return([
        '_key_hash', '_row_hash', '_operation', '_eff_start_date', '_business_date', '_changed_columns', '_commit_id',
        '_superseded_by', '_sequence_num', '_event_time', '_batch_id', '_valid_from', '_valid_to', '_is_current',
        '_reject_reason', '_raw_payload', '_unreadable', '_malformed', '_supersedes', '_sequence_by', '_source_operation', '_event_id',
        '_transaction_id', '_offset', '_unsupplied', '_moved_from', '_landing_num', '_is_snapshot', '_database', '_table',
        '_schema', '_primary_key', '_prev_table',
    ]) }}
{%- endmacro -%}
