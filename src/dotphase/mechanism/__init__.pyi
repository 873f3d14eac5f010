from .permutation import Permutation as Permutation
from .permutation import permutation_scores as permutation_scores
from .shares import Shares as Shares
from .shares import measure_shares as measure_shares
from .verdict import Verdict as Verdict
from .verdict import verdict_of as verdict_of
