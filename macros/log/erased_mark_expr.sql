{#- What tidemark_commits keeps of the hash of an erased key, to tell it when it comes again. A hash of a
    value that can be guessed gives it away, so it is hashed with the pepper where there is one. -#}
{%- macro erased_mark_expr(hash) -%}
    {%- set pepper = tidemark.pepper_expr() -%}
    {%- set arguments = [
        pepper ~ " = '' or " ~ pepper ~ " like '$%env:%'",
        hash,
        "sha2(concat('tidemark erased:', " ~ pepper ~ ", ':', " ~ hash ~ '), 256)',
    ] -%}
    {{ return('if(\n    ' ~ arguments | join(',\n    ') ~ '\n)') }}
{%- endmacro -%}

{#- How many keys a commit has brought into the log that were erased before, by their marks. -#}
{%- macro erased_keys_back_sql(log_relation, commit_id, marks) -%}
select count(distinct _key_hash)
from {{ log_relation }}
where
    _commit_id = {{ commit_id }}
    and _operation <> 'D'
    and {{ tidemark.erased_mark_expr('_key_hash') | indent(4) }} in ({{ tidemark.string_literals(marks) }})
{%- endmacro -%}

{#- The erases of an entity's keys that were completed, with what they recorded. -#}
{%- macro completed_erases_sql(states, relation) -%}
select details
from {{ tidemark.last_commits_sql(states, relation) }}
where kind = 'erase_key' and state = 'completed'
order by commit_id asc nulls last
{%- endmacro -%}

{#- What a call recorded of its key. -#}
{%- macro marks_of(row) -%}
    {%- set details = fromjson(row['details'] or '{}') -%}
    {{ return(details.get('key_hashes', [details['key_hash']] if 'key_hash' in details else [])) }}
{%- endmacro -%}
