"""Figures of the paper, and more precise versions of them."""
