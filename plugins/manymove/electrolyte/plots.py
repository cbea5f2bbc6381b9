"""Pictures of electrolytes, after Figures 11 to 14 of the paper. They need matplotlib."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from manymove.analysis.dressed_ion import DressedIons, charge_density, potential_of_mean_force
from manymove.analysis.pair_correlations import PairCorrelations
from manymove.electrolyte.replica import Result, Settings
from manymove.jobs.figures import draw_records, new_figure, write_picture


def all_of(
    settings: Settings,
    results: list[Result],
    correlations: list[PairCorrelations],
    dressed: DressedIons | None,
    mean: tuple[float, float | None],
) -> None:
    """Draw all pictures of a run into its folder; those of the far field only if it was fitted."""
    pooled, title = pool(correlations), state(settings)
    folder = settings.output
    energy(folder / "energy.png", [r.energies / settings.ions for r in results], title, mean)
    if min(r.energies.size for r in results) > 20:
        autocorrelation(folder / "autocorrelation.png", [r.energies for r in results], title)
    pair_correlations(folder / "g.png", pooled, title)
    if dressed is not None:
        far_field(folder / "far_field.png", pooled, dressed, title)
        valences(folder / "valences.png", pooled, dressed, title)


def state(settings: Settings) -> str:
    """Title of a picture: ions, diameters, density and Bjerrum length."""
    a, b = settings.valences
    diameters = " and ".join(
        f"{d:g}" for d in dict.fromkeys(each.diameter for each in settings.salt.species)
    )
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


def energy(
    path: Path, series: list[np.ndarray], title: str, mean: tuple[float, float | None] | None = None
) -> None:
    """Energy per ion against sweeps, with the running mean of each replica and the overall mean."""
    figure, axes = new_figure(6.4, 4.2)
    draw_records(axes, [(np.arange(1, one.size + 1), one) for one in series], mean, "kT")
    axes.set(xlabel="sweeps measured", ylabel="energy per ion (kT)")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8, markerscale=3)
    write_picture(path, figure, dpi=150)


def autocorrelation(path: Path, series: list[np.ndarray], title: str) -> None:
    """C_n of the energy (Eq. 9), averaged over the replicas (Figure 11)."""
    longest = min(40, min(one.size for one in series) // 2)
    curves = []
    for one in series:
        d = one - one.mean()
        curves.append([(d[: d.size - n] * d[n:]).mean() / (d * d).mean() for n in range(longest)])
    figure, axes = new_figure(6.4, 4.2)
    mean, lags = np.mean(curves, axis=0), np.arange(longest)
    axes.plot(lags, mean, "o-", ms=3, label="mean of the replicas" if len(curves) > 1 else None)
    if len(curves) > 1:
        error = np.std(curves, axis=0, ddof=1) / np.sqrt(len(curves))
        axes.fill_between(lags, mean - error, mean + error, alpha=0.3, label="standard error")
        axes.legend(fontsize=8)
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
    """g_ab(r) (Figure 12) with its standard errors, up to the distance at which the errors exceed
    its deviation from 1. If g exceeds 20, the axis is logarithmic above 2."""
    figure, axes = new_figure(6.4, 4.2)
    end = max(2, signal_end(found))
    r, errors = found.r[:end], counting_errors(found)[:, :end]
    top = 1.1
    for (a, b), g, error, counts in zip(found.pairs, found.g, errors, found.counts, strict=True):
        g, some = g[:end], counts[:end] > 0  # the error of a bin without pairs is not known
        (line,) = axes.plot(r, g, lw=1, label=f"{found.valences[a]:+g} {found.valences[b]:+g}")
        axes.fill_between(r, g - error, g + error, where=some, alpha=0.3, lw=0,
                          color=line.get_color())  # fmt: skip
        known = counts[:end] >= 4  # peaks of fewer pairs are noise
        top = max(top, float((g + error)[known].max(initial=0.0)))
    axes.axhline(1, color="grey", lw=0.8)
    axes.set(xlabel="distance r (Å)", ylabel="pair correlation function g(r)")
    axes.set_title(title, fontsize=9)
    if top > 20:
        axes.set_yscale("symlog", linthresh=2)
    axes.set_ylim(0, 1.05 * top)
    axes.legend(title="band: standard error", title_fontsize=8)
    write_picture(path, figure, dpi=150)


def far_field(path: Path, found: PairCorrelations, dressed: DressedIons, title: str) -> None:
    """ln |r rho| against r and the straight lines that they tend to (Figure 13).

    Charge densities below twice their errors are left out.
    """
    rho = charge_density(found.g, found.densities, found.valences)
    errors = charge_density_errors(found)
    low, high = dressed.window
    near = (found.r > 0.3 * low) & (found.r < 1.4 * high)
    window = (found.r >= low) & (found.r <= high)
    shown = near & (window | (found.r < found.r[signal_end(found) - 1]))
    figure, axes = new_figure(6.4, 4.2)
    for species, (z, row, error) in enumerate(zip(found.valences, rho, errors, strict=True)):
        y = found.r * row
        sign = np.sign(np.sum(y[window]))
        keep = shown & (sign * row > 2 * error)
        (line,) = axes.plot(found.r[keep], np.log(sign * y[keep]), ".", ms=2, label=f"{z:+g}")
        axes.plot(found.r[near], asymptote(dressed, species, found.r[near]), color=line.get_color())
    axes.axvspan(low, high, color="k", alpha=0.08, lw=0, label="window of the fit")
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
        axes.plot(rho[a][window], u, ".", ms=2, alpha=0.6, label=label)
    axes.set(xlabel="charge density ρ (e Å⁻³)", ylabel="potential of mean force U (kT)")
    axes.set_title(title, fontsize=9)
    axes.legend(title="valence of the second")
    write_picture(path, figure, dpi=150)
