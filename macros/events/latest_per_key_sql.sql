{#- What a batch of change events amounts to: of every key that it changed the last change, whose `_operation`
    is D for a key that is gone. `log_relation` has log rows of an events entity; with `by_batch` each batch
    is taken by itself.

        create; insert (0, alice); id 0 -> 1; id 1 -> 2; delete 2;
        insert (0, Alice), (1, blob); name of 1 -> Bob
        gives, as one batch: 5 D (2, alice), 6 I (0, Alice), 8 U (1, Bob)
-#}
{%- macro latest_per_key_sql(log_relation, by_batch=false, sequence_by=none, on_tie='later') -%}
{%- set order = tidemark.event_order_expr({'sequence_by': sequence_by, 'on_tie': on_tie}) -%}
select * except (_tidemark_rank)
from (
    select
        *,
        row_number() over (
            partition by {{ '_batch_id, ' if by_batch }}_key_hash
            order by {{ order }} desc nulls last
        ) as _tidemark_rank
    from {{ log_relation }}
    where _operation in ('I', 'U', 'D') and _superseded_by is null
)
where _tidemark_rank = 1
{%- endmacro -%}
