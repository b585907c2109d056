select * from shop.customers version as of 0
