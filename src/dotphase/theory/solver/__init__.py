"""Fixed points of the map: from a scenario and a start to a `Solution` with errors.

`options.py`: every tunable. `starts.py`: named starts. `newton.py`: the iteration, `trail.py`: how it
ended. `reached.py`: the minima that training reaches. `globalisation.py`: the way
from a start into Newton's reach. `errors.py`: error bars from replicates. `solve.py`: refinement of
the nodes. `checks.py`: what is refused. `solution.py`, `assemble.py`: what comes back.
"""
