from .limit import BayesSolution as BayesSolution
from .limit import Threshold as Threshold
from .limit import bayes as bayes
from .limit import weak_recovery as weak_recovery
from .message_passing import BayesRuns as BayesRuns
from .message_passing import bayes_message_passing as bayes_message_passing
