"""What things take on one core: the one table from which costs are estimated.

Measured on Zen 5 with 1 MB of L2; `python build_tools/cost_constants.py` measures the same here and
prints how far off they are. Estimates decide how many threads share work, and whether the rows of
a scan are dealt out to them, for which its products may be summed in another way: so the table is
part of a version and never read from a machine. Thresholds of sums stand where they decide.
"""

NS_COST = 0.04  # a unit of Op.cost, for one float32
NS_BYTE = 0.02  # a byte read or written, from a cache
NS_WINDOW_BYTE = 0.1  # a byte of an image that windows without products go over, as pools do
NS_MULTIPLY = 1 / 30  # a multiplication and addition of a product or a convolution
NS_TURNED = 0.5  # an element of a matrix that is turned around
FORK_NS = 1000  # fork and join of a team that is awake
THREAD_NS = 10 * FORK_NS  # least work for one thread, which then loses a tenth
