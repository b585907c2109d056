"""Column lineage of single SELECTs: what sqlglot reads is followed to the tables."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidemark.lineage.query import SqlNotReadError, read_query
from tidemark.lineage.trace import Traced, trace

ORDERS = {
    "id": "int",
    "Customer": "int",
    "amount": "decimal(18,2)",
    "place": "struct<city: string>",
}
CUSTOMERS = {"id": "int", "name": "string"}
TABLES: Mapping[str, Mapping[str, str | None]] = {
    "shop.orders": ORDERS,
    "shop.customers": CUSTOMERS,
}


def traced(sql: str) -> tuple[Traced, dict[str, str]]:
    query = read_query(sql)
    names = {table.key: ".".join(table.parts) for table in query.tables}
    schemas = {key: TABLES[name.lower()] for key, name in names.items() if name.lower() in TABLES}
    return trace(query, schemas), names


def columns(sql: str) -> dict[str, set[str]]:
    """The columns of a query, each with what it follows from: `table.column kind`."""
    found, names = traced(sql)
    return {
        column: {f"{names[link.table]}.{link.column} {link.how.kind}" for link in links}
        for column, links in found.columns.items()
    }


def rows(sql: str) -> set[str]:
    """What decides on the rows of a query."""
    found, names = traced(sql)
    return {f"{names[link.table]}.{link.column} {link.how.kind}" for link in found.rows}


def test_star__through_the_schema_in_its_order_and_spelling() -> None:
    assert list(columns("select * from shop.orders")) == ["id", "Customer", "amount", "place"]
    assert columns("select * except (amount, place) from shop.orders")["Customer"] == {
        "shop.orders.customer identity"
    }


def test_names__case_does_not_matter_and_the_query_s_spelling_stays() -> None:
    assert columns("select CUSTOMER as TheCustomer from SHOP.Orders O where o.ID > 1") == {
        "TheCustomer": {"SHOP.Orders.customer identity"}
    }


def test_names__quoted_with_dots_spaces_and_backticks() -> None:
    sql = "select o.`a.b` as `x y`, `we``ird` from shop.`odd.name` as o"
    assert columns(sql) == {
        "x y": {"shop.odd.name.a.b identity"},
        "we`ird": {"shop.odd.name.we`ird identity"},
    }


def test_names__schema_before_a_column() -> None:
    assert columns("select shop.orders.id from shop.orders") == {"id": {"shop.orders.id identity"}}


def test_join__direct_and_indirect() -> None:
    sql = """
        select o.id, c.name, upper(c.name) as loud
        from shop.orders o
        left join shop.customers c on o.customer = c.id
        where o.amount > 10
        order by loud
    """
    assert columns(sql) == {
        "id": {"shop.orders.id identity"},
        "name": {"shop.customers.name identity"},
        "loud": {"shop.customers.name transformation"},
    }
    assert rows(sql) == {
        "shop.orders.customer join",
        "shop.customers.id join",
        "shop.orders.amount filter",
        "shop.customers.name sort",
    }


def test_join__using_and_semi_join_on_a_cte() -> None:
    sql = """
        with wanted as (select id from shop.customers where name is not null)
        select o.id from shop.orders o left semi join wanted on o.customer = wanted.id
    """
    assert columns(sql) == {"id": {"shop.orders.id identity"}}
    assert rows(sql) == {
        "shop.orders.customer join",
        "shop.customers.id join",
        "shop.customers.name filter",
    }
    assert rows("select o.amount from shop.orders o join shop.customers using (id)") == {
        "shop.orders.id join",
        "shop.customers.id join",
    }


def test_aggregation__group_by_and_masking() -> None:
    sql = """
        select customer, sum(amount) as total, count(distinct id) as orders, count(*) as n
        from shop.orders group by customer having max(amount) > 5
    """
    assert columns(sql) == {
        "customer": {"shop.orders.customer identity"},
        "total": {"shop.orders.amount aggregation"},
        "orders": {"shop.orders.id aggregation, masked"},
        "n": set(),
    }
    assert rows(sql) == {"shop.orders.customer group by", "shop.orders.amount filter"}


def test_ctes__a_chain_keeps_the_strongest_kind() -> None:
    sql = """
        with a as (select *, amount * 2 as twice from shop.orders),
        b as (select customer, max(twice) as most from a group by customer)
        select customer, most as value from b
    """
    assert columns(sql) == {
        "customer": {"shop.orders.customer identity"},
        "value": {"shop.orders.amount aggregation"},
    }


def test_union__columns_meet_by_place() -> None:
    sql = "select id, name from shop.customers union all select customer, cast(amount as string) from shop.orders"
    assert columns(sql) == {
        "id": {"shop.customers.id identity", "shop.orders.customer identity"},
        "name": {"shop.customers.name identity", "shop.orders.amount transformation"},
    }
    assert columns("(select id from shop.customers) union (select id from shop.orders)") == {
        "id": {"shop.customers.id identity", "shop.orders.id identity"}
    }


def test_except__the_other_side_is_a_filter() -> None:
    assert columns("select id from shop.customers except select customer from shop.orders") == {
        "id": {"shop.customers.id identity", "shop.orders.customer filter"}
    }


def test_window__value_partition_and_order() -> None:
    sql = """
        select
            row_number() over (partition by customer order by id) as place_in_line,
            sum(amount) over (partition by customer) as of_customer,
            lag(amount) over (order by id) as before
        from shop.orders
    """
    assert columns(sql) == {
        "place_in_line": {"shop.orders.customer window", "shop.orders.id window"},
        "of_customer": {"shop.orders.amount aggregation", "shop.orders.customer window"},
        "before": {"shop.orders.amount transformation", "shop.orders.id window"},
    }


def test_qualify__is_a_filter() -> None:
    sql = "select id, row_number() over (partition by customer order by id) as n from shop.orders qualify n = 1"
    assert columns(sql)["id"] == {"shop.orders.id identity"}
    assert rows(sql) == {"shop.orders.customer filter", "shop.orders.id filter"}


def test_conditions__case_if_and_filter() -> None:
    sql = """
        select
            case when amount > 5 then name else 'small' end as a,
            if(o.id = 1, amount, null) as b,
            sum(amount) filter (where name = 'x') as c
        from shop.orders o join shop.customers c on true
    """
    assert columns(sql) == {
        "a": {"shop.customers.name transformation", "shop.orders.amount conditional"},
        "b": {"shop.orders.amount transformation", "shop.orders.id conditional"},
        "c": {"shop.orders.amount aggregation", "shop.customers.name conditional"},
    }


def test_structs__a_field_is_followed_through_the_struct_that_holds_it() -> None:
    sql = """
        with packed as (
            select struct(id as i, named_struct('n', amount, 'c', customer + 1) as inner) as s from shop.orders
        ),
        shifted as (select lag(if(s.i = 1, null, s)) over (order by s.i) as p from packed)
        select p.i as i, p.inner.n as n, p.inner.c as c from shifted
    """
    found = columns(sql)
    assert found["i"] == {
        "shop.orders.id transformation",
        "shop.orders.id conditional",
        "shop.orders.id window",
    }
    assert "shop.orders.amount transformation" in found["n"]
    assert not any("customer" in link for link in found["n"])
    assert "shop.orders.customer transformation" in found["c"]


def test_structs__a_field_of_a_stored_struct() -> None:
    assert columns("select place.city, o.place.city as again from shop.orders o") == {
        "city": {"shop.orders.place transformation"},
        "again": {"shop.orders.place transformation"},
    }


def test_subqueries__scalar_and_in() -> None:
    sql = """
        select (select max(name) from shop.customers c where c.id = o.customer) as who
        from shop.orders o where id in (select id from shop.customers)
    """
    assert columns(sql) == {
        "who": {
            "shop.customers.name aggregation",
            "shop.customers.id filter",
            "shop.orders.customer filter",
        }
    }
    assert rows(sql) == {"shop.orders.id filter", "shop.customers.id filter"}


def test_lateral_view_and_lambda() -> None:
    sql = """
        select word, transform(split(name, ' '), w -> concat(w, id)) as words
        from shop.customers lateral view explode(split(name, ' ')) as word
    """
    assert columns(sql) == {
        "word": {"shop.customers.name transformation"},
        "words": {"shop.customers.name transformation", "shop.customers.id transformation"},
    }


def test_hashes__are_masked() -> None:
    sql = "select sha2(name, 256) as a, xxhash64(name) as b from shop.customers"
    assert columns(sql) == {
        "a": {"shop.customers.name transformation, masked"},
        "b": {"shop.customers.name transformation, masked"},
    }


def test_files__with_reader_options_keep_the_case_of_their_path() -> None:
    found, names = traced("select * from csv.`/Data/A_*.csv` with ('header' 'true', 'sep' ';')")
    assert [(names[link.table], link.column) for link in found.opened] == [
        ("csv./Data/A_*.csv", "*")
    ]
    assert columns("select value from text.`/Data/x.txt`") == {
        "value": {"text./Data/x.txt.value identity"}
    }


def test_unknown_table__named_columns_are_its_own() -> None:
    sql = "with s as (select * from shop.unknown) select a, lower(b) as c from s"
    assert columns(sql) == {
        "a": {"shop.unknown.a identity"},
        "c": {"shop.unknown.b transformation"},
    }


def test_unknown_tables__a_column_of_neither_is_said_to_be_so() -> None:
    found, _ = traced("select thing from shop.unknown join shop.another on true")
    assert found.columns["thing"] == ()
    assert found.notes == (
        "several tables (2) may have `thing`: qualify the column with its table",
    )


def test_recursion_and_values_come_to_an_end() -> None:
    sql = "with recursive r as (select id from shop.orders union all select id + 1 from r where id < 9) select * from r"
    assert columns(sql) == {"id": {"shop.orders.id identity"}}
    assert columns("select x from values (1) as t(x)") == {"x": set()}


def test_pivot__values_and_what_they_are_turned_by() -> None:
    sql = "select * from (select customer, amount from shop.orders) pivot (sum(amount) for customer in (1 as one))"
    assert columns(sql) == {
        "one": {"shop.orders.amount aggregation", "shop.orders.customer conditional"}
    }


def test_generators__several_columns_of_one() -> None:
    assert columns("select posexplode(split(name, ' ')) as (place, word) from shop.customers") == {
        "place": {"shop.customers.name transformation"},
        "word": {"shop.customers.name transformation"},
    }


def test_names__columns_renamed_with_their_table() -> None:
    assert columns("select * from shop.customers as c(a, b)") == {
        "a": {"shop.customers.id identity"},
        "b": {"shop.customers.name identity"},
    }


def test_window__named() -> None:
    sql = "select sum(amount) over w as s from shop.orders window w as (partition by customer)"
    assert columns(sql) == {"s": {"shop.orders.amount aggregation", "shop.orders.customer window"}}


def test_union__by_name() -> None:
    sql = "select id, name from shop.customers union by name select 'x' as name, customer as id from shop.orders"
    assert columns(sql) == {
        "id": {"shop.customers.id identity", "shop.orders.customer identity"},
        "name": {"shop.customers.name identity"},
    }


def test_subqueries__lateral_and_in_brackets() -> None:
    sql = "select l.m from shop.customers c, lateral (select max(amount) as m from shop.orders o where o.customer = c.id) l"
    assert columns(sql) == {"m": {"shop.orders.amount aggregation"}}
    assert rows(sql) == {"shop.orders.customer filter", "shop.customers.id filter"}
    assert columns("(select id from shop.customers) limit 1") == {
        "id": {"shop.customers.id identity"}
    }


def test_table_functions__are_said_to_be_none_to_follow() -> None:
    found, _ = traced("select id from table_changes('shop.orders', 1)")
    assert found.columns == {"id": ()}
    assert found.notes == ("columns of the function `table_changes` cannot be followed",)


def test_cte__hides_a_table_of_its_name() -> None:
    sql = "with orders as (select id as k from shop.orders) select k from orders"
    assert columns(sql) == {"k": {"shop.orders.id identity"}}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("create table x (a int)", "it is not one SELECT"),
        ("select 1; select 2", "it is not one SELECT"),
        ("", "it is not one SELECT"),
        ("select from where (", "Expected|Expecting|Invalid|Required"),
    ],
)
def test_read_query__what_is_no_select(sql: str, message: str) -> None:
    with pytest.raises(SqlNotReadError, match=message):
        read_query(sql)
