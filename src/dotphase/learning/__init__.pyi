from .full_batch.learning_curve import LearningCurve as LearningCurve
from .online.decomposition import Decomposition as Decomposition
from .online.decomposition import Start as Start
from .online.one_pass import OnePass as OnePass
from .online.one_pass import one_pass as one_pass
from .online.simulation import Simulation as Simulation
from .online.simulation import simulate as simulate
