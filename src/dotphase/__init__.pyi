# The public names of dotphase by topic, in one place: __init__.py reads this file, and so do editors and type
# checkers. Less common names are in the submodules listed at the end. ASCII only: it is read whatever the locale.

# What is learned
from . import attentions as attentions

# Topics of their own
from . import bayes as bayes
from . import counting as counting
from . import finite as finite
from . import heads as heads
from . import learning as learning
from . import mechanism as mechanism
from . import scenario as scenario
from . import studies as studies
from . import text as text
from . import theory as theory

# Both compared, and what every answer offers
from .comparison import Comparison as Comparison
from .comparison import compare as compare

# Finite d
from .finite import LBFGS as LBFGS
from .finite import Adam as Adam
from .finite import GradientDescent as GradientDescent
from .finite import Runs as Runs
from .finite import exact_test_error as exact_test_error
from .finite import gamp as gamp
from .finite import sample as sample
from .finite import train as train

# Training in time, as d goes to infinity
from .learning.full_batch.learning_curve import learning_curve as learning_curve

# The theory, as d goes to infinity
from .numerics import GaussHermite as GaussHermite
from .numerics import Sobol as Sobol
from .overlaps import Overlaps as Overlaps
from .plotting import plot as plot
from .results import Estimate as Estimate
from .results import Result as Result
from .results import load as load
from .scenario import Attention as Attention
from .scenario import Positions as Positions
from .scenario import Scales as Scales
from .scenario import Scenario as Scenario
from .scenario import Tokens as Tokens
from .scenario import paper as paper
from .scenario import read_scenario as read_scenario
from .scenario import write_scenario as write_scenario
from .theory.baseline import linear_baseline as linear_baseline
from .theory.branches.curves import Branches as Branches
from .theory.branches.curves import branches as branches
from .theory.branches.node_sets import Transition as Transition
from .theory.branches.phases import Phase as Phase
from .theory.branches.phases import phase as phase
from .theory.branches.search import find_fixed_points as find_fixed_points
from .theory.branches.transitions import critical as critical
from .theory.solver.options import SolverOptions as SolverOptions
from .theory.solver.solution import Solution as Solution
from .theory.solver.solution import SolveError as SolveError
from .theory.solver.solve import solve as solve
from .theory.solver.solve import solve_many as solve_many
from .theory.stability.stability import Stability as Stability
from .theory.stability.stability import stability as stability

__version__: str
