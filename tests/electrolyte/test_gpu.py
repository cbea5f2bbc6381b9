"""The CUDA engine against the CPU engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from electrolytes import dense, trivalent
from machine import GPU

from manymove import Electrolyte, Ewald, Ions, Sphere, _core
from manymove.analysis.ions import Salt

pytestmark = GPU


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("eta", [1, 2, 4, 8, 16])
def test_gpu_and_cpu_make_the_same_chain_in_double_precision(periodic, eta):
    options = {"periodic": periodic, "precision": "double"}
    cpu = trivalent(1500, device="cpu", **options)
    gpu = trivalent(1500, device="cuda", threads_per_particle=eta, **options)
    for _ in range(4):
        cpu.run(5)
        gpu.run(5)
        assert gpu.state_hash == cpu.state_hash
        assert gpu.evaluated_moves == cpu.evaluated_moves
        assert gpu.energy == pytest.approx(cpu.energy, rel=1e-12)


@pytest.mark.parametrize("method", ["brush", "reduction"])
def test_gpu_and_cpu_make_the_same_chain_where_hard_cores_reject_most(method):
    cpu = dense(precision="double", device="cpu")
    gpu = dense(precision="double", method=method, device="cuda")
    cpu.run(10)
    gpu.run(10)
    assert gpu.state_hash == cpu.state_hash
    assert gpu.max_overlap() == 0


@pytest.mark.parametrize("ions", [4, 60, 64, 68, 256, 260, 1024])
def test_every_number_of_ions_makes_the_same_chain(ions):
    cpu = trivalent(ions, precision="double", device="cpu")
    gpu = trivalent(ions, precision="double", device="cuda")
    cpu.run(10)
    gpu.run(10)
    assert gpu.state_hash == cpu.state_hash


def test_many_groups_beyond_what_runs_at_a_time():
    """More blocks than a GPU holds: no block may wait for one that has not begun."""
    cpu = trivalent(40_000, precision="double", device="cpu")
    gpu = trivalent(40_000, precision="double", device="cuda", threads_per_particle=16)
    cpu.run(1)
    gpu.run(1)
    assert gpu.state_hash == cpu.state_hash


@pytest.mark.parametrize("ions, shares", [(100, 2), (1500, 2), (1500, 3)])
@pytest.mark.parametrize("build", [trivalent, dense])
def test_shares_of_a_chain_make_the_same_chain(build, ions, shares):
    """Several grids that deal the groups among them, here side by side on one device."""
    one = build(ions, precision="double", device="cuda:0")
    several = build(ions, precision="double", device="cuda:" + ",".join(shares * "0"))
    for sweeps in (1, 3, 300):
        one.run(sweeps)
        several.run(sweeps)
        assert several.state_hash == one.state_hash
    assert several.evaluated_moves == one.evaluated_moves
    assert several.energy == one.energy
    several.set_positions(one.positions)
    several.run(2)
    one.run(2)
    assert several.state_hash == one.state_hash


def test_shares_that_do_not_fit_side_by_side_are_refused():
    with pytest.raises(ValueError, match="too many ions for shares"):
        trivalent(400_000, device="cuda:0,0")


@pytest.mark.parametrize(
    "device, options, message",
    [
        ("cuda:0,99", {}, 'device "cuda:99" does not exist'),
        ("cuda:" + ",".join(9 * "0"), {}, "up to 8 devices"),
        ("cuda:0,0", {"method": "reduction"}, "one device only"),
    ],
)
def test_bad_choices_of_devices_are_refused(device, options, message):
    with pytest.raises(ValueError, match=message):
        trivalent(100, device=device, **options)


@pytest.mark.skipif(len(_core.cuda_devices()) < 2, reason="one CUDA device")
@pytest.mark.parametrize(
    "options", [{"precision": "mixed"}, {"precision": "double"}, {"method": "tree"}]
)
@pytest.mark.parametrize("ions", [1000, 16_000, 100_000])
def test_several_devices_make_the_same_chain(options, ions):
    count = min(4, len(_core.cuda_devices()))
    one = trivalent(ions, device="cuda:0", **options)
    several = trivalent(ions, device="cuda:" + ",".join(map(str, range(count))), **options)
    for sweeps in (1, 20):
        one.run(sweeps)
        several.run(sweeps)
        assert several.state_hash == one.state_hash
    assert several.device_name.startswith(f"{count} x ")


def boxed(ions: int, surrounding: str = "conductor", **options: Any) -> Electrolyte:
    """A 2:-1 salt with Ewald's energy, in which many moves cross faces."""
    salt = Salt.of(ions, (2, -1), (4.0, 4.0))
    edge = 45.0 * (ions / 120) ** (1 / 3)
    where = {"box": 3 * (edge,), "boundary": Ewald(surrounding)}
    return Electrolyte.random(salt, seed=2, **where, **options)


@pytest.mark.parametrize("device", ["cuda:0", "cuda:0,0", "cuda:0,0,0"])
@pytest.mark.parametrize(
    "build, ions, options",
    [
        (trivalent, 60, {}),
        (trivalent, 4096, {}),
        (dense, 2000, {}),
        (boxed, 1200, {}),
        (boxed, 120, {"surrounding": "vacuum"}),
        (boxed, 1200, {"surrounding": "vacuum"}),
    ],
)
def test_shares_of_the_tree_make_the_chain_of_the_brush(build, ions, options, device):
    """Also with a vacuum around, and with fewer batches of trials than devices."""
    cpu = build(ions, precision="double", device="cpu", **options)
    gpu = build(ions, method="tree", device=device, **options)
    for _ in range(3):
        cpu.run(1)
        gpu.run(1)
        assert gpu.state_hash == cpu.state_hash
    assert gpu.accepted_moves == cpu.accepted_moves
    assert gpu.energy == pytest.approx(cpu.energy, rel=1e-6)
    positions = cpu.positions[:, ::-1]
    for one in (cpu, gpu):
        one.set_positions(positions)
        one.run(1)
    assert gpu.state_hash == cpu.state_hash


def test_a_tree_of_one_device_continues_on_others(tmp_path):
    options = {"method": "tree", "surrounding": "vacuum"}
    whole = boxed(300, device="cpu", **options)
    whole.run(1)
    for device in ("cuda:0", "cuda:0,0", "cpu"):
        whole.save(tmp_path / "state")
        resumed = Electrolyte.load(tmp_path / "state", device=device)
        whole.run(2)
        resumed.run(2)
        assert (resumed.method, resumed.state_hash) == ("tree", whole.state_hash)


@pytest.mark.parametrize("ions", [4, 60, 1024, 20_000])
def test_tree_makes_the_chain_of_the_brush_on_a_cpu(ions):
    cpu = trivalent(ions, precision="double", device="cpu")
    gpu = trivalent(ions, method="tree", device="cuda")
    for _ in range(3):
        cpu.run(1)
        gpu.run(1)
        assert gpu.state_hash == cpu.state_hash
    assert gpu.evaluated_moves == cpu.evaluated_moves
    assert gpu.energy == pytest.approx(cpu.energy, rel=1e-6)


def test_mixed_precision_repeats_and_flips_few_decisions():
    first, again = (trivalent(4096, device="cuda") for _ in range(2))
    first.run(10)
    again.run(10)
    assert first.state_hash == again.state_hash

    exact = trivalent(4096, precision="double", device="cuda")
    mixed = trivalent(4096, precision="mixed", device="cuda")
    flips = 0
    for _ in range(20):
        mixed.set_positions(exact.positions)
        exact.run(1)
        mixed.run(1)
        flips += int((exact.positions != mixed.positions).any(axis=1).sum())
    assert flips <= 5  # of 8e4 trials


def test_pairs_are_counted_as_on_the_cpu():
    cpu, gpu = (trivalent(1000, precision="double", device=d) for d in ("cpu", "cuda"))
    for bin_width in (0.25, 0.01):  # in shared memory, and beyond
        for ions in (cpu, gpu):
            ions.sample_pair_correlations(1, bin_width=bin_width, margin=40)
            ions.run(2)
        a, b = cpu.pair_correlations, gpu.pair_correlations
        assert (a.counts == b.counts).all()
        assert (a.interior == b.interior).all()


@pytest.mark.parametrize("periodic", [False, True])
def test_pairs_of_tiles_that_are_far_apart_are_left_out_of_no_count(periodic):
    cpu, gpu = (
        trivalent(8000, precision="double", device=d, periodic=periodic) for d in ("cpu", "cuda")
    )
    for ions in (cpu, gpu):
        ions.sample_pair_correlations(1, bin_width=0.5, farthest=90.0)
        ions.run(1)
    assert cpu.pair_correlations.counts.sum() > 0
    assert (cpu.pair_correlations.counts == gpu.pair_correlations.counts).all()


def test_device_arrays_are_taken():
    cupy = pytest.importorskip("cupy")
    start = trivalent(100, device="cpu")
    ions = Electrolyte(
        cupy.asarray(start.positions),
        ions=Ions(start.types, start.species),
        box=Sphere(start.radius),
        seed=1,
    )
    assert np.array_equal(ions.positions, start.positions)
