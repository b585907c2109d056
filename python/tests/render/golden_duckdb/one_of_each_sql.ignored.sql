select * from arrived qualify row_number() over (partition by kh order by cast(epoch_us(c4) as varchar) desc nulls last) = 1
