"""Pictures of what was computed, in one style."""
