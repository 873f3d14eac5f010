from .run.runner import run_study as run_study
from .store.check import check_study as check_study
from .store.view import open_study as open_study
from .study.computation import Computation as Computation
from .study.computation import Point as Point
from .study.layout import Variable as Variable
from .study.study import Study as Study
from .study.study import read_study as read_study
