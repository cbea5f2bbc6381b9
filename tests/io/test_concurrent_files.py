# SPDX-License-Identifier: BSD-3-Clause
"""Several processes write one file, and others have planted links and chosen permissions."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

import numpy as np
import pytest

from manymove import checkpoint, files

SAVE = """
import sys
import numpy as np
from manymove import checkpoint
path, number = sys.argv[1], int(sys.argv[2])
for k in range(25):
    records = np.full(20_000 + number, float(number))
    checkpoint.write_records(path, records, keep_previous=True, about=number)
"""


def test_processes_that_save_one_file_never_damage_it(tmp_path):
    path = tmp_path / "state"
    checkpoint.write_records(path, np.full(20_009, 9.0), about=9)
    command = [sys.executable, "-c", SAVE, str(path)]
    savers = [
        subprocess.Popen([*command, str(k)], stderr=subprocess.PIPE, text=True) for k in range(3)
    ]
    seen = set()
    while any(saver.poll() is None for saver in savers):
        for one in (path, files.previous(path)):
            if one == path or one.exists():
                records, about = checkpoint.read_records(one)
                assert len(records) == 20_000 + about["about"]
                assert (records == about["about"]).all()
                seen.add(about["about"])
    assert [saver.communicate()[1] for saver in savers] == [""] * 3
    assert {0, 1, 2} <= seen, "the savers did not run at the same time"
    assert {one.name for one in tmp_path.iterdir()} == {"state", "state.previous"}


@pytest.mark.parametrize("links", [True, False])
def test_planted_links_are_not_followed(links, tmp_path, monkeypatch):
    """Neither under a name that is easily guessed, nor under the random one."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    if not links:  # a file system without hard links: the previous file is copied
        monkeypatch.setattr(os, "link", lambda *_: os.stat(tmp_path / "none"))
    names = iter("abc")
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(names))
    (tmp_path / "state").write_text("old")
    for name in ("state.partial", "state.link", "state.previous.b.partial"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(FileExistsError, match=r"File exists: '.*/state'"):
        with files.replace(tmp_path / "state", keep_previous=True) as file:
            file.write(b"new")
    (tmp_path / "state.c.partial").symlink_to(victim)
    with pytest.raises(FileExistsError, match=r"File exists: '.*/state'"):
        with files.replace(tmp_path / "state") as file:
            file.write(b"new")
    assert victim.read_text() == "mine"
    assert (tmp_path / "state").read_text() == "old"


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_replaced_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "state"
    path.write_text("old")
    path.chmod(mode)
    with files.replace(path, keep_previous=True) as file:
        assert os.fstat(file.fileno()).st_mode & 0o777 == mode  # also while it is written
    for one in (path, files.previous(path)):
        assert one.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_permissions_of_the_umask(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        with files.replace(tmp_path / "state"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "state").stat().st_mode & 0o777 == mode


def test_a_planted_link_does_not_give_its_permissions(tmp_path):
    (tmp_path / "open").write_text("open to all")
    (tmp_path / "open").chmod(0o666)
    (tmp_path / "state").symlink_to(tmp_path / "open")
    before = os.umask(0o077)
    try:
        with files.replace(tmp_path / "state") as file:
            assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    assert not (tmp_path / "state").is_symlink()
