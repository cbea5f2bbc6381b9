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
    pooled, title = pool(correlations), state(settings)
    folder = settings.output
    energy(folder / "energy.png", [r.energies / settings.ions for r in results], title)
    if min(r.energies.size for r in results) > 20:
        autocorrelation(folder / "autocorrelation.png", [r.energies for r in results], title)
    pair_correlations(folder / "g.png", pooled, title)
    if dressed is not None:
        far_field(folder / "far_field.png", pooled, dressed, title)
        valences(folder / "valences.png", pooled, dressed, title)


def state(settings: Settings) -> str:
    """Title of a picture: ions, diameters, density and Bjerrum length."""
    a, b = settings.valences
    diameters = " and ".join(f"{d:g}" for d in dict.fromkeys(settings.diameters))
    density = (
        f"bare Debye length {settings.debye_length:g} Å"
        if settings.concentration is None
        else f"{settings.concentration:g} mol/l"
    )
    return (
        f"{settings.ions:,} ions {a:+d}:{b:+d}, diameter {diameters} Å, {density}, "
        f"$l_B$ = {settings.bjerrum_length:g} Å"
    )


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


def energy(path: Path, series: list[np.ndarray], title: str) -> None:
    """Energy per ion against sweeps, with the running mean of each replica."""
    figure, axes = new_figure(6.4, 4.2)
    for index, one in enumerate(series):
        color, sweeps = f"C{index % 10}", np.arange(1, one.size + 1)
        axes.plot(sweeps, one, ".", ms=2, alpha=0.3, color=color)
        label = None if index else "running mean"
        axes.plot(sweeps, np.cumsum(one) / sweeps, lw=1.5, color=color, label=label)
    axes.set(xlabel="sweeps measured", ylabel="energy per ion (kT)")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=150)


def autocorrelation(path: Path, series: list[np.ndarray], title: str) -> None:
    """C_n of the energy (Eq. 9), averaged over the replicas (Figure 11)."""
    longest = min(40, min(one.size for one in series) // 2)
    curves = []
    for one in series:
        d = one - one.mean()
        curves.append([(d[: d.size - n] * d[n:]).mean() / (d * d).mean() for n in range(longest)])
    figure, axes = new_figure(6.4, 4.2)
    axes.plot(np.mean(curves, axis=0), "o-", ms=3)
    axes.axhline(0, color="grey", lw=0.8)
    axes.set(xlabel="lag n (sweeps)", ylabel="autocorrelation of the energy, $C_n$")
    axes.set_title(title, fontsize=9)
    write_picture(path, figure, dpi=150)


def counting_errors(found: PairCorrelations) -> np.ndarray:
    """Standard errors of g from the numbers of counted pairs, float64 (pairs, bins)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(np.maximum(found.counts, 1.0)) / found.ideal


def signal_end(found: PairCorrelations) -> int:
    """Number of bins from contact to the distance at which g - 1 of all pairs is below its error,
    or below 1/N, by which g of a system with N ions of a species differs from 1 at any distance.

    The bins are joined in eights for this comparison, because a single bin is noisy.
    """
    count = found.g.shape[1] // 8 * 8
    counts, ideal = (
        np.asarray(each, float)[:, :count].reshape(len(found.pairs), -1, 8).sum(axis=2)
        for each in (found.counts, found.ideal)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.maximum(np.sqrt(np.maximum(counts, 1)) / ideal, 1 / found.interior.min())
        signal = (np.abs(counts / ideal - 1) > errors).any(axis=0)
    begin = int(np.argmax(signal))  # bins within the core of the ions may have few expected pairs
    noise = np.flatnonzero(~signal[begin:])
    return 8 * (begin + int(noise[0])) if signal.any() and noise.size else found.g.shape[1]


def pair_correlations(path: Path, found: PairCorrelations, title: str) -> None:
    """g_ab(r) (Figure 12) up to the distance at which its errors exceed its deviation from 1."""
    figure, axes = new_figure(6.4, 4.2)
    end = max(2, signal_end(found))
    r, errors = found.r[:end], counting_errors(found)[:, :end]
    shown = [np.where(e < 0.5, g[:end], np.nan) for g, e in zip(found.g, errors, strict=True)]
    for (a, b), g in zip(found.pairs, shown, strict=True):
        axes.plot(r, g, lw=1, label=f"{found.valences[a]:+g} {found.valences[b]:+g}")
    axes.axhline(1, color="grey", lw=0.8)
    axes.set(xlabel="distance r (Å)", ylabel="pair correlation function g(r)")
    axes.set_title(title, fontsize=9)
    largest = np.nanmax(shown) if np.isfinite(shown).any() else 1.0
    axes.set_ylim(0, min(12.0, max(1.1, 1.05 * float(largest))))
    axes.legend()
    write_picture(path, figure, dpi=150)


def far_field(path: Path, found: PairCorrelations, dressed: DressedIons, title: str) -> None:
    """ln |r rho| against r and the straight lines that they tend to (Figure 13).

    Charge densities below twice their errors are left out.
    """
    rho = charge_density(found.g, found.densities, found.valences)
    errors = charge_density_errors(found)
    low, high = dressed.window
    shown = (found.r > 0.3 * low) & (found.r < min(1.4 * high, found.r[signal_end(found) - 1]))
    window = (found.r >= low) & (found.r <= high)
    figure, axes = new_figure(6.4, 4.2)
    for species, (z, row, error) in enumerate(zip(found.valences, rho, errors, strict=True)):
        y = found.r * row
        sign = np.sign(np.sum(y[window]))
        keep = shown & (sign * row > 2 * error)
        (line,) = axes.plot(found.r[keep], np.log(sign * y[keep]), ".", ms=2, label=f"{z:+g}")
        axes.plot(found.r[keep], asymptote(dressed, species, found.r[keep]), color=line.get_color())
    axes.set(xlabel="distance r (Å)", ylabel="ln |r ρ(r) Å² / e|")
    axes.set_title(
        f"{title}\nlines: Debye length {dressed.debye_length:.2f} Å, "
        f"bare {dressed.bare_debye_length:.2f} Å",
        fontsize=9,
    )
    axes.legend(title="charge around")
    write_picture(path, figure, dpi=150)


def charge_density_errors(found: PairCorrelations) -> np.ndarray:
    """Standard errors of the charge densities around both species, float64 (2, bins)."""
    e = counting_errors(found) ** 2
    weights = (np.asarray(found.densities) * np.asarray(found.valences)) ** 2
    return np.sqrt(np.einsum("b,abr->ar", weights, np.array([[e[0], e[1]], [e[1], e[2]]])))


def asymptote(dressed: DressedIons, species: int, r: np.ndarray) -> np.ndarray:
    """ln |r rho| of the far field around a species (Eq. 14), with its permittivity."""
    z, kappa = dressed.valences[species][species], 1 / dressed.debye_length
    return np.log(kappa**2 * abs(z) / (4 * np.pi * dressed.permittivity[species])) - kappa * r


def valences(path: Path, found: PairCorrelations, dressed: DressedIons, title: str) -> None:
    """Potentials of mean force against charge densities (Figure 14, Eq. 17)."""
    rho = charge_density(found.g, found.densities, found.valences)
    window = (found.r >= dressed.window[0]) & (found.r <= dressed.window[1])
    figure, axes = new_figure(6.4, 4.2)
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        u = potential_of_mean_force(found.of(a, b))[window]
        label = f"U({found.valences[a]:+g}, {found.valences[b]:+g}): {dressed.valences[b][a]:.3f}"
        axes.plot(rho[a][window], u, ".", ms=2, label=label)
    axes.set(xlabel="charge density ρ (e Å⁻³)", ylabel="potential of mean force U (kT)")
    axes.set_title(title, fontsize=9)
    axes.legend(title="valence of the second")
    write_picture(path, figure, dpi=150)
