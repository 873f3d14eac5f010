from .archive import load as load
from .estimate import Estimate as Estimate
from .estimate import plus_minus as plus_minus
from .result import Result as Result
