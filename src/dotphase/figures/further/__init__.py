"""Figures beyond the paper: stability, one-pass learning, limits, text, counting."""
