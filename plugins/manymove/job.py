"""The main job behind `manymove disks`: replicas over threads and ranks, pooled and written out."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from manymove import report
from manymove.analysis.reference import published
from manymove.io import Frame, read_frame
from manymove.progress import MovesBar
from manymove.ranks import TIMEOUT, RankLost, Ranks
from manymove.replica import Replica, Result, Settings
from manymove.replicas import World, run_concurrently, share_of_threads


def run(settings: Settings, world: World) -> tuple[dict[str, Any], bool]:
    """Run all replicas, or the one that all ranks share; rank 0 writes summary.json and the
    pictures into the output folder.

    Returns:
        the summary (of all ranks, on every rank), and whether every replica ran to its end.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
    """
    ranks = Ranks.of(world.communicator, TIMEOUT) if settings.decompose else None
    mine = [0] if ranks else world.share(range(settings.replicas))
    failure: Exception | None = None
    results: list[Result] = []
    try:
        frame = ranks.together(lambda: _prepare(settings)) if ranks else _prepare(settings)
        results = _run_share(settings, frame, mine, world, ranks)
        if ranks and world.rank > 0:
            results = []
    except RankLost as error:
        ranks.abort(str(error))
    except Exception as error:
        failure = error
    # An error on one rank is the error of all, or the others would wait for it for ever.
    failures = world.failures(failure)
    if failure is not None:
        raise failure
    if failures:
        raise RuntimeError(failures[0])
    results = sorted(world.gather(results), key=lambda r: r.replica)
    summary = report.summarise(settings, results, world.size)
    if world.rank == 0:
        report.write_outputs(settings, results, summary)
    return summary, all(r.complete for r in results)


def _prepare(settings: Settings) -> Frame | None:
    """The folder for the results and the start that was asked for."""
    settings.output.mkdir(parents=True, exist_ok=True)
    if settings.input is None:
        return None
    trajectories = settings.output.resolve() / "trajectory*.gsd"
    if settings.input.resolve().match(str(trajectories)) and not settings.resume:
        raise ValueError(
            f"--input {settings.input} would be replaced by the new trajectory: "
            "choose another --output"
        )
    return read_frame(settings.input)


def _run_share(
    settings: Settings,
    frame: Frame | None,
    indices: list[int],
    world: World,
    ranks: Ranks | None,
) -> list[Result]:
    if not indices:
        return []
    device = world.device(settings.device)
    threads = share_of_threads(device, settings.threads, len(indices), world.cores)
    particles = settings.particles
    moves = (settings.sweeps + settings.equilibrate) * particles * len(indices)
    with world.stop_request() as stop:
        replicas = [
            Replica(index, settings, frame, device, threads[slot % len(threads)], stop, ranks)
            for slot, index in enumerate(indices)
        ]
        bar = MovesBar(
            f"{particles:,} disks at {settings.packing_fraction:.4g}",
            moves,
            quiet=settings.quiet or world.rank > 0,
        )
        try:
            return run_concurrently(
                [replica.run for replica in replicas],
                len(threads),
                stop,
                lambda: bar.show(sum(replica.moves for replica in replicas)),
            )
        finally:
            bar.close()


def run_equation_of_state(
    settings: list[Settings], output: Path, world: World
) -> tuple[dict[str, Any], bool]:
    """Run the packing fractions one after the other, each in its folder, and plot P* against them.

    Returns:
        the summary, and whether all ran to their end.
    """
    runs: list[dict[str, Any]] = []
    complete = True
    for one in settings:
        summary, complete = run(one, world)
        runs.append(summary)
        if not complete:
            break
    result = {
        "particles": settings[0].particles,
        "complete": complete,
        "packing_fractions": [r["packing_fraction"] for r in runs],
        "pressure": [r["pressure"] for r in runs],
        "pressure_error": [r["pressure_error"] for r in runs],
        "paper": published()["citation"],
        "runs": runs,
        "version": version("manymove"),
    }
    if world.rank == 0:
        report.write_json(output / "summary.json", result)
        points = [
            (r["packing_fraction"], r["pressure"], r["pressure_error"] or 0.0)
            for r in runs
            if r["pressure"] is not None
        ]
        if points:
            report.draw_equation_of_state(settings[0], output, points)
    return result, complete
