"""Attentions: functions from the fields of one sample to its attention matrix.

`attention.py` has the type, `catalogue.py` the ones with a name (public as `dotphase.attentions`),
`symmetry.py` their exact symmetries, `equality.py` decides whether two functions are the same.
"""
