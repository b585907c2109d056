select
    value,
    monotonically_increasing_id() as _row
from text.`{{ env_var('TIDEMARK_HOME', '.tidemark') }}/landing/events/{{ var('business_date', 'none') }}.tsv.gz`
