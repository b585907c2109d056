"""Queries that both engines answer alike: one for each form of the contract, over values that tell engines apart."""

from __future__ import annotations

import datetime as dt
from typing import Any

_NUMBERS = """with t as (
    select 1 as k, cast(null as bigint) as a, 'x' as s, date'2026-01-02' as d
    union all select 1, 3, cast(null as string), date'2026-01-01'
    union all select 2, -5, '', cast(null as date)
    union all select 2, 3, 'Zoë 🙂', date'1600-01-01'
    union all select cast(null as int), 0, 'it\\'s a \\\\ "b"', date'9999-12-31'
)
"""
_FLOATS = """with t as (
    select 1 as k, cast('NaN' as double) as f
    union all select 2, cast(0.0 as double)
    union all select 3, cast('-0.0' as double)
    union all select 4, cast('Infinity' as double)
    union all select 5, cast(null as double)
    union all select 6, cast('1e300' as double)
)
"""
_ARRAYS = """with t as (
    select 1 as k, array('a', 'b') as x, 'a' as s
    union all select 2, array('a', null), 'b'
    union all select 3, array('b', null), 'b'
    union all select 4, cast(null as array<string>), 'b'
    union all select 5, cast(array() as array<string>), 'b'
    union all select 6, array('a'), cast(null as string)
)
"""
_STRUCTS = """with t as (
    select 1 as k, 2 as at, named_struct('n', 7, 's', 'x') as v
    union all select 1, 3, null
    union all select 1, cast(null as int), named_struct('n', 9, 's', 'y')
    union all select 2, 1, named_struct('n', cast(null as int), 's', 'z')
)
"""
_SIDES = """with l as (
    select 1 as k, 'a' as v union all select 2, 'b' union all select 2, 'c' union all select cast(null as int), 'd'
),
r as (
    select 2 as k, 'B' as w union all select 3, 'C' union all select cast(null as int), 'D'
)
"""
_TEXTS = """with t as (
    select ' Straße  ' as s union all select '' union all select cast(null as string) union all select '\u3000\tab '
    union all select 'ÄÖÜ éàñ ÇŁŽ Жж' union all select 'aaba🙂c' union all select 'İstanbul' where false union all select 'ﬁ' where false
)
"""

QUERIES = {
    "count_if of nothing": _NUMBERS + "select count_if(a > 1) as n from t where k > 5",
    "count_if": _NUMBERS + "select count_if(a > 1) as n, count_if(a is null) as m from t",
    "counts": _NUMBERS + "select k, count(*) as n, count(a) as a, count(distinct s) as s from t group by k",
    "sums": _NUMBERS + "select k, sum(a) as a, min(s) as s, max(d) as d from t group by k",
    "sum of nothing": _NUMBERS + "select sum(a) as a, max(s) as s, count(*) as n from t where k > 5",
    "bool_or": _NUMBERS + "select k, bool_or(a > 0) as b, bool_or(s = '') as c from t group by k",
    "max of conditions": _NUMBERS + "select k, max(a is null) over (partition by k) as b, s from t",
    "compared": _NUMBERS + "select a, s, a <=> 3 as x, a <> 3 as y, s <=> null as z, not (s = 'x') as w from t",
    "in": _NUMBERS + "select a in (3, null) as x, s not in ('x', '') as y, (d, a) in ((date'2026-01-01', cast(3 as bigint)), (date'1600-01-01', cast(4 as bigint))) as z from t",
    "case": _NUMBERS + "select case when a > 0 then 'p' when a < 0 then 'n' end as x, if(a is null, s, null) as y from t",
    "coalesce": _NUMBERS + "select coalesce(a, k, 9) as x, coalesce(s, '-') as y from t",
    "greatest and least": _NUMBERS + "select greatest(a, k) as x, least(a, k) as y, least(d, date'2026-01-01') as z from t",
    "numbers": _NUMBERS + "select a + 1 as x, a - k as y, -a as z from t",
    "texts": _NUMBERS + "select cast(a as string) as a, cast(d as string) as d, cast(a > 0 as string) as b, octet_length(s) as n from t",
    "decimals": "select cast(x as string) as x from (select 1.50 as x union all select -0.05 union all select 100.00)",
    "md5": _NUMBERS + "select md5(s) as h from t",
    "literals": "select 'a\\\\b' as x, 'it\\'s' as y, '\"q\"' as z, 'ü\\n' as n, date'2026-03-04' as d, '{{ x }} %s $1' as j",
    "moments": "select unix_micros(timestamp'1969-12-31 23:59:59.999999Z') as x, unix_micros(timestamp'2026-03-29 02:30:00Z') as y",
    "ordered": _NUMBERS + "select s, row_number() over (partition by k order by a desc nulls last, s nulls first) as n from t",
    "default order": _NUMBERS + "select s, row_number() over (order by s, d) as n, row_number() over (order by a desc, d) as m from t",
    "whole window": _NUMBERS + "select s, count(*) over (partition by k order by s rows between unbounded preceding and unbounded following) as n from t",
    "neighbours": _NUMBERS + "select d, lag(a) over (order by d) as x, lead(s) over (partition by k order by d) as y from t",
    "last known": _NUMBERS + "select d, last_value(a) ignore nulls over (order by d) as x from t",
    "floats": _FLOATS + "select k, f <=> cast('NaN' as double) as n, f = cast(0.0 as double) as z, f > cast('Infinity' as double) as g from t",
    "order of floats": _FLOATS + "select k, row_number() over (order by f, k) as n from t",
    "most of floats": _FLOATS + "select max(f) as x, count(f) as n from t",
    "array_contains": _ARRAYS + "select k, array_contains(x, s) as c from t",
    "array_compact": _ARRAYS + "select k, array_compact(x) as c from t",
    "size": _ARRAYS + "select k, size(x) as n from t where x is not null",
    "equal arrays": _ARRAYS + "select k, x <=> array('a', 'b') as e, x <=> null as n from t",
    "array_min": "select array_min(array(date'2026-01-02', date'2026-01-01')) as x, array_min(array(cast(null as date))) as y",
    "array_except": _NUMBERS + "select k, array_min(array_except(array(date'2026-01-01', date'2026-01-02', date'2026-01-03'), "
    "collect_set(if(a = 3, d, null)) over (partition by k))) as x from t",
    "min_by": _STRUCTS + "select k, min_by(v, at).n as n, min_by(v, at) is null as z, min_by(v, at) filter (where at > 2).s as s from t group by k",
    "min_by of structs": _STRUCTS + "select min_by(v, struct(at is not null as has_at, at as at)) filter (where v is not null).n as n from t",
    "max_by": _STRUCTS + "select k, max_by(v, at).n as n, max_by(v, at) is null as z, max_by(v, at) filter (where at < 3).s as s from t group by k",
    "fields": _STRUCTS + "select k, v.n as n, v.s <=> null as z, v is null as w from t",
    "inline": _STRUCTS + "select k, inline(array(named_struct('p', v.n, 'q', v), named_struct('p', at, 'q', null))) from t where at = 2",
    "struct": _STRUCTS + "select struct(k, at).at as x, case when at > 2 then null else v end.s as s from t",
    "full outer join": _SIDES + "select l.v, r.w, coalesce(l.k, r.k) as k from l full outer join r on l.k = r.k",
    "left join": _SIDES + "select l.v, r.w from l left join r on l.k <=> r.k",
    "anti join": _SIDES + "select l.v from l left anti join r on l.k = r.k",
    "semi join": _SIDES + "select l.v from l left semi join r on l.k = r.k",
    "union": _SIDES + "select k from l union select k from r",
    "union all": _SIDES + "select k, v from l union all select k, w from r",
    "except all": _SIDES + "select k from l except all select k from r",
    "exists": _SIDES + "select v from l where exists (select 1 from r where r.k = l.k)",
    "one number": _SIDES + "select v, (select count(*) from r) as n from l where k = 1 limit 5",
    "concat": _NUMBERS + "select concat(s, '|', a) as x, s || k as y, concat('a', null) as z from t",
    "concat_ws": _NUMBERS + "select concat_ws('|', s, a, k) as x, concat_ws('', cast(null as string)) as y, concat_ws('-', 'a', s) as z from t",
    "concat_ws within md5": _NUMBERS + "select md5(concat_ws('', concat('1:s', octet_length(s), ':', s), concat('1:a', octet_length(cast(a as string)), ':', cast(a as string)))) as h from t",
    "sha2": _NUMBERS + "select sha2(s, 256) as h from t",
    "trim of what is behind": "select trim(trailing '.' from trim(trailing '0' from cast(x as string))) as t from (select 1.50 as x union all select 0.00 union all select -100.00 union all select cast(null as decimal(5,2)))",
    "like": _NUMBERS + "select s like 'it%' as x, s like '%o_%' as y, s like '' as z from t",
    "any_value": _NUMBERS + "select d, any_value(s) as s from t group by d",
    "first_value": _NUMBERS + "select d, first_value(a, true) over (order by d rows between unbounded preceding and current row) as x from t",
    "explode": _ARRAYS + "select k, explode(x) as one from t",
    "explode of a sequence": "select n, explode(if(n > 1, sequence(2, n), array())) as m from (select cast(1 as bigint) as n union all select 4)",
    "sums over windows": _NUMBERS + "select d, sum(if(a > 0, 1, 0)) over (order by d) + 1 as x, sum(a) over (partition by k) as y from t",
    "text of a float": _FLOATS + "select k, case when abs(f) < 9007199254740992d and f = rint(f) then cast(cast(f as bigint) as string) when f is not null then format_string('%a', f) end as t "
    "from (select * from t union all select 7, cast('0.1' as double) union all select 8, cast('-2.5e-300' as double) union all select 9, cast('-Infinity' as double) union all select 10, cast('0.5' as double))",
    "text of a real": "select format_string('%a', cast(x as double)) as t from (select cast('0.1' as float) as x union all select cast('16777217' as float) union all select cast(null as float))",
    "names on conditions": _NUMBERS + "select array_except(array(if(a > 0, 'x', null), if(s = '', 'y', null), cast(null as string)), array(cast(null as string))) as u from t",
    "texts by their characters": _TEXTS + "select s, length(s) as n, substring(s, 2, 3) as x, substr(s, 4) as y, left(s, 2) as z, replace(s, 'a', '') as r, nullif(s, '') as u from t",
    "trimmed texts": _TEXTS + "select trim(s) as x, ltrim(s) as y, rtrim(s) as z, trim(both 'a' from s) as w from t",
    "texts in another case": _TEXTS + "select lower(s) as x, upper(s) as y, upper(trim(s)) as z from t",
    "rows as JSON": _NUMBERS + "select k, to_json(named_struct('a', a, 'a \"b\"', s, 'd', d, 'ü', if(s is null, cast(null as string), '***'), 'x', a > 1, 'n', null), map('ignoreNullFields', 'false')) as j from t",
    "texts and decimals as JSON": "select to_json(named_struct('s', s, 'x', x, 'y', cast(0 as decimal(10,6))), map('ignoreNullFields', 'false')) as j "
    "from (select 'a\\\\b \"c\" / <ä> \u2028 \u007f 🙂' as s, 1.50 as x union all select '', -0.05 union all select cast(null as string), 0.00)",
    "rounded decimals": "select round(x) as r, round(x, 1) as s, round(x, 2) as t, round(x, 3) as u from (select 9.95 as x union all select -0.25 union all select 99.50 union all select cast(null as decimal(4,2)))",
    "a rounded double": "select transform(array(cast(x as double)), v -> (round(v, 2)))[0] as r, transform(array(cast(x as double)), `v` -> (round(V)))[0] as s from ("
    + " union all ".join(f"select cast('{x}' as double) as x" for x in ("1.005", "-1.005", "2.675", "0.125", "-0.001", "0.0049", "1e-9", "-0.0", "2.5", "-2.5", "1234567.895", "0.285", "999999999.994999"))
    + " union all select cast(null as double))",
    "a value by its name": _NUMBERS + "select transform(array(t.s), `s` -> (concat(lower(s), '!')))[0] as x, transform(array(a), `s` -> (coalesce(s, 7)))[0] as y from t",
    "hint": _SIDES + "select /*+ broadcast(r) */ l.v from l left anti join r on l.k = r.k",
}  # fmt: skip


def shown(rows: list[tuple[Any, ...]]) -> list[str]:
    """Rows as texts that tell types of values apart, in an order of their own."""
    return sorted(repr(tuple(_shown(value) for value in row)) for row in rows)


def _shown(value: Any) -> Any:
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {name: _shown(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    return value
