select * from {{ tidemark.log(ref('customers')) }}
