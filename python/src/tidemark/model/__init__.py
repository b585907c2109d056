"""What models and runs are configured with: read, judged and completed in one place."""
