"""The distributions manymove and manymove-lammps: metadata, files, and what ties them together."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest
from documents import ROOT
from lammps_host import needs_lammps, run_lammps

import manymove.lammps
from manymove import _core, info
from manymove.lammps import host

LICENSES = {"manymove": "BSD-3-Clause", "manymove-lammps": "GPL-2.0-only"}
FOLDERS = {"manymove": ROOT, "manymove-lammps": ROOT / "lammps_ext"}
CORE = _core.build_info()["core"]
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")


def installed(distribution: str) -> metadata.Distribution:
    try:
        return metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{distribution} is not installed")


def project(distribution: str) -> dict:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
    return tomllib.loads((FOLDERS[distribution] / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement).group().lower() for requirement in requirements}


@pytest.mark.parametrize("distribution", LICENSES)
def test_the_license_is_an_expression_with_its_text(distribution):
    of = installed(distribution)
    assert of.metadata["License-Expression"] == LICENSES[distribution]
    assert of.metadata["License"] is None
    copied = ["vendor/lammps/LICENSE"] if distribution == "manymove-lammps" else ["NOTICES.md"]
    assert of.metadata.get_all("License-File") == ["LICENSE", *copied]
    assert not any("License ::" in text for text in of.metadata.get_all("Classifier"))
    (file,) = (f for f in of.files if f.match("*.dist-info/licenses/LICENSE"))
    assert file.read_text() == (FOLDERS[distribution] / "LICENSE").read_text()


def test_all_parts_have_one_version():
    version = installed("manymove").version
    assert project("manymove-lammps")["project"]["version"] == version
    assert set(re.findall(r"^ *version: (.*)$", text("CITATION.cff"), re.MULTILINE)) == {version}
    recipes = list((ROOT / "packaging/conda").glob("*/recipe.yaml"))
    assert len(recipes) == 3
    for recipe in recipes:
        assert f'\n  version: "{version}"\n' in recipe.read_text(), recipe


def dois(text: str) -> set[str]:
    return set(re.findall(r"10\.\d{4}/[\w.]+\w", text))


def test_the_papers_are_the_same_everywhere():
    papers = dois(text("CITATION.cff"))
    assert len(papers) == 4
    assert dois(text("docs/citing.md")) == papers
    for distribution in LICENSES:
        urls = installed(distribution).metadata.get_all("Project-URL")
        assert dois(" ".join(urls)) == papers and len(urls) == len(papers)


def test_the_citation_names_all_parts_with_their_licenses():
    whole, *parts = re.split(r"^  - type: software$", text("CITATION.cff"), flags=re.MULTILINE)
    name, _, description = re.search(r'^title: "(.*)"$', whole, re.MULTILINE)[1].partition(": ")
    metadata = installed("manymove").metadata
    assert name == metadata["Name"]
    assert description.lower() == metadata["Summary"].lower()
    assert f"\nlicense: {LICENSES[name]} " in whole
    assert f"name: {project(name)['project']['authors'][0]['name']}\n" in whole
    licenses = {"manymove-lammps": LICENSES["manymove-lammps"], "hoomd.manymove": LICENSES[name]}
    for part, license in licenses.items():
        (entry,) = (each for each in parts if f'title: "{part}: ' in each)
        assert f"\n    license: {license}\n" in entry


@pytest.mark.parametrize("page", ["README.md", "docs/citing.md"])
def test_pages_name_both_licenses(page):
    assert "BSD 3-Clause" in text(page)
    assert LICENSES["manymove-lammps"] == "GPL-2.0-only"
    assert re.search(r"GNU GPL.*?version 2(?!,? or later)", text(page), re.DOTALL)


def test_versions_of_python_agree():
    package = project("manymove")
    listed = {
        distribution: re.findall(
            r"^Programming Language :: Python :: 3\.(\d+)$",
            "\n".join(installed(distribution).metadata.get_all("Classifier")),
            re.MULTILINE,
        )
        for distribution in LICENSES
    }
    (first, *_) = versions = listed["manymove"]
    assert listed["manymove-lammps"] == versions
    assert {installed(d).metadata["Requires-Python"] for d in LICENSES} == {f">=3.{first}"}
    # A wheel for each version below that of the stable ABI, and one for all others.
    stable = package["tool"]["scikit-build"]["wheel"]["py-api"]
    built = [re.match(r"cp3(\d+)-", b)[1] for b in package["tool"]["cibuildwheel"]["build"]]
    assert built == [v for v in versions if int(v) <= int(stable.removeprefix("cp3"))]
    assert f"Python 3.{first} or later" in text("README.md")


def test_manymove_is_built_and_installed_without_lammps():
    required = [r for r in installed("manymove").requires if "extra ==" not in r]
    assert names(required) == {"numpy", "typer", "tqdm", "gsd"}
    build = project("manymove")["build-system"]["requires"]
    assert names(build) == {"scikit-build-core", "nanobind"}


def test_the_plugin_requires_what_is_published_only():
    """The package manymove is not, so that its name must not be asked for."""
    published = {"lammps", "mpich"}
    assert names(installed("manymove-lammps").requires) == published
    build = project("manymove-lammps")["build-system"]["requires"]
    assert names(build) == published | {"scikit-build-core"}


def test_one_release_of_lammps_is_named_everywhere():
    plugin, package = project("manymove-lammps"), project("manymove")["project"]
    (lammps,) = (r for r in plugin["project"]["dependencies"] if r.startswith("lammps"))
    assert lammps in plugin["build-system"]["requires"]
    assert lammps in package["optional-dependencies"]["lammps"]


def test_the_core_is_in_manymove_only():
    files = {str(file) for file in installed("manymove").files}
    for name in ("lib/libmanymove_core.so", "cmake/interface.cmake", "include/core/dpd/engine.h"):
        assert f"manymove/core/{name}" in files
    assert not any("manymoveplugin" in name or "lammps_ext" in name for name in files)
    libraries = {f.name for f in installed("manymove-lammps").files if f.suffix == ".so"}
    assert libraries == {"manymoveplugin.so", "manymove_styles.so"}


def test_kernels_are_in_the_core_only():
    """nvcc puts them into a section of this name."""
    with_kernels = {
        Path(file.locate()).name
        for distribution in LICENSES
        for file in installed(distribution).files
        if file.suffix == ".so" and b".nv_fatbin\0" in Path(file.locate()).read_bytes()
    }
    assert with_kernels == ({"libmanymove_core.so"} if _core.build_info()["cuda"] else set())


def symbols(library: Path, kind: str) -> set[str]:
    command = ["nm", "-D", "--format=posix", f"--{kind}-only", library]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split()[0] for line in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_the_core_exports_what_the_others_need():
    """A symbol that is missing would be told only when the library is loaded."""
    module = Path(_core.__file__)
    exported = symbols(module.parent / "core/lib/libmanymove_core.so", "defined")
    needing = [module]
    if not host.missing():
        needing.append(Path(manymove.lammps.plugin_directory()) / "manymove_styles.so")
    for library in needing:
        # _ZN8manymove, _ZTIN8manymove ...: names in the namespace, not those that mention it.
        ours = {s for s in symbols(library, "undefined") if re.match(r"_Z\w{0,3}N?K?8manymove", s)}
        assert len(ours) > 5
        assert not ours - exported


def test_lmp_finds_the_plugin_by_its_entry_point():
    (entry,) = (e for e in metadata.entry_points(group="lammps.plugins") if e.name == "manymove")
    assert entry.value == "manymove_lammps:plugin_directory"
    if not host.missing():
        assert entry.load()() == manymove.lammps.plugin_directory()


@pytest.mark.thorough
def test_the_source_distribution_has_one_license(tmp_path, monkeypatch):
    """The plugin, which is under the GPL, is not in it."""
    backend = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / backend.build_sdist(str(tmp_path))) as archive:
        members = archive.getnames()
    assert any(name.endswith("plugins/core/core.cmake") for name in members)
    assert not any("/lammps_ext" in name for name in members)


# ---- the core that the plugin was built for ----


@needs_lammps
def test_the_plugin_is_of_this_core():
    import manymove_lammps

    assert manymove_lammps.CORE == CORE
    assert manymove.lammps.why_no_plugin() == ""


@pytest.fixture
def copied_plugin(tmp_path, monkeypatch) -> Path:
    """The plugin in a folder without a core."""
    folder = Path(shutil.copytree(manymove.lammps.plugin_directory(), tmp_path / "plugin"))
    monkeypatch.setattr(host, "plugin_directory", lambda: str(folder))
    monkeypatch.delenv("LAMMPS_PLUGIN_PATH", raising=False)  # the package lammps sets it
    return folder


@needs_lammps
@needs_compiler
@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            'const char* manymove_core_build(void) { return "9.8.7 (headers 01234567)"; }',
            "9.8.7 (headers 01234567)",
        ),
        ("int something_else;", "unknown"),
    ],
)
def test_a_plugin_of_another_core_names_both_versions(copied_plugin, tmp_path, source, says):
    (tmp_path / "core.c").write_text(source + "\n")
    core = copied_plugin / "libmanymove_core.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", core, tmp_path / "core.c"], check=True)
    output = " ".join(run_lammps("plugin list\n", tmp_path).output.split())
    assert f"was built for the core {CORE}, this one is {says}" in output
    assert "Its styles are not loaded" in output
    assert "manymove/dpd" not in output


@needs_lammps
def test_a_plugin_without_a_core_says_what_is_missing(copied_plugin, tmp_path):
    output = run_lammps("plugin list\n", tmp_path).output
    assert "needs the package manymove, and did not find its core" in output
    assert "libmanymove_core.so: cannot open shared object file" in output
    assert "manymove/dpd" not in output


@needs_lammps
def test_a_plugin_finds_the_core_where_the_dynamic_linker_does(
    copied_plugin, tmp_path, monkeypatch
):
    core = Path(_core.__file__).parent / "core/lib"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(core))
    assert "pair style plugin manymove/dpd" in run_lammps("plugin list\n", tmp_path).output


@needs_lammps
def test_python_names_both_versions(monkeypatch):
    monkeypatch.setattr("manymove_lammps.CORE", "9.8.7 (headers 01234567)")
    both = rf"built for the core 9\.8\.7 \(headers 01234567\), this one is {re.escape(CORE)}"
    with pytest.raises(RuntimeError, match=both):
        manymove.lammps.load(None)
    with pytest.raises(RuntimeError, match=both):
        host.command()
    assert re.search(both, info.format(info.collect()))


@needs_cmake
@needs_compiler
def test_cmake_finds_the_core(tmp_path):
    """The headers that are installed are those that the library was compiled with."""
    folder = subprocess.run(
        [sys.executable, "-m", "manymove.info", "--cmake-dir"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\n"
        "project(user LANGUAGES CXX)\n"
        f"find_package(manymove_core {installed('manymove').version} EXACT CONFIG REQUIRED)\n"
        'message(STATUS "headers of ${MANYMOVE_CORE_BUILD}")\n'
        "add_executable(user user.cpp)\n"
        "target_link_libraries(user PRIVATE manymove_core)\n"
    )
    (tmp_path / "user.cpp").write_text(
        '#include <cstdio>\n#include "core/runtime/build.h"\n#include "core/runtime/simd.h"\n'
        'int main() { std::printf("%s, %s", manymove_core_build(),'
        " manymove::simd_levels().front().c_str()); }\n"
    )
    build = tmp_path / "build"
    configure = ["cmake", "-S", tmp_path, "-B", build, f"-Dmanymove_core_DIR={folder}"]
    done = subprocess.run(configure, capture_output=True, text=True)
    assert f"headers of {CORE}\n" in done.stdout, done.stderr
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    done = subprocess.run([build / "user"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{CORE}, {_core.simd_levels()[0]}"


# ---- public continuous integration ----


def text(path: str) -> str:
    return (ROOT / path).read_text()


def test_workflows_run_steps_of_the_script():
    steps = set(re.findall(r"^#   (\w+) ", text(".ci/run"), re.MULTILINE))
    assert {"test", "rest", "docs", "lint", "newcomer", "wheels", "trial"} == steps
    commands = []
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        commands += re.findall(r"^ *- run: (.*)$", path.read_text(), re.MULTILINE)
    matrix = re.search(r"step: \[(.*)\]", text(".github/workflows/ci.yml")).group(1)
    called = {command.removeprefix(".ci/run ") for command in commands}
    assert all(command.startswith(".ci/run ") for command in commands)
    assert called - {"${{ matrix.step }}"} | set(re.findall(r"\w+", matrix)) == steps


def test_the_script_refuses_an_unknown_step():
    done = subprocess.run([ROOT / ".ci/run", "tests"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == '.ci/run: no step "tests"\n'


@pytest.mark.skipif(not os.access(ROOT / ".git", os.F_OK), reason="not a clone")
def test_packaging_names_no_machine():
    files = [ROOT / "pyproject.toml", ROOT / "lammps_ext/pyproject.toml", ROOT / ".ci/run"]
    for folder in ("packaging", ".github"):
        files += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in files:
        found = re.findall(r"(?<![\w.}/])/(?:home|root|work|mnt|data|scratch)/", path.read_text())
        assert not found, path
        assert not re.search(r"pypi\.org|anaconda\.org|quay\.io|index-url", path.read_text()), path
