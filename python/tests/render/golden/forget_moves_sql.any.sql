update shop.customers_of_events__log set
    _moved_from = null,
    _unsupplied = null
where _moved_from in ('a1', 'b2')
