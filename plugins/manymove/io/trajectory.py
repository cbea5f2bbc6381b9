"""GSD trajectories, in HOOMD-blue's convention: origin at the center of the box.

GSD stores positions, boxes and diameters in float32. Therefore the box and the sizes of the
particles are also written as float64 logged quantities, which `read_frame` prefers. Positions are
rounded by about 3e-5 diameters for a million disks, and the engine repairs the shallow overlaps
that result.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import gsd.hoomd
import gsd.version
import numpy as np

from manymove import arguments, files
from manymove.tables import Record

_LOG = "manymove/"
_BOX = "manymove/box"
_DIAMETER = "manymove/diameter"
_DIAMETERS = "manymove/diameters"
_CONTACTS = "manymove/contacts"
_ROUNDING = 1e-6  # relative rounding error of float32 positions and boxes
# The layout of GSD files, versions 1 and 2: https://gsd.readthedocs.io/en/stable/file-layer.html
_HEADER = 256  # bytes; the magic number, then location and entries of the index
_INDEX = np.dtype(  # of an entry, which is unused where the location is 0
    {"names": ["frame", "location"], "formats": ["<u8", "<i8"], "offsets": [0, 16], "itemsize": 32}
)


@dataclass(frozen=True, repr=False, eq=False)
class Frame(Record):
    """A frame of a GSD file: disks in two, or particles in three dimensions.

    Attributes:
        positions: positions of the particles, float64 (N, 2) or (N, 3), in [-L/2, L/2).
        box: edges (Lx, Ly) or (Lx, Ly, Lz) of the box.
        diameters: diameters of the particles, float64 (N,); 1 if the file has none.
        charges: charges of the particles, float64 (N,); 0 if the file has none.
        step: time step of the frame.
        types: names of the particle types that occur.
        typeid: index of the type of each particle in `types`, integers (N,).
        velocities: velocities of the particles, float64 (N, 3); 0 if the file has none.
        masses: masses of the particles, float64 (N,); 1 if the file has none.
        contacts: contact distances of pairs of these types, float64 (T, T); None if the file has no
            such table of this package.
        orientations: orientations of the particles, unit quaternions, float64 (N, 4); (1, 0, 0, 0)
            if the file has none.
        images: image flags of the particles, int32 (N, 3); 0 if the file has none.
        log: quantities that this package has logged, by name without `manymove/`.

    All quantities are in the units of the file.
    """

    positions: np.ndarray
    box: tuple[Any, ...]
    diameters: np.ndarray
    charges: np.ndarray
    step: int
    types: tuple[str, ...]
    typeid: np.ndarray
    velocities: np.ndarray
    masses: np.ndarray
    contacts: np.ndarray | None
    orientations: np.ndarray
    images: np.ndarray
    log: Mapping[str, np.ndarray]

    @property
    def diameter(self) -> float:
        """Diameter of the first particle, and of all if they are equal. Without particles, the
        diameter that `write_gsd` logs, or 1 if the file has none."""
        return float([*self.diameters, *self.log.get("diameter", ()), 1.0][0])


def read_frame(
    path: str | os.PathLike[str],
    index: int = -1,
    *,
    dimensions: int = 2,
    mixtures: bool = False,
    empty: bool = False,
) -> Frame:
    """Read one frame of a GSD file.

    Args:
        path: path of a file with the schema of HOOMD-blue.
        index: index of the frame; negative numbers count from the end.
        dimensions: 2 for disks, 3 for particles.
        mixtures: whether disks may have different diameters; particles may.
        empty: whether the frame may have no particles. The table of contacts then also has the
            types without particles.

    Returns:
        the frame.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is not a GSD file with the schema of HOOMD-blue, or has no such frame;
            the frame has no particles without `empty`, another number of dimensions or a tilted
            box; a position is not finite or is outside the box; a disk has z other than 0, or a
            diameter other than that of the first disk without `mixtures`.
    """
    raw = _read(path, index)
    try:
        return _particles(raw, dimensions, mixtures or dimensions == 3, empty)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}, frame {index}: {error}") from None


def read_log(path: str | os.PathLike[str], index: int = -1) -> dict[str, np.ndarray]:
    """Read the quantities that this package has logged in one frame of a GSD file.

    Args:
        path: path of a file with the schema of HOOMD-blue.
        index: index of the frame; negative numbers count from the end.

    Returns:
        the quantities by their names without `manymove/`.

    Raises:
        FileNotFoundError, ValueError: the file cannot be read, as for `read_frame`.
    """
    return _log_of(_read(path, index))


def _log_of(frame: gsd.hoomd.Frame) -> dict[str, np.ndarray]:
    """The logged quantities of this package, by their names without the prefix."""
    return {
        name.removeprefix(_LOG): value for name, value in frame.log.items() if name.startswith(_LOG)
    }


def _read(path: str | os.PathLike[str], index: int) -> gsd.hoomd.Frame:
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    arguments.integer("frame", index)
    try:
        with gsd.hoomd.open(str(path), "r") as trajectory:
            frames = len(trajectory)
            if -frames <= index < frames:
                _check_counts(trajectory, {0, index % frames}, path.stat().st_size)
                frame = trajectory[index]
    except Exception as error:  # gsd raises many types for a damaged file
        raise ValueError(f"{path}: not a readable GSD file ({_why(error)})") from error
    if not -frames <= index < frames:
        raise ValueError(f"{path}: no frame {index}, the file has {frames}")
    return frame


def _why(error: Exception) -> str:
    """The message of gsd, and for files of a newer HOOMD-blue the remedy."""
    message = files.printable(str(error))
    newer = re.search(r"Incompatible hoomd schema version \((\d+), (\d+)\)", message)
    if newer is None:
        return message
    return (
        f"schema {newer[1]}.{newer[2]} of HOOMD-blue, which gsd {gsd.version.version} does not "
        "read: pip install --upgrade gsd"
    )


def _check_counts(trajectory: gsd.hoomd.HOOMDTrajectory, frames: set[int], size: int) -> None:
    """Check the numbers of particles and groups before gsd allocates arrays, because those of a
    damaged file may be arbitrary."""
    groups = ("bonds", "angles", "dihedrals", "impropers", "constraints", "pairs")
    for frame in frames:
        for name in ("particles", *groups):
            if trajectory.file.chunk_exists(frame, f"{name}/N"):
                count = int(trajectory.file.read_chunk(frame, f"{name}/N")[0])
                if 4 * count > size:
                    raise ValueError(f"no room for {count} {name}")


def _particles(frame: gsd.hoomd.Frame, wanted: int, mixtures: bool, empty: bool) -> Frame:
    if frame.particles.N == 0 and not empty:
        raise ValueError("no particles")
    if frame.configuration.box is None:
        raise ValueError("no box")
    # A file without the number of dimensions is three-dimensional unless the box is flat.
    dimensions = frame.configuration.dimensions
    lx, ly, lz, *tilt = (float(x) for x in frame.configuration.box)
    if wanted == 2 and dimensions != 2 and lz != 0:
        raise ValueError(f"{dimensions}-dimensional; disks need a two-dimensional box (Lz = 0)")
    if wanted == 3 and (dimensions == 2 or lz == 0):
        raise ValueError("two-dimensional; a box with three edges is needed")
    if any(t != 0 for t in tilt):
        raise ValueError(
            f"the box is tilted (xy, xz, yz = {tilt}); only rectangular boxes are read"
        )
    edges = [lx, ly, lz][:wanted]
    if not (min(edges) > 0 and math.isfinite(math.prod(edges))):
        raise ValueError(f"box edges {', '.join(map(str, edges))}; they must be positive")

    xyz = frame.particles.position.astype(np.float64)
    _refuse(~np.isfinite(xyz).all(axis=1), xyz, "is not finite")
    if wanted == 2:
        _refuse(xyz[:, 2] != 0, xyz, "has z other than 0")
    box, positions = _logged(frame, _BOX, np.array(edges)), xyz[:, :wanted]
    half = box / 2
    outside = (np.abs(positions) > half * (1 + _ROUNDING)).any(axis=1)
    _refuse(outside, xyz, f"is outside {' x '.join(map(str, edges))}", ": wrap the positions")
    positions = np.where(positions >= half, positions - box, positions)
    positions = np.where(positions < -half, positions + box, positions)
    positions = np.where(positions >= half, -half, positions)

    diameters = frame.particles.diameter.astype(np.float64)
    if (diameters == diameters[:1]).all():
        diameters[:] = _logged(frame, _DIAMETER, diameters[:1])
    elif not mixtures:
        raise ValueError(
            f"diameters from {diameters.min()} to {diameters.max()}; all disks must be alike"
        )
    else:
        diameters = _logged(frame, _DIAMETERS, diameters)
    if not ((diameters > 0) & np.isfinite(diameters)).all():
        raise ValueError(f"diameter {diameters.min()}; it must be positive")
    kinds, typeid = np.unique(frame.particles.typeid, return_inverse=True)
    contacts = frame.log.get(_CONTACTS)
    if empty and (contacts is not None or not len(typeid)):
        kinds, typeid = np.arange(len(frame.particles.types)), frame.particles.typeid
    if contacts is not None:
        own = diameters == np.diagonal(contacts)[frame.particles.typeid]
        contacts = contacts[np.ix_(kinds, kinds)] if own.all() else None
    return Frame(
        np.ascontiguousarray(positions),
        tuple(box.tolist()),
        diameters,
        frame.particles.charge.astype(np.float64),
        int(frame.configuration.step),
        tuple(str(frame.particles.types[k]) for k in kinds),
        typeid,
        frame.particles.velocity.astype(np.float64),
        frame.particles.mass.astype(np.float64),
        contacts,
        frame.particles.orientation.astype(np.float64),
        frame.particles.image.astype(np.int32),
        _log_of(frame),
    )


def _refuse(bad: np.ndarray, xyz: np.ndarray, why: str, remedy: str = "") -> None:
    if bad.any():
        first = int(np.argmax(bad))
        where = f"particle {first} at {xyz[first].tolist()}"
        raise ValueError(f"{where} {why} ({bad.sum()} such){remedy}")


def _logged(frame: gsd.hoomd.Frame, name: str, stored: np.ndarray) -> np.ndarray:
    """The float64 value that manymove has logged, or the stored float32 value if another program
    has changed that."""
    logged = frame.log.get(name)
    if logged is None or logged.shape != stored.shape:
        return stored
    return logged if np.allclose(logged, stored, rtol=_ROUNDING, atol=0) else stored


def _restore(path: Path, mark: Mapping[str, Any]) -> bool:
    """Restore the bytes of a file at a mark, and return whether they were different.

    An append writes after the end of the file and into unused entries of the index. When the index
    is full, a longer one is made after the end, and the header says where; the shorter one stays.
    Therefore the header, the size and the number of frames determine the bytes.
    """
    header = bytes.fromhex(mark["header"])
    start, allocated = struct.unpack_from("<QQ", header, 8)
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        same = file.seek(0) == 0 and file.read(_HEADER) == header and size == mark["size"]
        file.seek(start)
        data = file.read(allocated * _INDEX.itemsize)
        index = np.frombuffer(data, _INDEX, len(data) // _INDEX.itemsize)
        used = (index["location"] > 0) & (index["frame"] < mark["frames"])
        entries = len(used) if used.all() else int(np.argmin(used))
        if size < mark["size"] or not entries or index["frame"][entries - 1] + 1 != mark["frames"]:
            raise ValueError(f"{path}: not the trajectory that the checkpoint was written with")
        rest = start + entries * _INDEX.itemsize
        unused = bytes(start + len(data) - rest)
        if same and data.endswith(unused):
            return False
        file.truncate(mark["size"])
        file.seek(rest)
        file.write(unused)
        file.seek(0)
        file.write(header)
    files.sync(path)
    return True


def _name(kind: int) -> str:
    """Name of a type: A to Z, then AA, AB and so on."""
    return (_name(kind // 26 - 1) if kind >= 26 else "") + chr(ord("A") + kind % 26)


def make_frame(
    positions: np.ndarray,
    box: Sequence[float],
    step: int,
    *,
    diameters: float | np.ndarray | None = None,
    types: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    contacts: np.ndarray | None = None,
    charges: np.ndarray | None = None,
    velocities: np.ndarray | None = None,
    images: np.ndarray | None = None,
    log: Mapping[str, Any] | None = None,
) -> gsd.hoomd.Frame:
    """Make a frame with the schema of HOOMD-blue.

    Args:
        positions: positions of the particles, (N, 2) or (N, 3), in [-L/2, L/2).
        box: edges (Lx, Ly) or (Lx, Ly, Lz) of the box, or in addition the tilts (xy, xz, yz).
        step: time step of the frame.
        diameters: diameter of all particles, or of each of them, (N,).
        types: type of each particle, integers (N,) from 0.
        names: names of the types; default A, B, C...
        contacts: contact distances of the pairs of types of a mixture, (T, T).
        charges: charge of each particle, (N,).
        velocities: velocities of the particles, (N, 3).
        images: image flags of the particles, integers (N, 3).
        log: numbers or arrays that are stored with the frame as `manymove/<name>`.

    Raises:
        ValueError: positions have another shape or are not finite, an edge is not positive, or the
            step is negative.
        TypeError: the step is not an integer.
    """
    positions = np.asarray(positions)
    if len(box) not in (2, 3, 6) or not all(0 < edge < math.inf for edge in box[:3]):
        raise ValueError(f"box must be two or three positive edges, or three with tilts, got {box}")
    tilts = tuple(box[3:]) or (0, 0, 0)
    edges = tuple(box[:3])
    dimensions = len(edges)
    if positions.ndim != 2 or positions.shape[1] != dimensions:
        raise ValueError(f"positions have shape {positions.shape}; it must be (N, {dimensions})")
    if not np.isfinite(positions).all():
        raise ValueError("positions must be finite")
    flat = 3 - dimensions
    frame = gsd.hoomd.Frame()
    frame.configuration.step = arguments.uint64("step", step)
    frame.configuration.dimensions = dimensions
    frame.configuration.box = [*edges, *([0] * flat), *tilts]
    frame.particles.N = len(positions)
    frame.particles.position = np.pad(positions, ((0, 0), (0, flat)))
    frame.log = {_LOG + name: np.atleast_1d(value) for name, value in (log or {}).items()}
    frame.log[_BOX] = np.array(edges, dtype=np.float64)
    if diameters is not None:
        each = np.atleast_1d(np.asarray(diameters, dtype=np.float64))
        frame.particles.diameter = np.broadcast_to(each, len(positions))
        equal = (each == each[:1]).all()
        if each.size:
            frame.log[_DIAMETER if equal else _DIAMETERS] = each[:1] if equal else each
    if types is not None:
        frame.particles.typeid = types
        count = max(0 if contacts is None else len(contacts), int(np.max(types, initial=-1)) + 1)
        frame.particles.types = list(names or map(_name, range(count)))
    if contacts is not None:
        frame.log[_CONTACTS] = np.asarray(contacts, dtype=np.float64)
    frame.particles.charge = charges
    frame.particles.velocity = velocities
    frame.particles.image = images
    return frame


W = TypeVar("W", bound="FrameWriter")


class FrameWriter:
    """Append frames to a GSD file, and continue it from a mark.

    Example::

        with FrameWriter("trajectory.gsd") as trajectory:
            trajectory.write(make_frame(positions, box, 1000, log={"pressure": 9.17}))

    Args:
        path: path of the file.
        resume: append to the file if it exists.
        mark: a result of `sync`. Frames after this mark are dropped, because they may be
            incomplete after a power cut, and new frames are appended to the rest.
        overwrite: replace the file if it exists.

    Raises:
        FileExistsError: the file exists, and neither `resume`, `mark` nor `overwrite` is given.
        OSError: the file cannot be written.
        ValueError: the file to append to is not a GSD file, is damaged, or does not match the mark.

    Attributes:
        last_step: step of the last frame in the file; -1 before the first.
        shortened: whether the file had frames after the mark.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        resume: bool = False,
        mark: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        path = Path(path)
        if path.exists() and not (resume or mark or overwrite):
            raise FileExistsError(
                f"{path} exists: resume=True appends to it, overwrite=True replaces it"
            )
        self.shortened = False
        self.last_step = mark["last_step"] if mark else -1
        if not (path.is_file() and (mark["frames"] if mark else resume)):
            with files.replace(path) as file:
                gsd.hoomd.open(file.name, "w").close()
        elif mark:
            self.shortened = _restore(path, mark)
        try:
            self._file = gsd.hoomd.open(str(path), "r+")
            self._frames = len(self._file)
            if self._frames:
                self.last_step = int(self._file[-1].configuration.step)
        except Exception as error:  # of many types, for a damaged file
            raise ValueError(f"{path}: not a readable GSD file ({_why(error)})") from error
        self._path = path

    def write(self, frame: gsd.hoomd.Frame) -> None:
        """Append a frame, for example one of `make_frame`."""
        self._file.append(frame)
        self._file.flush()  # so that the frame is not lost if the process is killed
        self._frames += 1
        self.last_step = int(frame.configuration.step)

    def sync(self) -> dict[str, Any]:
        """Wait until all frames are on the disk.

        Returns:
            a mark for the argument `mark`, which can be stored in JSON.
        """
        files.sync(self._path)
        with open(self._path, "rb") as file:
            header = file.read(_HEADER)
            size = file.seek(0, os.SEEK_END)
        return {
            "frames": self._frames,
            "last_step": self.last_step,
            "size": size,
            "header": header.hex(),
        }

    def close(self) -> None:
        """Close the file and wait until it is on the disk."""
        self._file.close()
        files.sync(self._path)

    def __enter__(self: W) -> W:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
