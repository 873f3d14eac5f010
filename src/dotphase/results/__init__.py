"""What every answer offers, written once: how it prints, compares, becomes a table, and is kept in a file."""

from .archive import load
from .result import Result
from .tables import brief, numbers, per_pair, per_token, text_table

__all__ = ["Result", "brief", "load", "numbers", "per_pair", "per_token", "text_table"]
