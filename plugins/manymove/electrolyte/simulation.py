"""Canonical Monte Carlo of charged hard spheres, with no approximation of the energy.

Method: Y. Liang, X. Xing, Y. Li, "A GPU-based large-scale Monte Carlo simulation method for systems
with long-range interactions" (2017). Sections, equations and tables below are that paper's;
docs/theory/coulomb.md has the proof that the parallel schedule makes the sequential chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from manymove import _core, arguments, checkpoint, devices
from manymove.analysis.blocking import estimate
from manymove.analysis.ions import Salt, Species, debye_length, random_box, random_sphere
from manymove.analysis.notation import Estimate
from manymove.analysis.pair_correlations import PairSampling
from manymove.analysis.structure_factors import StructureSampling
from manymove.checkpoint import PathLike
from manymove.electrolyte.sampling import Sampling
from manymove.jobs.ranks import Ranks
from manymove.runs import Callbacks
from manymove.settings import (
    Brush,
    Displacements,
    Ewald,
    Ions,
    Seed,
    Sphere,
    group,
    one_of,
)
from manymove.shared import SharedSimulation
from manymove.simulation import counter, of_engine, parameter
from manymove.tables import dataframe

if TYPE_CHECKING:
    import pandas

WATER_300K = 7.117  # Bjerrum length in angstrom: relative permittivity 78.3, 300 K
METHODS = ("brush", "tree", "reduction", "serial", "auto")
BOUNDARIES = ("nearest_image", "ewald")
_MOST_SWEEPS = 1 << 20  # whose energies the engine keeps


class Electrolyte(Sampling, SharedSimulation):
    """Charged hard spheres (the primitive model) by sequential Metropolis Monte Carlo.

    A *sweep* tries to move every ion once, in the order of the input. The energy of a trial move is
    summed over all pairs, without cutoff or mesh. The chain is the sequential one for every
    `method`, device, `threads` and `threads_per_particle`. With ``precision="double"`` all
    decisions are the same; with ``"mixed"`` energy differences are rounded by about 1e-6 kT, so
    that about one decision in a million differs. Runs with "mixed" are reproducible on one kind of
    device. Equations, sections and tables are numbered as in Y. Liang, X. Xing and Y. Li, J.
    Comput. Phys. (2017), doi:10.1016/j.jcp.2017.02.069.

    With `comm`, all ranks must make the same calls with the same arguments in the same order. Each
    rank has all ions; therefore positions, counters and samples are known on every rank without
    communication. Creation, runs, `set_positions`, `save`, `load`, `energy_drift()` and the first
    access to `energy` or `energy_records` are collective. An error of one rank in a collective call
    is raised on all ranks; ``python -m mpi4py script`` ends all ranks after an error elsewhere.

    Raises:
        IonOverlapError: (a ValueError) two ions overlap; the message names them.
        ValueError: the ions are not neutral, outside the cell or of valence 0, or another number or
            shape is bad; the ranks of `comm` have different arguments, or cannot share the chain.
        TypeError: positions are neither a list nor an array of float32 or float64; comm is not a
            communicator.
        RankLost: (a RuntimeError, on all ranks) a rank is silent or has failed, or the ranks do not
            make the same calls. The object cannot be used afterwards.
        MemoryError: the device does not have enough memory.

    An object may be used by one thread at a time, and not in a forked process. Any other use raises
    a RuntimeError.
    """

    _KIND = "an electrolyte"
    _COUNTER = "sweeps"
    _several = True

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float, float] | Sphere,
        ions: Annotated[Ions, group(Ions)],
        *,
        seed: Seed,
        boundary: str | Ewald | None = None,
        bjerrum_length: Annotated[float, arguments.number] = WATER_300K,
        max_displacement: float | Displacements | None = None,
        method: str | Brush = "brush",
        precision: Annotated[str | None, one_of(*arguments.PRECISIONS)] = None,
        first_sweep: Annotated[int, arguments.uint64] = 0,
        comm: Any = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        """Create ions at positions.

        Args:
            positions: centers of the ions, (N, 3), in angstrom, in any order of species, with the
                origin at the center; a list or an array as for `HardDisks`. They are rounded to a
                grid of radius / 2**23 (or the longest edge / 2**24), on which differences are
                exact.
            box: edges (Lx, Ly, Lz) in angstrom of a periodic box centered on the origin, or a
                `Sphere`.
            ions: species of the ions and the species of each, `Ions`.
            seed: seed of the random number generator, an integer in [0, 2**64).
            boundary: energy of a periodic box. With "nearest_image" (default) only the nearest
                image of each ion interacts, therefore the box should be much longer than the
                screening length. With "ewald" or an `Ewald` all images interact.
            bjerrum_length: Bjerrum length l_B = beta e^2 / (4 pi epsilon) in angstrom (default that
                of water at 300 K, 7.117).
            max_displacement: maximum trial displacement along each axis, in angstrom, or
                `Displacements` of two sizes; moves are uniform in a cube (default radius / 3 or L /
                6, so that the edge of the cube is a third of the size of the system, section 5.2).
            method: "brush" (section 3 of the paper) computes all pairs; `Brush` sets its number of
                GPU threads. "tree" makes the same decisions as the brush in double precision, trial
                by trial, in a time that grows as N^1.5: it estimates the change of the energy by a
                particle mesh whose error is bounded, and computes all pairs only for trials that
                the bound leaves open (`direct_moves`; see docs/theory/coulomb.md, section 8). It is
                for spherical cells and for Ewald's energy. "auto" chooses between the two by the
                number of ions, with decisions of double precision (if `precision` is "mixed", the
                brush). "reduction" (section 4 of the paper) and "serial" (CPU only) are for
                comparison.
            precision: "mixed" (float32 pair terms, exact sums) or "double" (default "mixed"; the
                tree makes the decisions of double precision, which is its default and all that it
                has).
            first_sweep: value of `sweeps` at the start. Random numbers belong to a seed and a
                sweep.
            comm: communicator of mpi4py, for instance ``MPI.COMM_WORLD``, or `Ranks`. The CPUs of
                its ranks share the chain (methods "brush" and "tree"). The trajectory is the same
                as on one rank, bit for bit, in both precisions (default one rank).
            device: "auto" (a GPU if there is one, with `comm` the CPU), "cpu", "cuda" or
                "cuda:<index>". With
                "cuda:0,1" several GPUs of this machine share the chain (methods "brush" and
                "tree"), which is the same. With the brush two GPUs are 1.9 times as fast as one at
                a million ions, but not faster at 100,000. The GPUs must have peer access to each
                other, and two processes should not have such chains on the same GPUs under CUDA
                MPS.
            threads: number of threads of the CPU engine (default all cores, with `comm` this rank's
                part of them).
        """
        sphere = isinstance(box, Sphere)
        ewald = Ewald() if boundary == "ewald" else boundary
        if sphere and boundary is not None:
            raise ValueError(f"boundary {boundary!r} is for a periodic box, not for a sphere")
        if isinstance(ewald, Ewald):
            boundary = "ewald"
        elif not sphere:
            boundary = arguments.one_of("boundary", boundary or BOUNDARIES[0], BOUNDARIES)
        moves = max_displacement if isinstance(max_displacement, Displacements) else None
        longest: Any = moves.long if moves else max_displacement
        eta = method.threads_per_particle if isinstance(method, Brush) else 0
        method = "brush" if isinstance(method, Brush) else method
        group(Ions)("ions", ions)
        self._species, self._types = tuple(ions.species), ions.types
        if precision is None:
            precision = "double" if method in ("tree", "auto") else "mixed"
        self._parameters: dict[str, Any] = {
            "radius": float(box.radius) if isinstance(box, Sphere) else None,
            "box": None if isinstance(box, Sphere) else arguments.edges(box, 3),
            "boundary": boundary,
            "surrounding": ewald.surrounding if isinstance(ewald, Ewald) else None,
            "bjerrum_length": bjerrum_length,
            "max_displacement": arguments.positive_or_default("max_displacement", longest),
            "short_displacement": moves.short if moves else 0.0,
            "short_fraction": moves.short_fraction if moves else 0.0,
            "precision": precision,
            "method": arguments.one_of("method", method, METHODS),
            "threads_per_particle": eta,
            "seed": seed,
            "first_sweep": first_sweep,
        }
        self._settle(device, threads, comm)
        found, images = self._read(positions, ewald.images if isinstance(ewald, Ewald) else None)
        with self._on_all_ranks():
            engine = _core.Electrolyte.from_positions(
                found, self._columns(), *self._where(), images, self._core_ranks
            )
        self._adopt(engine)

    @classmethod
    def random(
        cls,
        salt: Salt,
        box: tuple[float, float, float] | Sphere,
        *,
        seed: int,
        **options: Any,
    ) -> Electrolyte:
        """Create ions at random positions without overlaps.

        Densities up to the density of a face-centered cubic lattice of the largest diameter are
        possible, except that some sites do not fit along the wall of a spherical cell.

        Args:
            salt: species and numbers of ions.
            box: periodic box or spherical cell, as for the class.
            seed: seed of the positions and of the chain.
            options: the other arguments of the class.

        Raises:
            ValueError: the density is too high, or an error of the class.
        """
        if not isinstance(salt, Salt):
            raise TypeError(f"salt must be a manymove.Salt, got {salt!r}")
        number, diameter = sum(salt.counts), max(s.diameter for s in salt.species)
        if isinstance(box, Sphere):
            positions = random_sphere(number, box.radius, diameter, seed)
        else:
            positions = random_box(number, arguments.edges(box, 3), diameter, seed)
        ions = Ions(np.repeat(np.arange(len(salt.counts)), salt.counts), salt.species)
        return cls(positions, box, ions, seed=seed, **options)

    @classmethod
    def from_gsd(
        cls,
        path: PathLike,
        frame: int = -1,
        *,
        seed: int,
        species: Sequence[Species] | None = None,
        box: Sphere | None = None,
        **options: Any,
    ) -> Electrolyte:
        """Create the ions of a frame of a GSD file, in its rectangular box or in a spherical cell.

        Args:
            path: path of a file with the schema of HOOMD-blue; lengths in angstrom.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the chain.
            species: one for each particle type that occurs, in the order of the file. By default
                they follow from types, charges (in elementary charges) and diameters in the file.
            box: spherical cell, instead of the periodic box of the file; by default the
                cell of `write_gsd`.
            options: the other arguments of the class. A box in a vacuum has the images of the
                file, unless `boundary` has others.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class.
        """
        from manymove.io import read_frame

        found = read_frame(path, frame, dimensions=3)
        types = found.typeid
        if species is None:
            columns = np.column_stack((types, found.charges, found.diameters))
            kinds, types = np.unique(columns, axis=0, return_inverse=True)
            if not kinds[:, 1].all():
                raise ValueError(f"{path}: not all particles have a charge: give species")
            species = [Species(*kind) for kind in kinds[:, 1:].tolist()]
        place: Any = box
        if box is None:
            place = Sphere(float(found.log["radius"][0])) if "radius" in found.log else found.box
        boundary = options.get("boundary")
        if isinstance(boundary, Ewald) and boundary.surrounding == "vacuum":
            images = found.images if boundary.images is None else boundary.images
            options = {**options, "boundary": Ewald("vacuum", images)}
        ions = Ions(types.reshape(-1), species)
        return cls(found.positions, place, ions, seed=seed, **options)

    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Valence, diameter and species of each ion, in the form that the engine needs."""
        valence = np.array([s.valence for s in self._species], dtype=float)[self._types]
        diameter = np.array([s.diameter for s in self._species], dtype=float)[self._types]
        return valence, diameter, self._types

    def _device_of_rank(self, ranks: Ranks, device: str) -> str:
        return "cpu" if device == "auto" else device  # the core refuses GPUs by name

    @property
    def _core_ranks(self) -> Any:
        return self._ranks.core if self._ranks else None

    def _read(self, positions: Any, images: Any) -> tuple[Any, np.ndarray]:
        """Positions and images in a form that the engine reads. All ranks raise an error of one."""

        def read() -> tuple[Any, np.ndarray]:
            found = arguments.positions(positions)
            if self._ranks is not None:  # the engine's call is collective
                _core.check_positions(found, 3)
            return found, _image_column(images)

        return self._together(read)

    def _adopt_snapshot(self, state: dict[str, Any]) -> None:
        """Continue with an engine from a snapshot, which all ranks have."""
        self._adopt(
            _core.Electrolyte.from_snapshot(
                state, self._columns(), *self._where(), self._core_ranks
            )
        )

    def _adopt(self, engine: _core.Electrolyte) -> None:
        super()._adopt(engine)
        self._start_energy: float | None = None  # from which changes are counted
        self._sampling = self._structure = None
        self._energies: list[np.ndarray] = []

    # ---- running ---------------------------------------------------------------------------------

    def run(self, sweeps: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run for a number of sweeps.

        Args:
            sweeps: number of sweeps, at least 0; a sweep is one trial move per ion.
            callbacks: pairs (every, function). A function is called with this object whenever
                `sweeps` is a multiple of `every`. Callbacks do not affect the trajectory.
            progress: show a progress bar.

        Raises:
            TypeError: sweeps is not an integer, or callbacks are not pairs of an integer and a
                function.
            ValueError: sweeps is negative, or `every` is not positive.
            KeyboardInterrupt: Ctrl-C, after the current sweep.
        """
        sweeps = arguments.steps("sweeps", sweeps)
        with self._running(sweeps, callbacks, progress) as course:
            course.run(sweeps, self._run_piece, self._most)

    def _end_of(self, n: int) -> int:
        return self._parameters.get("first_sweep", 0) + n

    def _join(self, group: Any) -> bool:
        return bool(self._engine.join(group))

    def _run_piece(self, sweeps: int) -> None:
        self._engine.run(sweeps)
        self._collect_energies()
        for sampling in self._samplings:
            if self.sweeps % sampling.every == 0:
                sampling.take(self._engine)

    def _most(self, sweeps: int) -> int:
        """At most this number of sweeps, because the engine stores their energies, and because
        samples are taken between runs; the same on all ranks."""
        to_samples = (each.every - self.sweeps % each.every for each in self._samplings)
        return self._piece_of_all(min(sweeps, _MOST_SWEEPS, *to_samples))

    @property
    def _samplings(self) -> list[PairSampling | StructureSampling]:
        return [each for each in (self._sampling, self._structure) if each is not None]

    def reset_averages(self) -> None:
        self._energies = []
        for sampling in self._samplings:
            sampling.reset()

    # ---- properties ------------------------------------------------------------------------------

    radius: float | None = parameter("radius", "Radius of the spherical cell in angstrom, or None.")
    box: tuple[float, float, float] | None = parameter(
        "box", "Edges (Lx, Ly, Lz) of the periodic box in angstrom, or None."
    )
    boundary: str | None = parameter(
        "boundary", 'Energy of a periodic box, "nearest_image" or "ewald"; None in a sphere.'
    )
    surrounding: str | None = parameter(
        "surrounding",
        'What surrounds the images with Ewald\'s energy, "conductor" or "vacuum"; otherwise None.',
    )
    bjerrum_length: float = parameter("bjerrum_length", "Bjerrum length l_B in angstrom.")
    precision: str = parameter("precision", 'Floating-point precision: "mixed" or "double".')
    method: str = of_engine(
        "method",
        'Method of the sweeps: "brush", "tree", "reduction" or "serial", never "auto".',
    )
    max_displacement: float = of_engine(
        "max_displacement", "Maximum trial displacement along each axis in angstrom, as realized."
    )
    threads_per_particle: int = of_engine(
        "threads_per_particle", "Number of GPU threads per trial, eta; 1 on a CPU."
    )
    sweeps: int = counter(0, "Number of sweeps done, counted from `first_sweep`.")
    evaluated_moves: int = counter(
        3,
        "Number of trial moves whose energy was computed. The others left the cell or overlapped "
        "with an ion that cannot have moved.",
    )
    direct_moves: int = counter(
        4,
        'Number of trial moves that the estimate of method "tree" could not decide, so that their '
        "energy was computed from all pairs.",
    )

    def _place(self) -> dict[str, str]:
        return super()._place() if self.radius is None else {"radius": f"{self.radius:.6g}"}

    @property
    def species(self) -> tuple[Species, ...]:
        """Species of ions, in the order of their indices."""
        return self._species

    @property
    def types(self) -> np.ndarray:
        """Index of the species of each ion, int32 (N,)."""
        return self._types.copy()

    @property
    def volume(self) -> float:
        """Volume of the cell or the box in cubic angstrom."""
        if self.box is not None:
            return math.prod(self.box)
        return 4 / 3 * math.pi * float(self.radius or 0) ** 3

    @property
    def debye_length(self) -> float:  # type: ignore[override]
        """Bare Debye length from the mean densities (Eq. 5), in angstrom."""
        counts = np.bincount(self._types, minlength=len(self._species))
        return debye_length(
            counts / self.volume, [s.valence for s in self._species], self.bjerrum_length
        )

    @property
    def positions(self) -> np.ndarray:
        """Centers of the ions in angstrom, float64 (N, 3), in the order of the input."""
        return self._engine.positions().reshape(self.N, 3)

    @property
    def points(self) -> np.ndarray:
        """`positions` as float32 (N, 3). With the `box` of a periodic system they are a system of
        freud."""
        return self.positions.astype(np.float32)

    @property
    def device_positions(self) -> Any:
        """Copy of `positions` in the memory of the (first) device, float64 (N, 3), for libraries
        that take DLPack, such as ``cupy.from_dlpack`` and ``torch.from_dlpack``. The GPU writes it,
        without the host. On a CPU it is in the memory of the host."""
        return self._engine.device_positions(devices.first_index(self._device))

    @property
    def images(self) -> np.ndarray:
        """Image flags: number of boxes that each ion has crossed along each axis, int32 (N, 3).

        Raises:
            RuntimeError: `surrounding` is not "vacuum"; images are not counted then.
        """
        if self.surrounding != "vacuum":
            raise RuntimeError('images are counted with boundary=Ewald("vacuum") only')
        return self._engine.images().reshape(self.N, 3)

    @property
    def unwrapped_positions(self) -> np.ndarray:
        """Positions in angstrom that do not jump when an ion crosses a face, float64 (N, 3).

        Raises:
            RuntimeError: as for `images`.
        """
        return self.positions + self.images * np.array(self.box)

    def set_positions(self, positions: Any, images: Any = None) -> None:
        """Set the positions of the ions.

        Counters and random numbers continue, and `energy_records` are reset.

        Args:
            positions: centers in angstrom, (N, 3), as for the class.
            images: image flags of the ions, as for `Ewald`.

        Raises:
            IonOverlapError, ValueError, TypeError: an error of the class; the old positions are
                kept.
        """
        found, columns = self._read(positions, images)
        with self._on_all_ranks():
            self._engine.set_positions(found, columns)
        self._engine.take_energies()
        self._start_energy, self._energies = None, []

    def max_overlap(self) -> float:
        """Depth of the deepest overlap in units of the contact distance; 0 if there is none."""
        return self._engine.max_overlap()

    # ---- energy ----------------------------------------------------------------------------------

    @property
    def energy(self) -> float:
        """Total energy in kT. It is computed from all pairs at the first access; later each
        accepted move updates it."""
        if self._start_energy is None:
            self._start_energy = self._engine.energy() - self._engine.energy_change
        return self._start_energy + self._engine.energy_change

    @property
    def energy_records(self) -> np.ndarray:
        """Energy in kT after each sweep, float64 (K,), since the start or since `reset_averages`.
        They take eight bytes per sweep."""
        return self._changes + (self.energy - self._engine.energy_change)

    @property
    def _changes(self) -> np.ndarray:
        """Changes of the energy since the start, after each sweep."""
        self._collect_energies()
        return np.concatenate([np.empty(0), *self._energies])

    @property
    def _measured(self) -> np.ndarray:
        return self.energy_records

    @property
    def energy_average(self) -> Estimate:
        """Mean of `energy_records` in kT, with its standard error by blocking.

        Raises:
            RuntimeError: there are no energies.
        """
        energies = self.energy_records
        if not energies.size:
            raise RuntimeError("nothing measured yet: call run")
        return estimate(energies)

    def to_dataframe(self) -> pandas.DataFrame:
        """`energy_records` as a table of pandas with the columns `sweep` and `energy_kT`.

        Raises:
            ImportError: pandas is not installed.
        """
        energies = self.energy_records
        sweeps = self.sweeps - np.arange(energies.size)[::-1]
        return dataframe({"sweep": sweeps, "energy_kT": energies})

    def _collect_energies(self) -> None:
        """Fetch the energies of the engine. Arrays of similar size are joined, so that their number
        grows only as the logarithm of the number of sweeps."""
        new = self._engine.take_energies()
        if new.size:
            self._energies.append(new)
        while len(self._energies) > 1 and self._energies[-2].size <= self._energies[-1].size:
            self._energies[-2:] = [np.concatenate(self._energies[-2:])]

    def energy_drift(self) -> float:
        """Compute the energy from all pairs in float64, and continue from this value.

        Returns:
            the error of the energy that the moves have updated, in kT.
        """
        followed, exact = self.energy, self._engine.energy()
        self._start_energy = exact - self._engine.energy_change
        return followed - exact

    # ---- checkpoints -----------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        path: PathLike,
        device: str = "auto",
        threads: int | None = None,
        comm: Any = None,
        *,
        method: str | None = None,
    ) -> Electrolyte:
        """Create an object from a checkpoint of any number of ranks.

        With ``precision="double"`` the trajectory continues with the same bits on all devices and
        ranks and with all methods; with "mixed" it does on the same kind of device.

        Args:
            path: path of the file, which the first rank reads.
            device, threads, comm: arguments of the class.
            method: argument of the class; default that with which the file was written, where
                "auto" chooses again for this device.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a checkpoint of this class, or it is damaged; the method is
                not possible.
        """
        return cls._loaded(path, method, device=device, threads=threads, comm=comm)

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {
            "positions": state["positions"],
            "types": self._types,
            "energies": self._changes,
        }
        if self.surrounding == "vacuum":
            arrays["images"] = state["images"]
        for sampling in self._samplings:
            arrays |= sampling.arrays
        header = {
            "parameters": {**self._parameters, "max_displacement": self.max_displacement},
            "species": [(s.valence, s.diameter) for s in self._species],
            "change": state["change"],
            "start_energy": self._start_energy,
            "sampling": None if self._sampling is None else asdict(self._sampling),
            "structure": None if self._structure is None else self._structure.settings,
        }
        return header, arrays

    def _restore(self, path: PathLike, *options: Any) -> None:
        (method,) = options
        kind, types = self._KIND, {"positions": np.float32, "types": np.int32}
        optional = {"images": np.int32, "energies": np.float64}
        optional |= PairSampling.TYPES | StructureSampling.TYPES
        header, arrays = self._of_first(lambda: checkpoint.read(path, kind, types, optional))
        with checkpoint.refused(path, kind):
            self._species = tuple(Species(*one) for one in header["species"])
            self._types = Ions(arrays["types"], self._species).types
            self._parameters = header["parameters"]
            if self._parameters["box"] is not None:
                self._parameters["box"] = tuple(self._parameters["box"])
            # Files written before Ewald's energy was there have neither.
            default = None if self._parameters["box"] is None else BOUNDARIES[0]
            self._parameters.setdefault("boundary", default)
            self._parameters.setdefault("surrounding", None)
            arguments.one_of("precision", self._parameters["precision"], arguments.PRECISIONS)
            arguments.one_of("method", self._parameters["method"], METHODS)
            state = {
                "positions": arrays["positions"],
                "images": arrays.get("images", _image_column(None)),
                # Files written before the method "tree" was there have four counters.
                "counters": (*header["counters"], 0)[:5],
                "change": tuple(header["change"]),
            }
            sampling = header["sampling"]
            if sampling is not None:
                sampling = PairSampling.restored(sampling, arrays)
            structure = header.get("structure")
            if structure is not None:
                structure = StructureSampling.restored(
                    structure, arrays, self._parameters["box"], self._columns()[0]
                )
            start_energy = header["start_energy"]
            if start_energy is not None and not math.isfinite(start_energy):
                raise ValueError(f"start_energy must be finite, got {start_energy}")
            energies = arrays.get("energies", np.empty(0))
            if energies.ndim != 1 or not np.isfinite(energies).all():
                raise ValueError(f"energies of shape {energies.shape} are not finite or not (K,)")
            self._given = checkpoint.decoded(header.get("settings"))
        if method is not None:
            self._parameters["method"] = arguments.one_of("method", method, METHODS)
            self._parameters["threads_per_particle"] = 0  # the default
            if self._given is not None:
                self._given["method"] = method
        self._adopt_snapshot(state)
        self._start_energy, self._sampling = start_energy, sampling
        self._structure = structure
        self._energies = [energies]

    def _present(self) -> dict[str, Any]:
        boundary: Any = self.boundary
        if self.surrounding is not None:
            images = self.images if self.surrounding == "vacuum" else None
            boundary = Ewald(self.surrounding, images)
        return {
            "positions": self.positions,
            "box": self.box if self.radius is None else Sphere(self.radius),
            "ions": Ions(self.types, self.species),
            "boundary": boundary,
        }

    def _continued(self) -> dict[str, Any]:
        return {"first_sweep": self.sweeps}

    def _frame(self) -> Any:
        from manymove.io import make_frame

        charges, diameters, types = self._columns()
        edge = 2 * float(self.radius or 0)
        return make_frame(
            self.positions,
            self.box or (edge, edge, edge),
            self.sweeps,
            diameters=diameters,
            types=types,
            charges=charges,
            images=self.images if self.surrounding == "vacuum" else None,
            log=None if self.radius is None else {"radius": self.radius},
        )


def _image_column(images: Any) -> np.ndarray:
    """Images in the form that the engine needs; empty if there are none."""
    if images is None:
        return np.empty(0, dtype=np.int32)
    array = np.asarray(images)
    if array.ndim != 2 or array.shape[1] != 3 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"images must be integers of shape (N, 3), got {array.dtype} of shape {array.shape}"
        )
    if array.size and np.abs(array).max() > 1 << 20:
        raise ValueError(
            f"images must be at most {1 << 20} boxes away, got {int(np.abs(array).max())}"
        )
    return np.ascontiguousarray(array, dtype=np.int32).reshape(-1)
