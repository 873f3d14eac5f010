"""Figures of the paper, and the same questions asked more precisely."""
