"""What the explorer computes: `task.py` what may be asked, `work.py` the pieces of work, `live.py`
training step by step, `rows.py` rows of the map, `sentences.py` attention matrices, `letters.py`
counting, `export.py` code to copy. `shipped.py` and `tables.py` write and read the tables that ship:
the map, and branches and losses at many tasks for the page without a server.
"""
