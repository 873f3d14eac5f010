from .adapters import from_transformers as from_transformers
from .loading import FirstLayer as FirstLayer
from .loading import load as load
from .loading import shipped as shipped
from .measure import Heads as Heads
from .measure import measure as measure
from .reading import read_ids as read_ids
