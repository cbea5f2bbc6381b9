# SPDX-License-Identifier: BSD-3-Clause
"""Replica exchange of the pressures of `--equation-of-state`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from manymove import files
from manymove.exchange import ReplicaExchange
from manymove.hard_particles.kinds import make_start
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.replica import RECORDS, Replica, Result, made
from manymove.hard_particles.settings import Settings
from manymove.hard_particles.sizes import Sizes
from manymove.io import FrameWriter
from manymove.jobs.options import OPTIONS_FILE, refuse_shorter
from manymove.jobs.progress import StopRequest
from manymove.jobs.report import number, write_json
from manymove.jobs.world import World
from manymove.replicas import Replicas
from manymove.simulation import INTERRUPTED

FOLDER = "checkpoint-exchange"  # in that of the results


def run(
    points: Sequence[Settings], output: Path, world: World
) -> tuple[list[Result], dict[str, Any]]:
    """Run all pressures, with exchanges between neighbors.

    Args:
        points: settings of each pressure.
        output: folder of the results, which has the checkpoint.
        world: all ranks.

    Returns:
        the results of the pressures, and entries of the summary (on every rank).

    Raises:
        ValueError, OSError, RuntimeError: an error of `ReplicaExchange`.
        FileNotFoundError: there is no checkpoint to resume.
    """
    first, folder = points[0], output / FOLDER
    place: dict[str, Any] = {"device": first.device, "threads": first.threads}
    if world.size > 1:
        place["comm"] = world.communicator
    if first.resume:
        exchange = ReplicaExchange.load(folder, **place)
    else:
        starts = [partial(_start, point) for point in points]
        replicas = Replicas(starts, seed=first.seed, **place)
        exchange = ReplicaExchange(replicas, first.exchange_every or 1)
    began = time.time()
    before = exchange.replicas.map(lambda one: one.trial_moves)
    cycle = exchange.replicas.map(lambda one: one.sweeps_per_cycle)[0]
    equilibrate, measured = (
        math.ceil(sweeps / cycle / exchange.every) * exchange.every
        for sweeps in (first.equilibrate, first.sweeps)
    )
    if first.resume:
        _refuse_another_run(exchange, points, folder, equilibrate)
        more = max(0, exchange.exchanges * exchange.every - equilibrate - measured)
        refuse_shorter("--sweeps", first.sweeps, first.sweeps + more * cycle, output)
    else:
        record = max(1, first.sweeps // RECORDS)
        exchange.replicas.map(lambda one: one.sample_volume(record))
    if (given := first.given) is not None:
        exchange.replicas._on_first(lambda: write_json(output / OPTIONS_FILE, given))
    options: dict[str, Any] = {"progress": not first.quiet, "save_every": first.checkpoint_every}
    with ExitStack() as files_of_run:
        trajectories: dict[int, FrameWriter] = {}

        def open_trajectory(one: HardParticles) -> None:
            path = points[one.seed - first.seed].output / "trajectory.gsd"
            files.make_folder(path.parent)
            writer = FrameWriter(path, resume=first.resume, overwrite=not first.resume)
            files_of_run.callback(writer.close)
            trajectories[one.seed] = writer

        def frame(one: HardParticles) -> None:
            # A resumed run repeats the cycles after its checkpoint, whose frames are there already.
            trajectory = trajectories[one.seed]
            if one.cycles > max(equilibrate, trajectory.last_step):
                trajectory.write(one._frame())
                trajectory.sync()  # a later checkpoint relies on it

        exchange.replicas.map(open_trajectory)
        calls = [(max(1, measured // first.frames), frame)]
        try:
            exchange.run_until(
                equilibrate + measured, calls, equilibrate=equilibrate, folder=folder, **options
            )
            complete = True
        except KeyboardInterrupt:
            complete = False
    ended = time.time()

    def result(one: HardParticles) -> Result:
        index = one.seed - first.seed
        found = {
            "replica": 0,
            "complete": complete,
            "reached": None,
            "session_moves": one.trial_moves - before[index],
            "began": began,
            "ended": ended,
            **_measured(one, equilibrate),
        }
        names = [field.name for field in fields(Result) if field.name not in found]
        return Result(**found, **{name: getattr(one, name) for name in names})

    results = exchange.replicas.map(result)
    return results, {
        "exchange_every": exchange.every,
        "exchange_attempts": exchange.attempts.tolist(),
        "exchange_acceptance": [number(float(share)) for share in exchange.acceptance],
        "round_trips": exchange.round_trips.tolist(),
    }


def _start(settings: Settings, *, seed: int, **place: Any) -> HardParticles:
    """The particles of a pressure at its start."""
    s, asked = settings, INTERRUPTED.get()
    positions, box = make_start(
        s.kind, s.start, s.particles, s.packing_fraction, s.sizes, seed,
        (lambda: False) if asked is None else asked, **place,
    )  # fmt: skip
    return made(s, positions, box, s.sizes, seed=seed, **place)


def _measured(one: HardParticles, equilibrate: int) -> dict[str, Any]:
    """The entries of a result that are not attributes of the particles."""
    mean = one._mean_cycle
    equilibrated = min(equilibrate, one._cycles_done) * mean
    measured = slice(None if one._cycles_done > equilibrate else 0)
    return {
        "sizes": Sizes(diameters=one.diameters) if one.swap_rounds else one._sizes,
        "equilibration_sweeps": equilibrated,
        "sweeps": one.sweeps - equilibrated,
        "psi6": None,
        "max_overlap": one.max_overlap(),
        "course": np.empty((0, 3)),
        "contact_values": {},
        "pressures": np.empty(0),
        "of_fields": np.empty((0, 3)),
        "records": one.packing_fraction_records[measured],
        "record_sweeps": one.volume_sweeps[measured],
    }


def _refuse_another_run(
    exchange: ReplicaExchange, points: Sequence[Settings], folder: Path, equilibrate: int
) -> None:
    """Refuse a checkpoint with other settings than those of the command."""
    first = points[0]
    sizes = exchange.replicas.map(lambda one: (one.N, one.seed))
    held_and_asked = {
        "--pressures": (len(exchange.replicas), len(points)),
        "--exchange-every": (exchange.every, first.exchange_every),
        "--particles": (sizes[0][0], first.particles),
        "--seed": (sizes[0][1], first.seed),
    }
    for option, (held, asked) in held_and_asked.items():
        if held != asked:
            raise ValueError(f"--resume: {folder} has {option} {held}, not {asked}")
    pressures = exchange.parameters.tolist(), [point.pressure or 0.0 for point in points]
    if not np.allclose(*pressures, rtol=1e-9, atol=0):
        texts = [",".join(f"{P:.6g}" for P in each) for each in pressures]
        raise ValueError(f"--resume: {folder} has --pressures {texts[0]}, not {texts[1]}")

    def compare(one: HardParticles) -> None:
        index = one.seed - first.seed
        of_command = Replica(index, points[index], "cpu", None, StopRequest(), None, None)
        of_command._state = folder
        of_command._refuse_another_run(one, tuned=False)
        if first.volume_delta is not None:
            of_command._refuse_other_delta(one, None)

    exchange.replicas.map(compare)
    over, done = exchange._equilibrated, exchange.exchanges * exchange.every
    if (over or done > equilibrate) and over != equilibrate:
        raise ValueError(
            f"--resume: {folder} was written with another --equilibrate than {first.equilibrate}, "
            "which cannot change when it is over"
        )
