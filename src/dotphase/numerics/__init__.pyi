from .rules import GaussHermite as GaussHermite
from .rules import Nodes as Nodes
from .rules import Rule as Rule
from .rules import Sobol as Sobol
