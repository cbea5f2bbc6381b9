"""Charge renormalization in the 3:-1 electrolyte: section 5 of Liang, Xing and Li (2017).

    python run.py --ions 131072 --sweeps 2000
    python run.py --ions 1048576 --sweeps 230 --equilibrate 20 --method tree
    python run.py --draw out/charge_renormalization/summary.json

The first command simulates and draws Figures 12 to 14. The second does so for the paper's number of
ions, with the method whose sweeps take the least time there. The third draws them again.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure

from manymove import Electrolyte, Sphere, script
from manymove.analysis import charge_density, dressed_ions, potential_of_mean_force
from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.analysis.ions import Salt
from manymove.analysis.notation import with_error
from manymove.analysis.pair_correlations import PairCorrelations

DEBYE_LENGTH, DIAMETER, BJERRUM = 28.53, 7.5, 7.117
BIN_WIDTH, FARTHEST = 0.25, 400.0  # of g(r), in angstrom
MOST_WITH_ENERGY = 2_000_000  # largest number of ions for which the energy is computed
DRAWN = 2.0  # width of the bins in the file, in angstrom
PAPER = {"debye_length": 25.57, "valences": (4.125, -0.884)}


def simulate(options: argparse.Namespace) -> dict:
    salt = Salt.of(options.ions, (3, -1), (DIAMETER, DIAMETER))
    radius = (3 * options.ions / salt.density(DEBYE_LENGTH, BJERRUM) / (4 * np.pi)) ** (1 / 3)
    ions = Electrolyte.random(
        salt,
        box=Sphere(radius),
        bjerrum_length=BJERRUM,
        precision=options.precision,
        method=options.method,
        seed=options.seed,
        device=options.device,
        threads=options.threads,
    )
    # The energy is a sum over all pairs, which takes minutes for ten million ions.
    with_energy = ions.N <= MOST_WITH_ENERGY
    if with_energy:
        print(f"energy per ion at the start: {ions.energy / ions.N:.4f} kT")
    ions.run(options.equilibrate)
    ions.sample_pair_correlations(options.every, bin_width=BIN_WIDTH, farthest=FARTHEST)
    ions.run(options.sweeps, [(1, lambda one: print(f"\rsweep {one.sweeps}", end="", flush=True))])
    print()
    run = {
        "radius": radius,
        "device": ions.device,
        "device_name": ions.device_name,
        "threads": ions.threads,
        "method": ions.method,
        "precision": ions.precision,
        "seconds_per_sweep": ions.seconds / ions.sweeps,
        "acceptance": ions.acceptance,
        "energy_drift": ions.energy_drift() / ions.energy if with_energy else None,
        "state_hash": ions.state_hash,
    }
    energies = ions.energy_records[options.equilibrate :] / ions.N if with_energy else None
    return script.save(options, {**run, **analyze(ions.pair_correlations, energies)})


def analyze(found: PairCorrelations, energies: np.ndarray | None) -> dict:
    """What is fitted, g in wide bins, and the dependence on where the fit begins."""
    wide = round(DRAWN / BIN_WIDTH)
    keep = len(found.r) // wide * wide

    def coarse(rows: np.ndarray) -> np.ndarray:
        return rows[:, :keep].reshape(len(rows), -1, wide).sum(axis=2)

    windows = []
    for begin in (45, 60, 75, 85, 100, 120):
        try:
            one = dressed_ions(found, BJERRUM, window=(begin, 6 * DEBYE_LENGTH))
        except ValueError:
            continue
        windows.append(
            {
                "begin": begin,
                "exponential": one.debye_length + one.curvature,
                "debye_length": one.debye_length,
                "error": one.debye_length_error,
            }
        )
    dressed, missing = None, None
    try:
        dressed = asdict(dressed_ions(found, BJERRUM))
    except ValueError as error:  # too short a run
        missing = str(error)
    return {
        "energy_per_ion": None if energies is None else float(energies.mean()),
        "autocorrelation_time": None
        if energies is None
        else 0.5 + autocorrelation_time(energies, every_lag=True),
        "densities": found.densities.tolist(),
        "interior_ions": found.interior.tolist(),
        "dressed": dressed,
        "missing": missing,
        "windows": windows,
        "r": (np.arange(keep // wide) * DRAWN + DRAWN / 2).tolist(),
        "g": (coarse(found.counts.astype(float)) / coarse(found.ideal)).tolist(),
    }


def describe(result: dict) -> None:
    d, t = result["dressed"], result["autocorrelation_time"]
    print(
        f"{result['ions']} ions, {result['sweeps']} sweeps of {result['seconds_per_sweep']:.3g} s, "
        f"{result['acceptance']:.1%} accepted" + ("" if t is None else f"; T_c = {t:.2f} sweeps")
    )
    if d is None:
        print(f"nothing is fitted: {result['missing']}")
        return
    print(
        f"renormalized Debye length {with_error(d['debye_length'], d['debye_length_error'])} "
        f"A, the paper {PAPER['debye_length']} (bare {d['bare_debye_length']:.2f})"
    )
    for k in (0, 1):
        ways = zip(d["valences"][k], d["valence_errors"][k], strict=True)
        text = " and ".join(with_error(z, e) for z, e in ways)
        print(f"valence of species {k}: {text}, the paper {PAPER['valences'][k]}")
    valences = map(with_error, d["pole_valences"], d["pole_valence_errors"])
    print(
        f"by the Ornstein-Zernike equation "
        f"{with_error(d['pole_debye_length'], d['pole_debye_length_error'])} A, valences "
        f"{' and '.join(valences)}; chi^2 beyond {d['window'][0]:.0f} A "
        f"{d['pole_chi_square']:.3f}, of one exponential {d['chi_square']:.3f}"
    )
    for w in result["windows"]:
        print(
            f"fit from {w['begin']} A: one exponential {w['exponential']:.2f}, "
            f"corrected {with_error(w['debye_length'], w['error'])} A"
        )
    print(
        f"Eq. 8: {with_error(d['screening_ratio'], d['screening_ratio_error'])} and "
        f"{with_error(d['charge_ratio'], d['charge_ratio_error'])}"
    )


def draw(result: dict) -> Figure:
    """g, and if the far field was fitted ln |r rho| and U against rho."""
    r, g, d = np.array(result["r"]), np.array(result["g"]), result["dressed"]
    rho = charge_density(g, result["densities"], (3, -1))
    figure = Figure(figsize=(13, 4) if d else (5, 4), layout="constrained")
    left, *others = figure.subplots(1, 3 if d else 1, squeeze=False)[0]
    figure.suptitle(
        f"{result['ions']:,} ions +3:-1, diameter {DIAMETER} Å, bare Debye length "
        f"{DEBYE_LENGTH} Å, $l_B$ = {BJERRUM} Å; {result['sweeps']:,} sweeps, "
        f"{result['device_name']}, "
        f"{result['date'][:10]}, {result['commit']}",
        fontsize=9 if d else 5,
    )
    for row, label in zip(g, ("+3 +3", "+3 -1", "-1 -1"), strict=True):
        left.plot(r[r < 120], row[r < 120], label=label)
    left.set(xlabel="distance r (Å)", ylabel="pair correlation function g(r)", ylim=(0, 4))
    left.legend()
    if d is None:
        return figure
    middle, right = others
    window = (r >= d["window"][0]) & (r <= d["window"][1])
    kappa = 1 / d["pole_debye_length"]
    for row, z, label in zip(rho, d["pole_valences"], ("around +3", "around -1"), strict=True):
        y = np.abs(r * row)
        shown = (r > 12) & (r < d["window"][1])
        (line,) = middle.plot(r[shown], np.log(y[shown]), ".", ms=4, label=label)
        far = np.log(kappa**2 * abs(z) / (4 * np.pi * d["pole_permittivity"])) - kappa * r[shown]
        middle.plot(r[shown], far, color=line.get_color(), lw=1)
    middle.set(
        xlabel="distance r (Å)",
        ylabel="ln |r ρ(r) Å² / e|",
        title=f"lines: $1/\\kappa_R$ = {1 / kappa:.2f} Å, not fitted",
    )
    middle.legend()
    pairs = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 2}
    for (a, b), row in pairs.items():
        u = potential_of_mean_force(g[row][window])
        label = f"z of {('+3', '-1')[b]}: {d['valences'][b][a]:.3f}"
        right.plot(rho[a][window] * 1e6, u, ".", ms=4, label=label)
    right.set(xlabel="charge density ρ (10⁻⁶ e Å⁻³)", ylabel="potential of mean force U (kT)")
    right.legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ions", type=int, default=16384, help="a multiple of 4")
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--equilibrate", type=int, default=50)
    parser.add_argument("--every", type=int, default=2, help="sweeps between samples of g(r)")
    parser.add_argument("--method", default="brush", choices=("brush", "tree", "auto"))
    parser.add_argument("--precision", choices=("mixed", "double"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    quick = {"ions": 2048, "sweeps": 24, "equilibrate": 4}
    options = script.parse(parser, "charge_renormalization", quick)
    result = script.read(options)[0] if options.draw else simulate(options)
    describe(result)
    script.picture(options, draw(result))


if __name__ == "__main__":
    script.run_script(main)
