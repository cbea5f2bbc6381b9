# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the paper on DPD and their alternatives: Tables 1 to 3 and Figures 2, 4 and 5 of
Y.-H. Tang and G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    python variants.py --device cuda
    python variants.py --device cpu

The script compiles variants.cu with nvcc for the GPU, or variants.cpp with the C++ compiler. Both
programs verify that the alternatives have the same lists, sorted keys and forces.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.devices import on_gpu

HERE = Path(__file__).parent
CORE = HERE.parents[2] / "plugins/core"
SKIN, PLACES_OF_CELL = 0.3, 8  # the paper gives no skin; places along an edge of a cell
TIMES = (
    "signatures", "merge", "expand", "vote", "vote_in_registers", "atomic_in_shared",
    "atomic_in_global", "transpose", "force", "force_library", "force_tea_8", "force_philox",
    "force_product", "build_split", "join", "force_split", "integrate", "reorder",
)  # fmt: skip
FUNCTIONS = (
    "nothing", "fastcospi", "cospi", "fastlog", "log", "fastpow", "pow", "product_log",
    "product_pow",
)  # fmt: skip
# Table 1: read, write and aggregate bandwidth in GB/s, of 208 GB/s.
PUBLISHED_BANDWIDTH = {
    "Interleave": (79.59, 79.62, 159.21),
    "Deinterleave": (72.21, 70.80, 143.01),
    "NeighborListJoin": (62.66, 57.83, 120.49),
    "NeighborListTranspose": (78.03, 79.06, 157.09),
    "MergeXVT": (95.78, 54.66, 150.44),
}
PUBLISHED_PEAK = 208.0
# Table 2: milliseconds by ballot and by atomics, and their ratio, by density and number.
PUBLISHED_LISTS = {
    (3, 65536): (0.76, 1.55, 2.02),
    (3, 524288): (5.28, 10.77, 2.04),
    (6, 65536): (1.31, 2.92, 2.24),
    (6, 524288): (9.89, 21.72, 2.20),
    (50, 65536): (14.58, 30.15, 2.07),
    (50, 524288): (90.28, 196.26, 2.17),
}
# Table 3: instructions, conditional branches, cycles, largest error (relative, or in ULP).
PUBLISHED_FUNCTIONS = {
    "fastcospi": (23, 0, 90, 1.10e-10),
    "cospi": (54, 3, 420, 1.0),
    "fastlog": (47, 0, 380, 4.21e-12),
    "log": (89, 5, 603, 1.0),
    "fastpow": (79, 0, 494, 11.0),
    "pow": (258, 18, 1982, 2.0),
}
REBUILD = 5  # steps between lists

Row = dict[str, Any]


class System(ctypes.Structure):
    """System in variants.h."""

    _fields_ = (
        ("particles", ctypes.c_int64), ("cells", ctypes.c_int64), ("edge", ctypes.c_double),
        ("cutoff", ctypes.c_float), ("reach", ctypes.c_float),
        ("row", ctypes.c_int32), ("candidates", ctypes.c_int32), ("repeats", ctypes.c_int32),
        *[(name, ctypes.c_void_p) for name in
          ("position", "velocity", "tag", "member", "start", "stencil")],
    )  # fmt: skip


def compiled(folder: str, gpu: bool, level: str) -> ctypes.CDLL:
    """The library of variants.cu or variants.cpp."""
    exact = () if gpu else ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
    source = HERE / ("variants.cu" if gpu else "variants.cpp")
    return script.compiled(source, folder, *exact, "-I", str(CORE), gpu=gpu, level=level)


class Program:
    """The functions of the library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.variants_peak_bandwidth.restype = ctypes.c_double

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"variants_{name}")
        function.restype = ctypes.c_char_p
        converted = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments
        ]
        if wrong := function(*converted):
            raise RuntimeError(f"variants: {wrong.decode()}")

    def peak_bandwidth(self) -> float:
        """GB/s, 0 if it is not known."""
        return self._library.variants_peak_bandwidth() / 1e9

    def measure(self, system: System) -> tuple[dict[str, float], float, np.ndarray]:
        """Times in seconds, number of entries in the skins, and lengths of the lists."""
        found, counts = np.empty(len(TIMES) + 1), np.empty(system.particles, np.int32)
        self._call("measure", ctypes.byref(system), found, counts)
        times = dict(zip(TIMES, found.tolist(), strict=False))
        return {k: v for k, v in times.items() if not math.isnan(v)}, found[-1], counts

    def layouts(self, particles: int, repeats: int) -> tuple[float, float]:
        """Times in seconds of Interleave and Deinterleave."""
        found = np.empty(2)
        self._call("layouts", ctypes.c_int64(particles), repeats, found)
        return float(found[0]), float(found[1])

    def sort(self, keys: np.ndarray, bits: int, repeats: int) -> list[float]:
        """Times in seconds of the radix sort, of Thrust (std::stable_sort on a CPU) and of CUB."""
        found = np.empty(3)
        self._call("sort", ctypes.c_int64(len(keys)), bits, repeats, keys, found)
        return [value for value in found.tolist() if not math.isnan(value)]

    def values(self, name: str, v: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Values of a function of FUNCTIONS."""
        out = np.empty(len(v))
        self._call("evaluate", FUNCTIONS.index(name), ctypes.c_int64(len(v)), v, a, b, out)
        return out

    def latency(self, name: str, calls: int) -> float:
        """Clock cycles of a call on a GPU, nanoseconds on a CPU."""
        out = np.empty(1)
        index = FUNCTIONS.index(name)
        self._call("latency", index, calls, ctypes.c_double(1.37), out)
        return float(out[0])


# ---- particles -----------------------------------------------------------------------------------


def morton(places: np.ndarray) -> np.ndarray:
    """Morton codes of integer coordinates (..., 3) below 2^20."""
    code = np.zeros(places.shape[:-1], np.int64)
    for bit in range(20):
        for axis in range(3):
            code |= (places[..., axis].astype(np.int64) >> bit & 1) << 3 * bit + axis
    return code


class Particles:
    """Particles at random places of a cubic box, in cells of cutoff and skin at least.

    Args:
        density: number per volume.
        number: rounded down to a multiple of 32.
        reordered: whether particles are in the order of two Morton curves, of the cells and within
            each cell (section 3.2.2), instead of random order.
        seed: seed of places and velocities.
        cutoff: cutoff.
    """

    def __init__(
        self, density: float, number: int, reordered: bool, seed: int, cutoff: float = 1.0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.number, self.cutoff, self.reach = number // 32 * 32, cutoff, cutoff + SKIN
        self.edge = (self.number / density) ** (1 / 3)
        along = int(self.edge / self.reach)
        if along < 3:
            raise ValueError(f"--sizes has {number}; its box is narrower than three cells")
        positions = rng.uniform(0, self.edge, (self.number, 3))
        fine = (positions * (along * PLACES_OF_CELL / self.edge)).astype(np.int64)
        fine = fine.clip(0, along * PLACES_OF_CELL - 1)
        grid = np.stack(np.meshgrid(*[np.arange(along)] * 3, indexing="ij"), -1).reshape(-1, 3)
        order = np.argsort(morton(grid), kind="stable")
        rank = np.empty(along**3, np.int64)
        rank[order] = np.arange(along**3)
        flat = np.array([along**2, along, 1])
        cell = rank[fine // PLACES_OF_CELL @ flat]
        member = np.lexsort((morton(fine % PLACES_OF_CELL), cell))
        if reordered:
            positions, cell, member = positions[member], cell[member], np.arange(self.number)
        near = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
        stencil = rank[(grid[order][:, None] + near) % along @ flat]
        stencil.sort(axis=1)  # ascending: particles of a stencil are in ascending order, too
        counts = np.bincount(cell, minlength=along**3)
        mean = density * 4 / 3 * math.pi * self.reach**3
        self.arrays = {
            "position": positions,
            "velocity": rng.normal(size=(self.number, 3)),
            "tag": rng.permutation(self.number).astype(np.int32) + 1,
            "member": member.astype(np.int32),
            "start": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            "stencil": stencil.astype(np.int32),
        }
        self.arrays = {k: np.ascontiguousarray(v) for k, v in self.arrays.items()}
        self.candidates = int(counts[stencil].sum(axis=1).max())
        self.row = 32 * math.ceil((mean + 8 * math.sqrt(mean)) / 32)

    def system(self, repeats: int) -> System:
        """For variants.h; the arrays remain those of this object."""
        return System(
            self.number, len(self.arrays["stencil"]), self.edge, self.cutoff, self.reach, self.row,
            self.candidates, repeats, *[array.ctypes.data for array in self.arrays.values()],
        )  # fmt: skip

    def pairs(self) -> np.ndarray:
        """Pairs within the reach, (M, 2), each in both orders; for a few thousand particles."""
        # As variants.h has them, in float32.
        r = (self.arrays["position"] - 0.5 * self.edge).astype(np.float32)
        edge = np.float32(self.edge)
        squared = np.zeros((self.number, self.number), np.float32)
        for axis in range(3):
            d = r[:, None, axis] - r[None, :, axis]
            d -= edge * np.rint(d * (1 / edge))
            squared += d * d
        np.fill_diagonal(squared, np.inf)
        return np.argwhere(squared < np.float32(self.reach) ** 2)


# ---- measurements --------------------------------------------------------------------------------


def bandwidths(particles: Particles, found: dict[str, Any], layouts: tuple[float, float]) -> Row:
    """Bytes read and written per second in 1e9, by kernel of Table 1."""
    n, skin = particles.number, found["skin_entries"]
    table = 4 * n * particles.row
    moved = {
        "Interleave": (24 * n, 24 * n, layouts[0]),
        "Deinterleave": (24 * n, 24 * n, layouts[1]),
        "NeighborListJoin": (4 * skin + 8 * n, 4 * skin + 4 * n, found["times"]["join"]),
        "NeighborListTranspose": (table, table, found["times"]["transpose"]),
        "MergeXVT": (56 * n, 32 * n, found["times"]["merge"]),
    }
    return {
        name: {"read": 1e-9 * read / time, "write": 1e-9 * write / time}
        for name, (read, write, time) in moved.items()
    }


def accuracy(program: Program, samples: int, seed: int) -> dict[str, float]:
    """Largest errors: relative for fastcospi and fastlog, the others in units in the last place."""
    rng = np.random.default_rng(seed)
    v = rng.integers(2, 2**32, samples, dtype=np.uint32)
    v[:4] = 2, 3, 2**31, 2**32 - 1
    u = (v & np.uint32(2**31 - 1)) / 2.0**31
    sign = np.where(v >> 31, -1.0, 1.0)
    a, b = 10.0 ** rng.uniform(-51, 51, samples), rng.uniform(0, 6, samples)
    near, s = 10.0 ** rng.uniform(-10, 0, samples), rng.uniform(0.25, 3, samples)
    long = np.longdouble
    pi = np.arccos(long(-1))
    cosine = np.sin(pi * (long(0.5) - u.astype(long)))
    exact = {
        "fastcospi": (cosine * sign, u, b), "cospi": (cosine, u, b),
        "fastlog": (np.log2(v.astype(long)), a, b), "log": (np.log(near.astype(long)), near, b),
        "product_log": (np.log(near.astype(long)), near, b),
        "fastpow": (a.astype(long) ** b.astype(long), a, b),
        "pow": (a.astype(long) ** b.astype(long), a, b),
        "product_pow": (near.astype(long) ** s.astype(long), near, s),
    }  # fmt: skip
    found = {}
    for name, (value, first, second) in exact.items():
        some = value != 0
        away = np.abs(program.values(name, v, first, second) - value)[some]
        scale = np.abs(value[some])
        if name not in ("fastcospi", "fastlog"):
            scale = np.spacing(scale.astype(float)).astype(long)
        found[name] = float((away / scale).max())
    return found


def instructions() -> dict[str, dict[str, int]]:
    """PTX instructions and conditional branches of each function, beyond those of a kernel that
    reads its arguments and writes them back."""
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "function.cu"
        for index, name in enumerate(FUNCTIONS):
            integer = name.startswith("fast") and name != "fastpow"
            arguments = {True: "v[0], 0, 0", False: "0, a[0], a[1]"}[integer]
            source.write_text(
                '#include "variants.h"\n'
                "__global__ void kernel(const unsigned* v, const double* a, double* out) {\n"
                f"  *out = variants::value_of<{index}>({arguments});\n}}\n"
            )
            command = ["nvcc", "-ptx", "-std=c++20", "-O3", "-I", str(CORE), "-I", str(HERE)]
            subprocess.run([*command, str(source), "-o", f"{folder}/ptx"], check=True)
            text = Path(f"{folder}/ptx").read_text()
            code = [line.strip() for line in text.splitlines() if line.strip().endswith(";")]
            code = [line for line in code if re.match(r"(@!?%p\d+\s+)?[a-z]", line)]
            counts[name] = {
                "instructions": len(code),
                "branches": sum(bool(re.match(r"@!?%p\d+\s+bra", line)) for line in code),
            }
    # Reading, writing and returning, as the function that returns its argument has them.
    overhead = counts.pop("nothing")["instructions"]
    for count in counts.values():
        count["instructions"] -= overhead
    return counts


def timed(program: Program, particles: Particles, repeats: int) -> dict[str, Any]:
    """Times in seconds of a system, whose lists have been checked."""
    times, skin, counts = program.measure(particles.system(repeats))
    if particles.number <= 4096 and abs(int(counts.sum()) - len(particles.pairs())) > 2:
        raise RuntimeError(f"variants: {counts.sum()} neighbors, not {len(particles.pairs())}")
    return {
        "times": times,
        "skin_entries": skin,
        "neighbors": float(counts.mean()),
        "particles": particles.number,
        "density": particles.number / particles.edge**3,
    }


def step(times: dict[str, float], sort: float) -> float:
    """Time of a step whose lists are made every REBUILD steps, after a sort that may take 0."""
    of_lists = times["expand"] + times["vote"] + times["transpose"] + sort
    if sort:
        of_lists += times["reorder"]
    each = times["signatures"] + times["merge"] + times["force"] + times["integrate"]
    return each + of_lists / REBUILD


def matrix(particles: Particles) -> dict[str, Any]:
    """Figure 5: distances of the indices of pairs, and the share of 32 x 32 tiles with a pair."""
    pairs = particles.pairs()
    tiles = particles.number // 32
    occupied = np.zeros((tiles, tiles), bool)
    occupied[pairs[:, 0] // 32, pairs[:, 1] // 32] = True
    fine = np.zeros((particles.number // 8,) * 2, int)
    fine[pairs[:, 0] // 8, pairs[:, 1] // 8] = 1
    return {
        "distance": float(np.abs(pairs[:, 0] - pairs[:, 1]).mean() / particles.number),
        "tiles": float(occupied.mean()),
        "tiles_of_8": ["".join(map(str, row)) for row in fine],  # 1 where there is a pair
    }


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """All measurements."""
    gpu = on_gpu(options.device)
    report: dict[str, Any] = {"on_gpu": gpu, "lists": [], "reordering": [], "sorting": []}
    with tempfile.TemporaryDirectory() as folder:
        program = Program(compiled(folder, gpu, "-O1" if options.quick else "-O3"))
        report["peak_bandwidth"] = program.peak_bandwidth()
        for density in options.densities:
            for size in options.sizes:
                particles = Particles(density, size, True, options.seed)
                found = timed(program, particles, options.repeats)
                found["case"] = [density, size]
                report["lists"].append(found)
                print(f"density {density:g}, {size:,}: {found['neighbors']:.1f} neighbors, "
                      f"lists in {1e3 * found['times']['vote']:.3g} ms", flush=True)  # fmt: skip
        for size in options.sizes_of_reordering:
            pair = {}
            for name in ("random", "Morton"):
                particles = Particles(3.0, size, name == "Morton", options.seed)
                pair[name] = timed(program, particles, options.repeats)
            keys = np.random.default_rng(options.seed).integers(0, 2**24, size, dtype=np.uint32)
            pair["sort"] = program.sort(keys, 24, options.repeats)[0]
            report["reordering"].append(pair)
            if size == max(options.sizes_of_reordering):
                layouts = program.layouts(particles.number, options.repeats)
                report["bandwidths"] = bandwidths(particles, pair["Morton"], layouts)
        for size in options.sizes_of_sorting:
            keys = np.random.default_rng(options.seed).integers(0, 2**32, size, dtype=np.uint32)
            report["sorting"].append([size, *program.sort(keys, 32, options.repeats)])
        report["accuracy"] = accuracy(program, options.samples, options.seed)
        if not gpu:
            del report["accuracy"]["cospi"]  # no function of the library
        chain = {name: program.latency(name, options.calls) for name in FUNCTIONS}
        report["latency"] = {
            name: time - chain["nothing"] for name, time in chain.items() if name != "nothing"
        }
    report["instructions"] = instructions() if options.ptx else {}
    report["matrix"] = {
        name: matrix(Particles(3.0, 2048, name == "Morton", options.seed))
        for name in ("random", "Morton")
    }
    return report


# ---- comparisons ---------------------------------------------------------------------------------


def rows(report: dict[str, Any]) -> list[Row]:
    """The comparisons for docs/papers.md; `item` is the table or figure."""
    lines: list[Row] = []

    def add(
        item: str, quantity: str, ours: float, published: float | None, size: str,
        length: str = f"fastest of {report['repeats']} runs",
    ) -> None:  # fmt: skip
        row = script.compared(
            quantity, (ours, None), None if published is None else (published, None), size, length
        )
        lines.append({"item": item, **row})

    largest = report["reordering"][-1]["Morton"]
    size = f"{largest['particles']:,} particles"
    for name, found in report["bandwidths"].items():
        read, write, both = PUBLISHED_BANDWIDTH[name]
        for key, published in (("read", read), ("write", write)):
            published = published if report["on_gpu"] else None
            add("Table 1", f"{name}, {key} (GB/s)", found[key], published, size)
        if peak := report["peak_bandwidth"]:
            share = (found["read"] + found["write"]) / peak
            title = f"{name}, aggregate over peak bandwidth"
            add("Table 1", title, share, both / PUBLISHED_PEAK, size)
    for found in report["lists"]:
        density, number = found["case"]
        times, size = found["times"], f"{number:,} particles"
        published = PUBLISHED_LISTS.get((density, number), (None, None, None))
        if not report["on_gpu"]:
            published = (None, None, None)
        label = f"density {density:g}"
        add("Table 2", f"{label}, votes (ms)", 1e3 * times["vote"], published[0], size)
        for name, title in (
            ("atomic_in_shared", "atomic increments"),
            ("atomic_in_global", "atomic increments in global memory"),
        ):
            if name in times:
                usual = name == "atomic_in_shared"
                time = 1e3 * times[name]
                add(
                    "Table 2", f"{label}, {title} (ms)", time, published[1] if usual else None, size
                )
                ratio = times[name] / times["vote"]
                title = f"{label}, {title} / votes"
                add("Table 2", title, ratio, published[2] if usual else None, size)
        if "vote_in_registers" in times:
            title = f"{label}, votes with counts in shared memory / in registers"
            add("Table 2", title, times["vote"] / times["vote_in_registers"], None, size)
        gain = times["force"] / times["force_split"]
        add("Section 3.3.2", f"{label}, force without / with double insertion", gain, None, size)
        more = (times["build_split"] + times["join"]) / times["vote"]
        title = f"{label}, list builder and join with / without double insertion"
        add("Section 3.3.2", title, more, None, size)
        for name, title in (
            ("force_library", "library functions / the paper's"),
            ("force_tea_8", "8 rounds of the tags / 4 rounds of the signatures"),
            ("force_philox", "Philox of the tags / 4 rounds of the signatures"),
            ("force_product", "functions of the engines and Philox / the paper's"),
        ):
            ratio = times[name] / times["force"]
            add("Section 3.5", f"{label}, time of the forces: {title}", ratio, None, size)
        share = times["signatures"] / times["force"]
        add("Section 3.5", f"{label}, time of the signatures / of the forces", share, None, size)
    unit = "cycles" if report["on_gpu"] else "ns"
    for name, error in report["accuracy"].items():
        published = PUBLISHED_FUNCTIONS.get(name)
        label = name.replace("product_", "engines' ")
        label += " (binary)" if name == "fastlog" else ""
        counted = report["instructions"].get(name)
        if counted:
            for k, key in enumerate(("instructions", "branches")):
                said = published[k] if published else None
                title = f"{label}, {'PTX ' if k == 0 else 'conditional '}{key}"
                add("Table 3", title, counted[key], said, "one call", "compiled")
        said = published[2] if published and report["on_gpu"] else None
        calls = f"{report['calls']:,} calls"
        add(
            "Table 3", f"{label}, latency ({unit})", report["latency"][name], said, calls, "a chain"
        )
        kind = "relative" if name in ("fastcospi", "fastlog") else "ULP"
        said = published[3] if published else None
        if not report["on_gpu"] and kind == "ULP" and not name.startswith("fast"):
            said = None  # of other libraries
        size = f"{report['samples']:,} arguments"
        add("Table 3", f"{label}, largest error ({kind})", error, said, size, "at random")
    other = "Thrust" if report["on_gpu"] else "std::stable_sort"
    for number, ours, theirs, *more in report["sorting"]:
        size = f"{number:,} keys"
        add("Figure 2", "radix sort (ms)", 1e3 * ours, None, size)
        add("Figure 2", f"{other} / radix sort", theirs / ours, None, size)
        for time in more:
            add("Figure 2", "CUB / radix sort", time / ours, None, size)
    for pair in report["reordering"]:
        before, after = pair["random"]["times"], pair["Morton"]["times"]
        size = f"{pair['random']['particles']:,} particles"
        gain = step(before, 0.0) / step(after, pair["sort"])
        published = 2.0 if report["on_gpu"] else None
        add("Figure 4", "gain of a whole step (published: almost 2)", gain, published, size)
        for name, title in (("force", "forces"), ("vote", "list builder"), ("expand", "stencils")):
            add("Figure 4", f"gain of the {title}", before[name] / after[name], None, size)
    for name, found in report["matrix"].items():
        title = f"{name} order: mean distance of the indices of a pair / number of particles"
        add("Figure 5", title, found["distance"], None, "2,048 particles", "one start")
        title = f"{name} order: tiles of 32 x 32 that contain a pair"
        add("Figure 5", title, found["tiles"], None, "2,048 particles", "one start")
    return lines


def draw(report: dict[str, Any]) -> Figure:
    """Sorting times, gains by reordering, both interaction matrices, list builders."""
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    (lists, sorting, gains), (functions, left, right) = figure.subplots(2, 3)
    found = report["lists"]
    at = np.arange(len(found))
    names = ("vote", "vote_in_registers", "atomic_in_shared", "atomic_in_global")
    names = [name for name in names if name in found[0]["times"]]
    for k, name in enumerate(names):
        times = [1e3 * one["times"][name] for one in found]
        lists.bar(at + 0.8 * k / len(names), times, 0.8 / len(names), label=name.replace("_", " "))
    labels = [f"{one['case'][0]:g},\n{one['case'][1]:,}" for one in found]
    lists.set_xticks(at + 0.3, labels, fontsize=6)
    lists.set(yscale="log", ylabel="time (ms)", title="Table 2: list builders")
    lists.legend(fontsize=6)
    sizes, *curves = zip(*report["sorting"], strict=True)
    other = "Thrust" if report["on_gpu"] else "std::stable_sort"
    for times, label in zip(curves, ("radix sort", other, "CUB"), strict=False):
        sorting.loglog(sizes, 1e3 * np.array(times), "o-", ms=3, label=label)
    sorting.set(xlabel="keys", ylabel="time (ms)", title="Figure 2: sorting")
    sorting.legend(fontsize="small")
    sizes = [pair["random"]["particles"] for pair in report["reordering"]]
    for name in ("force", "vote", "expand"):
        ratio = [p["random"]["times"][name] / p["Morton"]["times"][name]
                 for p in report["reordering"]]  # fmt: skip
        gains.semilogx(sizes, ratio, "o-", ms=3, label=name)
    whole = [step(p["random"]["times"], 0) / step(p["Morton"]["times"], p["sort"])
             for p in report["reordering"]]  # fmt: skip
    gains.semilogx(sizes, whole, "ks-", ms=4, label="whole step")
    gains.axhline(2, color="0.6", lw=1, ls=":", label="paper, about")
    gains.set(xlabel="particles", ylabel="gain", title="Figure 4: reordering")
    gains.legend(fontsize="small")
    shown = [name for name in PUBLISHED_FUNCTIONS if name in report["latency"]]
    at = np.arange(len(shown))
    functions.bar(at - 0.2, [report["latency"][name] for name in shown], 0.4, label="ours")
    if report["on_gpu"]:
        published = [PUBLISHED_FUNCTIONS[name][2] for name in shown]
        functions.bar(at + 0.2, published, 0.4, label="paper (K20)")
    functions.set_xticks(at, shown, fontsize=7, rotation=30)
    functions.set(ylabel=f"latency ({'cycles' if report['on_gpu'] else 'ns'})", title="Table 3")
    functions.legend(fontsize="small")
    for axes, name in ((left, "random"), (right, "Morton")):
        tiles = [list(map(int, row)) for row in report["matrix"][name]["tiles_of_8"]]
        axes.imshow(tiles, cmap="gray_r", extent=(0, 2048, 2048, 0))
        axes.set_title(f"Figure 5: {name} order")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--densities", [3.0, 6.0, 50.0])
    parser.option("--sizes", [65536, 524288], "Number of particles of Table 2.")
    parser.option(
        "--sizes-of-reordering",
        [65536, 262144, 1048576, 2097152],
        "Numbers of particles of Figure 4; Table 1 uses the last one.",
    )
    parser.option(
        "--sizes-of-sorting", [2**k for k in range(12, 25, 2)], "Numbers of keys of Figure 2."
    )
    parser.option("--repeats", 5, "Number of runs, of which the fastest one counts.")
    parser.option("--samples", 2_000_000, "Number of arguments of the functions.")
    parser.option("--calls", 100_000, "Number of calls in a chain.")
    parser.add_argument(
        "--ptx", action=argparse.BooleanOptionalAction, default=shutil.which("nvcc") is not None,
        help="Count PTX instructions, which needs nvcc.",
    )  # fmt: skip
    quick = {
        "device": "cpu", "densities": [3.0], "sizes": [2048], "sizes_of_reordering": [2048],
        "sizes_of_sorting": [4096, 16384], "repeats": 1, "samples": 10000, "calls": 1000,
        "ptx": False,
    }  # fmt: skip
    options = script.parse(parser, "variants", quick, draw=draw)
    script.at_least(options, sizes=32, repeats=1, samples=4, calls=1)
    report = simulate(options)
    report["rows"] = rows({**vars(options), **report})
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
