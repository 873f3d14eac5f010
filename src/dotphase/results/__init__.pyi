from .archive import load as load
from .estimate import Estimate as Estimate
from .estimate import plus_minus as plus_minus
from .result import Result as Result
from .statistics import at_infinite_size as at_infinite_size
from .statistics import over_seeds as over_seeds
from .statistics import seed_average as seed_average
