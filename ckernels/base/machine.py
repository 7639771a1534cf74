"""What a machine is: bytes of its caches and vectors, and what things take on one core.

Thresholds of scheduling and code generation are expressions of these, or say beside them what was
measured. Measured on Zen 5 with 1 MB of L2; `ckernels machine` measures the same here and prints
how far off they are. Sizes decide in which order sums run. Times decide how many threads share
work, what the gradient of a scan keeps, and whether the rows of a scan are dealt out, for which its
products may be summed in another way. So the table is part of a version and never read from the
machine at hand: results are equal on machines that differ in nothing but their caches.
"""

# ---- sizes --------------------------------------------------------------------------------------

L1 = 32 << 10  # bytes of data that the first cache of a core holds at least
L2 = 1 << 20  # the same of the second
VECTOR = 64  # bytes of a vector and of a line of a cache
FLOAT = 4  # bytes of a float
LANES = VECTOR // FLOAT  # floats of a vector
STREAMS = 24  # runs of memory that the prefetchers of a core follow at once
IN_CACHE = 2 * L2 // FLOAT  # elements of a domain that a core's caches hold, with what it makes

# ---- nanoseconds that anything may take ---------------------------------------------------------

NS_COST = 0.04  # a unit of Op.cost, for one float32
NS_BYTE = 0.02  # a byte read or written, from a cache
NS_MEMORY_BYTE = 0.05  # the same from memory
NS_WINDOW_BYTE = 0.1  # a byte of an image that windows without products go over, as pools do
NS_MULTIPLY = 1 / 30  # a multiplication and addition of a product or a convolution
NS_TURNED = 0.5  # an element of a matrix that is turned around
NS_INDEX = 0.7  # one look-up with its range check
FORK_NS = 1000  # fork and join of a team that is awake
THREAD_NS = 10 * FORK_NS  # least work for one thread, which then loses a tenth
STEP_NS = 10.0  # a step of a scan besides its instructions

# ---- nanoseconds of single operations -----------------------------------------------------------

NS_SORT, NS_PLACES = 4, 8  # an element that is sorted; the same with its place
NS_EQUAL, NS_SEARCH = 6, 10  # an element of `unique`; one that is sought in a sorted row
NS_BIN = 1.5  # one that is sought among equal bins
NS_SUM_ROW, NS_SUM_COLUMN = 1.2, 0.3  # an element of cumsum: along rows each waits for the last
NS_ENTRY = 1.2  # a stored number of a sparse matrix
NS_HELD = 0.7  # an element of which it is asked whether a sparse matrix stores it
NS_NUMBER, NS_STREAM = 0.25, 1.5  # a number of MRG; a stream's state there and back: both take
# twice as long on Zen 4 (0.49 and 2.4), where threads share so little work no sooner for it
NS_CHOICE = 1.0  # a class looked at for a draw of classes
NS_INTERPOLATED, NS_WEIGHTED = 2.5, 0.04  # a row of interpolation; each of its elements and
# weights (on Zen 4: 0.037 to 0.045 for rows of 256 channels)
NS_SOLVED, NS_SYSTEM = 0.06, 4.0  # a multiplication of a triangular system; a row of one
NS_STATE, NS_SLOPE = 0.7, 2.0  # a state of CTC's trellis at one step; the same with derivatives
NS_CLASS = 0.15  # reading the weight of a class in CTC
NS_BEAM, NS_BEAM_CLASS = 60, 0.7  # a prefix of CTC at one step; trying one label on it
NS_ASSUMED = 1.0  # a guess: a body that users write, for each element it reads or writes
