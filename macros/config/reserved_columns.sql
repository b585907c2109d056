{#- The names of the columns that Tidemark adds; a source must not bring them, unless its format says so. -#}
{%- macro reserved_columns() -%}
    {{ return([
        '_key_hash', '_row_hash', '_operation', '_eff_start_date', '_business_date', '_changed_columns',
        '_commit_id',
        '_superseded_by', '_sequence_num', '_event_time', '_batch_id', '_valid_from', '_valid_to',
        '_is_current',
        '_reject_reason', '_raw_payload', '_unreadable', '_malformed', '_supersedes', '_sequence_by',
        '_source_operation', '_event_id',
        '_transaction_id', '_offset', '_unsupplied', '_moved_from', '_landing_num', '_is_snapshot',
        '_database', '_table',
        '_schema', '_primary_key', '_prev_table',
    ] + (['_file', '_pos', '_deleted', '_spec_id', '_partition', '_row_id', '_last_updated_sequence_number']
        if tidemark.lake_format() == 'iceberg' else [])) }}
{%- endmacro -%}

{#- Those that loads of change events add beside them, while they work events out. -#}
{%- macro reserved_event_columns() -%}
    {{ return(tidemark.reserved_columns() + [
        '_kind', '_parsed_kind', '_before', '_after', '_image', '_image_before', '_unavailable', '_position',
        '_supplied_num',
        '_snapshot_mark', '_group', '_identity', '_content', '_delivery_hash', '_delivery', '_total_order',
        '_ordinal',
        '_may_be_move', '_problem', '_is_repeated', '_is_start', '_copy', '_is_duplicate', '_is_usable',
        '_departed_key_hash',
        '_schema_text', '_schema_id',
    ]) }}
{%- endmacro -%}

