create or replace table shop.customers_past
using delta
as
select * from intervals
