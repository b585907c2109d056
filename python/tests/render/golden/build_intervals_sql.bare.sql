create or replace table shop.customers_past
using delta
as
select _key_hash from intervals
