"""Finding processes by their parent or by marks in their environment, adopting orphans, and ending processes."""
