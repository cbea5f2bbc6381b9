"""The vesicle example: start, input script, restart, pictures."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from documents import ROOT, module_of
from lammps_host import needs_lammps, run_lammps

HERE = ROOT / "examples/papers/dpd"
INPUT = ROOT / "examples/vesicle/in.vesicle"


@pytest.fixture
def example(monkeypatch):
    """The modules render and vesicles of the example."""
    monkeypatch.syspath_prepend(str(HERE))
    return [module_of(HERE / f"{name}.py", monkeypatch) for name in ("render", "vesicles")]


def test_a_tenth_of_the_particles_is_in_chains(example):
    _, vesicle = example
    positions, types, chains = vesicle.random_start(9.0, 3)
    assert len(positions) == len(types) == 5 * 9**3
    assert chains == round(0.1 * 5 * 9**3 / 8)
    assert (positions > 0).all() and (positions < 9).all()
    beads = positions[: 8 * chains].reshape(chains, 8, 3)
    assert np.linalg.norm(np.diff(beads, axis=1), axis=-1) == pytest.approx(0.38)
    assert (types[: 8 * chains].reshape(chains, 8) == [2, 2, 2, 1, 1, 2, 2, 2]).all()
    assert (types[8 * chains :] == 3).all()


@needs_lammps
@pytest.mark.thorough
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.pictures
def test_the_script_runs_goes_on_and_is_drawn(ranks, example, tmp_path):
    render, vesicle = example
    count = vesicle.write_data(tmp_path / "start", 6.0, 1)
    script = INPUT.read_text()

    def run(file: str, source: str, steps: int):
        start = f"variable from index {source}\nvariable file index {file}\n"
        start += (
            f"variable steps index {steps}\nvariable frame index 100\nvariable thermo index 50\n"
        )
        return run_lammps(start + script, tmp_path, ranks)

    first = run(str(tmp_path / "start"), "data", 300)
    table = first.thermo()
    assert (table["Atoms"] == count).all()
    # Hot from the start, where particles lie on each other, still: 2 % for 1,080 particles
    assert table["Temp"][-1] == pytest.approx(1, abs=0.15)
    # Per particle, of which 7 in 80 begin a bond: half a kT for a free one, more under pressure
    assert 0.04 < table["E_bond"][-1] < 0.4
    again = run(str(first.directory / "vesicle.final.restart"), "restart", 400)
    assert again.thermo()["Step"][[0, -1]] == pytest.approx([300, 400])

    dumps = sorted(first.directory.glob("chains.*.dump"))
    step, edges, types, positions = render.read_dump(dumps[-1])
    assert step == 300 and (edges == 6).all()
    assert len(types) == len(positions) == 8 * round(0.1 * count / 8)
    assert ((positions >= 0) & (positions <= 6)).all()
    render.montage(dumps).savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"


@needs_lammps
@pytest.mark.thorough
def test_an_interrupted_run_is_continued(example, tmp_path, capsys):
    _, vesicle = example
    options = argparse.Namespace(
        output=tmp_path, overwrite=False, edge=6.0, seed=1, steps=200, frame=100, ranks=1,
        threads=1, style="verlet",
    )  # fmt: skip
    before = {path: path.read_text() for path in vesicle.simulate(options)}
    (tmp_path / "vesicle.final.restart").unlink()
    options.steps = 400
    after = vesicle.simulate(options)
    assert [read_step(path) for path in after] == [0, 100, 200, 300, 400]
    assert all(path.read_text() == text for path, text in before.items())
    assert "continues from" in capsys.readouterr().out
    # Killed while it wrote the last restart file.
    (tmp_path / "vesicle.final.restart").unlink()
    newest = tmp_path / "vesicle.2.restart"
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    assert [read_step(path) for path in vesicle.simulate(options)] == [0, 100, 200, 300, 400]
    assert f"continues from {tmp_path / 'vesicle.1.restart'}" in capsys.readouterr().out
    options.steps = 300
    with pytest.raises(RuntimeError, match="steps is 300, but the run has reached step 400"):
        vesicle.simulate(options)
    options.seed = 2
    with pytest.raises(ValueError, match="has --seed 1, not 2: --overwrite begins again"):
        vesicle.simulate(options)
    options.overwrite, options.steps = True, 200
    assert [read_step(path) for path in vesicle.simulate(options)] == [0, 100, 200]


def read_step(path):
    return int(path.read_text().splitlines()[1])


def test_spheres_hide_what_is_behind_them(example):
    render, _ = example
    positions = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 1.5], [3.0, 1.0, 1.0]])
    image = render.spheres(positions, np.array([1, 2, 1]), np.full(3, 4.0), 80, 0.5)

    def hue(x: float, y: float) -> float:
        """Green over red."""
        pixel = image[79 - int(y * 20), int(x * 20)]
        return float(pixel[1] / pixel[0])

    red, white = (c[1] / c[0] for c in (render.COLORS[2], render.COLORS[1]))
    assert hue(1, 1) == pytest.approx(red)  # the nearer one
    assert hue(3, 1) == pytest.approx(white)
    assert (image[5, 5] == render.BACKGROUND).all()
    covered = (image != render.BACKGROUND).any(axis=-1).sum()
    assert covered == pytest.approx(2 * np.pi * 10**2, rel=0.03)


def test_a_dump_without_types_is_refused(example, tmp_path):
    render, _ = example
    header = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS ff ff ff\n"
    (tmp_path / "dump").write_text(header + "0 1\n" * 3 + "ITEM: ATOMS id x y z\n1 0 0 0\n")
    with pytest.raises(ValueError, match="no column type"):
        render.read_dump(tmp_path / "dump")
