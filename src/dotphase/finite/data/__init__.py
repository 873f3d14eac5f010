"""Data at finite d.

`instance.py`: one draw of teacher and encodings. `sampling.py`: sentences, and the Gram matrices
the loss needs. `source.py`: where tokens come from. `blocks.py`: data larger than memory.
"""
