"""The method "tree" against the brush, decision by decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from commands import COMMAND, summary_of
from electrolytes import dense, trivalent
from machine import runnable_simd_levels
from processes import start, until

from manymove import Displacements, Electrolyte, Ewald, Ions, Sphere, _core, checkpoint, cli
from manymove.analysis.ions import Salt, Species

SALTS = {
    "3:-1": ((3, -1), (7.5, 7.5)),
    "1:-1": ((1, -1), (4.25, 4.25)),
    "2:-2, unequal": ((2, -2), (6.0, 4.0)),
}
LONG: dict[str, float] = {}
SHORT = {"max_displacement": 4.0}


def hashes(ions: Electrolyte, sweeps: int) -> list[str]:
    found = []
    for _ in range(sweeps):
        ions.run(1)
        found.append(ions.state_hash)
    return found


def same_chain(sweeps: int, build: Any, **options: Any) -> Electrolyte:
    """Run tree and brush, compare them after each sweep, and return the tree."""
    brush = build(method="brush", precision="double", **options)
    tree = build(method="tree", **options)
    expected = hashes(brush, sweeps)
    assert len(set(expected)) == sweeps
    assert hashes(tree, sweeps) == expected
    assert tree.accepted_moves == brush.accepted_moves
    assert tree.evaluated_moves == brush.evaluated_moves
    assert tree.energy == pytest.approx(brush.energy, rel=1e-6)
    return tree


@pytest.mark.parametrize("moves", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("salt", SALTS)
@pytest.mark.parametrize("place", ["sphere", "ewald"])
def test_tree_and_brush_make_the_same_chain(device, salt, moves, place):
    valences, diameters = SALTS[salt]
    ions = 600 if place == "sphere" else 240
    kinds = Salt.of(ions, valences, diameters)
    edge = (ions / kinds.density_at(0.1)) ** (1 / 3)
    where: dict[str, Any] = {"box": Sphere(0.62 * edge)}
    if place == "ewald":
        where = {"box": (edge, edge, edge), "boundary": "ewald"}

    def build(**options: Any) -> Electrolyte:
        return Electrolyte.random(kinds, seed=7, device=device, **where, **moves, **options)

    same_chain(4, build)


@pytest.mark.parametrize("options", [{}, SHORT], ids=["long", "short"])
def test_three_thousand_ions_make_the_same_chain(device, options):
    tree = same_chain(2, lambda **more: trivalent(3000, device=device, **more), **options)
    assert tree.direct_moves < 0.01 * tree.evaluated_moves


@pytest.mark.parametrize("threads", [1, 3, 7])
@pytest.mark.parametrize("where", [{}, {"periodic": True, "boundary": "ewald"}])
def test_any_number_of_threads_makes_the_same_chain(threads, where):
    # Threads share the planes of the mesh, on which the charges of more than one batch move.
    same_chain(3, lambda **more: trivalent(700, device="cpu", threads=threads, **where, **more))


def test_long_boxes_and_short_moves_among_long_ones(device):
    options = {"max_displacement": Displacements(2.0, 0.4), "boundary": "ewald"}
    salt = Salt.of(200, (1, -1), (4.0, 5.0))

    def build(**more: Any) -> Electrolyte:
        box = (40.0, 55.0, 72.0)
        return Electrolyte.random(salt, box=box, seed=3, device=device, **options, **more)

    same_chain(4, build)


def test_hard_cores_that_reject_most(device):
    tree = same_chain(10, lambda **options: dense(device=device, **options))
    assert tree.acceptance < 0.4
    assert tree.max_overlap() == 0


def test_a_vacuum_around_the_images(device):
    salt = Salt.of(120, (2, -1), (4.0, 4.0))

    def build(**options: Any) -> Electrolyte:
        return Electrolyte.random(
            salt, box=(45.0, 45.0, 45.0), boundary=Ewald("vacuum"), seed=2,
            device=device, **options,
        )  # fmt: skip

    tree = same_chain(5, build)
    assert np.abs(tree.images).max() >= 1


def lattice(count: int, spacing: float) -> np.ndarray:
    side = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*3 * (np.arange(side),), indexing="ij"), axis=-1).reshape(-1, 3)
    return grid[:count] * spacing


def separated() -> tuple[np.ndarray, np.ndarray]:
    """All cations at contact in one corner, all anions at contact in the opposite one."""
    block = lattice(108, 5.0)
    block -= block.mean(axis=0)
    corner = np.array([70.0, 70.0, 70.0])
    positions = np.concatenate((block + corner, -block - corner))
    return positions, np.repeat([0, 1], 108)


def at_the_wall() -> tuple[np.ndarray, np.ndarray]:
    """All centers on the wall of a sphere with the radius 160."""
    k = np.arange(216) + 0.5
    height, angle = 1 - 2 * k / 216, np.pi * (1 + 5**0.5) * k
    flat = np.sqrt(1 - height**2)
    points = np.stack((flat * np.cos(angle), flat * np.sin(angle), height), axis=1)
    return 160.0 * points, np.arange(216) % 2


@pytest.mark.parametrize("start", [separated, at_the_wall])
@pytest.mark.parametrize("moves", [LONG, SHORT], ids=["long", "short"])
def test_adversarial_starts(device, start, moves):
    positions, types = start()

    def build(**options: Any) -> Electrolyte:
        species = [Species(1, 5.0), Species(-1, 5.0)]
        return Electrolyte(
            positions,
            ions=Ions(types, species),
            box=Sphere(160.0),
            seed=4,
            device=device,
            **moves,
            **options,
        )

    tree = same_chain(4, build)
    assert tree.accepted_moves > 0


def test_threads_and_simd_levels_make_the_same_chain(monkeypatch):
    found = set()
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        for threads in (1, 3):
            ions = trivalent(400, method="tree", device="cpu", threads=threads)
            ions.run(2)
            found.add((ions.state_hash, ions.direct_moves))
    assert len(found) == 1


def test_checkpoints_continue_the_same_chain(device, tmp_path):
    whole, part = (trivalent(400, method="tree", device=device) for _ in range(2))
    whole.run(5)
    part.run(2)
    part.save(tmp_path / "state")
    resumed = Electrolyte.load(tmp_path / "state", device=device)
    assert resumed.method == "tree"
    assert resumed.direct_moves == part.direct_moves
    resumed.run(3)
    assert resumed.state_hash == whole.state_hash


def test_checkpoints_continue_with_another_method(device, tmp_path):
    whole = trivalent(200, method="tree", device=device)
    whole.run(2)
    whole.save(tmp_path / "state")
    resumed = Electrolyte.load(tmp_path / "state", device=device, method="brush")
    assert resumed.method == "brush"
    resumed.save(tmp_path / "state")
    back = Electrolyte.load(tmp_path / "state", device=device, method="tree")
    for ions in (whole, resumed, back):
        ions.run(2)
    assert resumed.state_hash == back.state_hash == whole.state_hash
    mixed = trivalent(100, device=device)
    mixed.save(tmp_path / "state")
    with pytest.raises(ValueError, match="mixed precision is for method brush"):
        Electrolyte.load(tmp_path / "state", device=device, method="tree")


def test_checkpoints_of_auto_choose_again(tmp_path):
    trivalent(100, method="auto", device="cpu").save(tmp_path / "state")
    header, _ = checkpoint.read(
        tmp_path / "state", "an electrolyte", {"positions": np.float32, "types": np.int32}
    )
    assert header["parameters"]["method"] == "auto"
    assert Electrolyte.load(tmp_path / "state", device="cpu").method == "brush"


def test_an_interrupted_tree_continues_the_same_chain(tmp_path):
    whole = trivalent(1500, method="tree", device="cpu")
    part = trivalent(1500, method="tree", device="cpu")

    def stop(ions: Electrolyte) -> None:
        if ions.sweeps >= 2:
            ions.save(tmp_path / "state")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        part.run(1000, [(1, stop)])
    stopped = part.sweeps
    assert 2 <= stopped < 1000
    whole.run(stopped)
    assert part.state_hash == whole.state_hash
    assert abs(part.energy_drift()) < 1e-6 * abs(part.energy)
    whole.run(1)
    part.run(1)
    resumed = Electrolyte.load(tmp_path / "state", device="cpu")
    resumed.run(1)
    assert part.state_hash == resumed.state_hash == whole.state_hash


def test_other_positions_are_taken(device):
    brush, tree = (
        trivalent(200, method=method, precision="double", device=device)
        for method in ("brush", "tree")
    )
    elsewhere = -tree.positions[:, ::-1]
    for ions in (brush, tree):
        ions.run(1)
        ions.set_positions(elsewhere)
        ions.run(2)
    assert tree.state_hash == brush.state_hash


def test_what_the_tree_refuses(device):
    with pytest.raises(ValueError, match="kink"):
        trivalent(100, periodic=True, method="tree", device=device)
    with pytest.raises(ValueError, match="mixed precision is for method brush"):
        trivalent(100, method="tree", precision="mixed", device=device)


def test_auto_chooses_by_the_number_of_ions():
    assert trivalent(100, method="auto", device="cpu").method == "brush"
    assert trivalent(8_000, method="auto", device="cpu").method == "brush"
    ewald = {"periodic": True, "boundary": "ewald", "device": "cpu"}
    assert trivalent(2_000, method="auto", **ewald).method == "brush"
    assert trivalent(3_000, method="auto", **ewald).method == "tree"
    large = trivalent(32_000, method="auto", device="cpu")
    assert (large.method, large.precision) == ("tree", "double")
    assert trivalent(32_000, method="auto", precision="mixed", device="cpu").method == "brush"
    assert trivalent(32_000, method="auto", periodic=True, device="cpu").method == "brush"
    assert trivalent(100, device="cpu").precision == "mixed"


@pytest.mark.gpu
@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
def test_auto_chooses_by_the_number_of_ions_on_a_gpu():
    assert trivalent(1_000, method="auto", device="cuda").method == "brush"
    assert trivalent(1_300, method="auto", device="cuda").method == "tree"
    ewald = {"periodic": True, "boundary": "ewald", "device": "cuda"}
    assert trivalent(200, method="auto", **ewald).method == "brush"
    assert trivalent(400, method="auto", **ewald).method == "tree"
    assert trivalent(16_384, method="auto", precision="mixed", device="cuda").method == "brush"


@pytest.mark.gpu
@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
@pytest.mark.parametrize("options", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("ions", [20_000, 40_000])  # below and above a change of the mesh
def test_many_batches_make_the_same_chain_on_a_gpu(ions, options):
    tree = same_chain(3, lambda **more: trivalent(ions, device="cuda", **more), **options)
    assert tree.direct_moves < 0.01 * tree.evaluated_moves


def test_a_command_that_is_killed_ends_the_same(tmp_path):
    words = "electrolyte --ions 400 --sweeps 60 --equilibrate 5 --method tree --device cpu"
    options = [*words.split(), "--threads", "1", "--checkpoint-every", "0.1", "--quiet"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert cli.run([*options, "--output", str(whole)]) == 0
    process = start([*COMMAND, *options, "--output", cut])
    until(lambda: any(cut.glob("checkpoint-*.state")), process, 120)
    process.kill()
    process.wait(timeout=60)
    assert cli.run(["electrolyte", "--resume", "--output", str(cut), "--quiet"]) == 0
    one, other = summary_of(whole), summary_of(cut)
    assert other["sweeps"] == one["sweeps"] == 60
    assert other["state_hash"] == one["state_hash"]
    assert other["energy_per_ion_kT"] == pytest.approx(one["energy_per_ion_kT"], rel=1e-12)


def test_the_command_runs_and_resumes_the_tree(tmp_path):
    def summary(method: str, *more: str) -> dict[str, Any]:
        words = ["--ions", "200", "--sweeps", "6", "--equilibrate", "2", "--device", "cpu"]
        folder = tmp_path / method
        options = [*words, "--method", method, "--output", str(folder), "--quiet", *more]
        assert cli.run(["electrolyte", *options]) == 0
        return summary_of(folder)

    tree = summary("tree")
    assert (tree["method"], tree["precision"]) == ("tree", "double")
    assert tree["direct_moves_share"] < 0.01
    assert tree["state_hash"] == summary("brush", "--precision", "double")["state_hash"]
    again = ["electrolyte", "--resume", "--sweeps", "9", "--output", str(tmp_path / "tree")]
    assert cli.run([*again, "--quiet"]) == 0
    assert summary_of(tmp_path / "tree")["sweeps"] == 9
    assert cli.run([*again, "--quiet", "--sweeps", "10", "--method", "brush"]) == 0
    assert (found := summary_of(tmp_path / "tree"))["sweeps"] == 10 and found["method"] == "brush"
    mixed = ["electrolyte", "--method", "tree", "--precision", "mixed", "--device", "cpu"]
    assert cli.run([*mixed, "--ions", "64", "--output", str(tmp_path / "no"), "--quiet"]) != 0
