"""The kinds of computation, one per file."""
