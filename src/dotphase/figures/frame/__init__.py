"""Shared code of all figures: `figure.py` the type, `catalogue.py` the list, `stores.py` and
`reading.py` results, `style.py` the look, `reproduce.py` making them, `report.py` the report.
"""
