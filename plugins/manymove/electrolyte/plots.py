"""Pictures of electrolytes, after Figures 11 to 14 of the paper. They need matplotlib."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from manymove.analysis.dressed_ion import DressedIons, charge_density, potential_of_mean_force
from manymove.analysis.pair_correlations import PairCorrelations
from manymove.electrolyte.replica import Result, Settings
from manymove.jobs.figures import new_figure, write_picture


def all_of(
    settings: Settings,
    results: list[Result],
    correlations: list[PairCorrelations],
    dressed: DressedIons | None,
) -> None:
    """Draw all pictures of a run into its folder; those of the far field only if it was fitted."""
    pooled = pool(correlations)
    energy(settings.output / "energy.png", [r.energies / settings.ions for r in results])
    if min(r.energies.size for r in results) > 20:
        autocorrelation(settings.output / "autocorrelation.png", [r.energies for r in results])
    pair_correlations(settings.output / "g.png", pooled)
    if dressed is not None:
        far_field(settings.output / "far_field.png", pooled, dressed)
        valences(settings.output / "valences.png", pooled, dressed)


def pool(runs: list[PairCorrelations]) -> PairCorrelations:
    """The pooled correlations of all runs, without blocks."""
    first = runs[0]
    counts = np.sum([run.counts for run in runs], axis=0)
    ideal = np.sum([run.ideal for run in runs], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        g = counts / ideal
    return replace(
        first,
        g=g,
        counts=counts,
        ideal=ideal,
        densities=np.mean([run.densities for run in runs], axis=0),
        interior=np.mean([run.interior for run in runs], axis=0),
        blocks=np.empty((0, *g.shape)),
    )


def energy(path: Path, series: list[np.ndarray]) -> None:
    """Energy per ion against sweeps."""
    figure, axes = new_figure(6.4, 4.2)
    for one in series:
        axes.plot(np.arange(1, one.size + 1), one, lw=0.8)
    axes.set(xlabel="sweeps measured", ylabel="energy per ion / kT")
    write_picture(path, figure, dpi=150)


def autocorrelation(path: Path, series: list[np.ndarray]) -> None:
    """C_n of the energy (Eq. 9), averaged over the replicas (Figure 11)."""
    longest = min(40, min(one.size for one in series) // 2)
    curves = []
    for one in series:
        d = one - one.mean()
        curves.append([(d[: d.size - n] * d[n:]).mean() / (d * d).mean() for n in range(longest)])
    figure, axes = new_figure(6.4, 4.2)
    axes.plot(np.mean(curves, axis=0), "o-", ms=3)
    axes.axhline(0, color="grey", lw=0.8)
    axes.set(xlabel="n / sweeps", ylabel="C_n of the energy")
    write_picture(path, figure, dpi=150)


def pair_correlations(path: Path, found: PairCorrelations) -> None:
    """g_ab(r) (Figure 12)."""
    figure, axes = new_figure(6.4, 4.2)
    for (a, b), g in zip(found.pairs, found.g, strict=True):
        axes.plot(found.r, g, lw=1, label=f"{found.valences[a]:+g} {found.valences[b]:+g}")
    axes.axhline(1, color="grey", lw=0.8)
    axes.set(xlabel="r / Å", ylabel="g(r)")
    axes.set_ylim(0, min(12.0, 1.05 * float(np.nanmax(found.g))))
    axes.legend()
    write_picture(path, figure, dpi=150)


def far_field(path: Path, found: PairCorrelations, dressed: DressedIons) -> None:
    """ln |r rho| against r and the straight lines that they tend to (Figure 13)."""
    rho = charge_density(found.g, found.densities, found.valences)
    low, high = dressed.window
    shown = (found.r > 0.3 * low) & (found.r < 1.4 * high)
    window = (found.r >= low) & (found.r <= high)
    figure, axes = new_figure(6.4, 4.2)
    for species, (z, row) in enumerate(zip(found.valences, rho, strict=True)):
        y = found.r * row
        sign = np.sign(np.sum(y[window]))
        keep = shown & (sign * y > 0)
        (line,) = axes.plot(found.r[keep], np.log(sign * y[keep]), ".", ms=2, label=f"{z:+g}")
        axes.plot(found.r[keep], asymptote(dressed, species, found.r[keep]), color=line.get_color())
    axes.set(xlabel="r / Å", ylabel="ln |r ρ(r) Å² / e|")
    axes.set_title(
        f"Debye length {dressed.debye_length:.2f} Å, bare {dressed.bare_debye_length:.2f} Å"
    )
    axes.legend(title="around")
    write_picture(path, figure, dpi=150)


def asymptote(dressed: DressedIons, species: int, r: np.ndarray) -> np.ndarray:
    """ln |r rho| of the far field around a species (Eq. 14), with its permittivity."""
    z, kappa = dressed.valences[species][species], 1 / dressed.debye_length
    return np.log(kappa**2 * abs(z) / (4 * np.pi * dressed.permittivity[species])) - kappa * r


def valences(path: Path, found: PairCorrelations, dressed: DressedIons) -> None:
    """Potentials of mean force against charge densities (Figure 14, Eq. 17)."""
    rho = charge_density(found.g, found.densities, found.valences)
    window = (found.r >= dressed.window[0]) & (found.r <= dressed.window[1])
    figure, axes = new_figure(6.4, 4.2)
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        u = potential_of_mean_force(found.of(a, b))[window]
        label = f"U({found.valences[a]:+g}, {found.valences[b]:+g}): {dressed.valences[b][a]:.3f}"
        axes.plot(rho[a][window], u, ".", ms=2, label=label)
    axes.set(xlabel="ρ / e Å⁻³", ylabel="U / kT")
    axes.legend(title="valence of the second")
    write_picture(path, figure, dpi=150)
