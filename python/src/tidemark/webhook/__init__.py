"""A summary of each run as JSON to a URL of the user's: `TIDEMARK_WEBHOOK_URL`."""
