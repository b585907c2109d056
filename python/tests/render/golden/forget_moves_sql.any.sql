merge into shop.customers_of_events__log as stored
using (
    select
        'a1' as hash_1,
        'b2' as hash_2,
        cast('7' as bigint) as value_1,
        '7' as text_1
) as tidemark_erased
    on stored._moved_from in (tidemark_erased.hash_1, tidemark_erased.hash_2)
when matched then update set
    _moved_from = null,
    _unsupplied = null
