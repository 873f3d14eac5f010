"""What a study is: a base scenario, axes, computations.

`study.py`: the study and its file. `axes.py`: values. `computation.py`: the base of all
computations. `plan.py`: units of work. `layout.py`: the shape of the results. `export.py`: tables.
"""
