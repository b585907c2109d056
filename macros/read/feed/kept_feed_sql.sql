{#- Rows of a kept feed in a range of commits, (from, to], or without an end; with `late` and `early` where
    those of several entities do not come in the order of their ids: see feed_stragglers_sql(). -#}
{%- macro kept_feed_sql(relation, names, span, ordered) -%}
{%- set late, least = span.get('late', []), [span['from']] -%}
{%- for commit in late -%}{%- do least.append(commit['commit_id']) -%}{%- endfor -%}
select
    {{ tidemark.column_list_expr(names) }}
from {{ relation }}
where
    {{ tidemark.after_expr(span['from'], late) }}
    {%- if span['to'] is not none %}
    and _commit_id <= {{ span['to'] }}
    {%- endif %}
    {%- if span.get('early') %}
    and not ({{ tidemark.of_commits_expr(span['early']) }})
    {%- endif %}
    {%- if span['from'] %}
    and _commit_date >= {{ tidemark.commit_date_expr(least | min) }}
    {%- endif %}
    {%- if span['to'] is not none %}
    and _commit_date <= {{ tidemark.commit_date_expr(span['to']) }}
    {%- endif %}
{%- if ordered %}
order by _commit_id asc nulls last
{%- endif %}
{%- endmacro -%}

{#- Whether a row of a feed is of a commit after this one, or of one of those which came late. -#}
{%- macro after_expr(commit_id, late) -%}
    {%- set after = '_commit_id > ' ~ commit_id -%}
    {{ return('(' ~ after ~ ' or ' ~ tidemark.of_commits_expr(late) ~ ')' if late else after) }}
{%- endmacro -%}

{#- Whether a row of a feed is of one of these commits; `entity` tells it where another entity has a commit of
    the same id. -#}
{%- macro of_commits_expr(commits) -%}
    {%- set ids, terms = [], [] -%}
    {%- for commit in commits -%}
        {%- if commit.get('entity') -%}
            {%- do terms.append('(_commit_id = ' ~ commit['commit_id'] ~ ' and _entity <=> '
                ~ tidemark.string_literal(commit['entity']) ~ ')') -%}
        {%- else -%}
            {%- do ids.append(commit['commit_id']) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(((['_commit_id in (' ~ ids | unique | join(', ') ~ ')'] if ids else [])
        + terms) | join(' or ')) }}
{%- endmacro -%}

{#- The commits of a feed's entities that comparing ids alone would take wrongly for part of a range (from,
    to] of the feed, or for none. A load that takes long has an id from when it began, so that it comes after
    commits with greater ones of other entities:

        run of the feed     1: a@5, b@9        2: a@7        3: c@8, b@12
        after run 1         7 and 8 are late: they are read, though not greater than 9
        run 2 died          7 is early: its row may be there, though not greater than 9, and is not read yet

    An entity is read up to a commit of its own, as its commits come in order. Of each of `entities`
    ({relation, from, to}) either end is {mark, before, at}: what was read is what is not after `mark`, but of
    what is after `before` only what is not after `at`. -#}
{%- macro feed_stragglers_sql(states, entities, span) -%}
select
    relation,
    commit_id,
    is_wanted,
    is_shared
from (
    select
        *,
        count(*) over (partition by commit_id) > 1 as is_shared
    from (
        select distinct
            relation,
            commit_id,
            case relation
                {%- for entity in entities %}
                when {{ tidemark.string_literal(entity['relation']) }}
                    then {{ tidemark.is_past_expr(entity['from']) }}{{ ' and not '
                        ~ tidemark.is_past_expr(entity['to']) if entity['to'] }}
                {%- endfor %}
            end as is_wanted
        from {{ states }}
        where
            relation in ({{ tidemark.string_literals(entities | map(attribute='relation')) }})
            and kind in ({{ tidemark.log_kinds() }})
            and commit_id <= {{ span['to'] }}
    )
)
where is_wanted != (commit_id > {{ span['from'] }})
order by commit_id asc nulls last, relation asc nulls last
{%- endmacro -%}

{#- Whether a commit of an entity lies after an end of a range. -#}
{%- macro is_past_expr(end) -%}
    {%- set past = 'commit_id > ' ~ end['mark'] -%}
    {%- if end.get('before', end['mark']) != end['mark'] -%}
        {%- set past = past ~ ' or commit_id > ' ~ [end['before'], end['at']] | max -%}
    {%- endif -%}
    {{ return('(' ~ past ~ ')') }}
{%- endmacro -%}
