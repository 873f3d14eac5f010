"""What can be computed at a point of a study, one computation per file."""
