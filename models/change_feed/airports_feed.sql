select * from ({{ tidemark.change_feed(ref('airports')) }})
