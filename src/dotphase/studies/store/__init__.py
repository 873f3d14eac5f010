"""Where results are kept: an append-only log with checksums, and a Zarr view of it.

`log.py`, `store.py`: records. `view.py`: the dataset. `lock.py`: one writer. `extend.py`: more
values. `code.py`: which code computed what. `check.py`: find and repair damage. `status.py`: how
far a study is.
"""
