"""Where Node and the npm package are found."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from corral import CorralError, _node
from corral._version import __version__

NPM = """#!/bin/sh
echo "$@" > "$3/said"
mkdir -p "$3/node_modules/corral/bin" && touch "$3/node_modules/corral/package.json" "$3/node_modules/corral/bin/corral.js"
"""


@pytest.fixture
def nowhere(monkeypatch, tmp_path: Path) -> Path:
    """No copy in sight: not named, not in the project, not around the package."""
    monkeypatch.setenv("CORRAL_PATH", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_node, "__file__", str(tmp_path / "site-packages" / "corral" / "_node.py"))
    monkeypatch.setattr(_node, "_installed_from", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    return tmp_path


def copy_at(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    for name in ("package.json", "bin/corral.js"):
        (folder / name).touch()
    return folder


def npm(folder: Path, script: str) -> None:
    (folder / "npm").write_text(script)
    (folder / "npm").chmod(0o755)


def test_what_npm_said_is_told(nowhere: Path):
    npm(nowhere, """#!/bin/sh
printf 'npm error code E404\\nnpm error 404 Not Found - GET https://here/corral\\nnpm error A complete log of this run can be found in: x\\n' >&2
exit 1
""")
    with pytest.raises(CorralError, match="404 Not Found - GET https://here/corral. Run npm install"):
        _node.find_corral()


def test_the_projects_copy_comes_first(nowhere: Path, monkeypatch):
    found = copy_at(nowhere / "node_modules" / "corral")
    (nowhere / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(nowhere / "deep" / "down")
    assert _node.find_corral() == found


def test_the_clone_that_pip_installed_from(nowhere: Path, monkeypatch):
    clone = copy_at(nowhere / "a clone")
    (clone / "python").mkdir()
    monkeypatch.undo()

    class Noted:
        def read_text(self, name: str) -> str:
            return json.dumps({"dir_info": {}, "url": (clone / "python").as_uri()})

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Noted())
    assert _node._installed_from() == [clone]


def test_a_copy_of_the_same_version_is_installed_once(nowhere: Path):
    npm(nowhere, NPM)
    found = _node.find_corral()
    assert found == nowhere / "cache" / "corral-sim" / __version__ / "node_modules" / "corral"
    said = found.parents[1] / "said"
    assert f"corral@{__version__}" in said.read_text()
    said.unlink()
    assert _node.find_corral() == found and not said.exists()


def test_what_cannot_be_installed_is_said(nowhere: Path):
    npm(nowhere, "#!/bin/sh\necho 'no such registry' >&2; exit 1\n")
    with pytest.raises(CorralError) as caught:
        _node.find_corral()
    assert caught.value.code == "no-corral" and "no such registry" in str(caught.value) and "CORRAL_PATH" in str(caught.value)


def test_an_old_node_is_refused(nowhere: Path, monkeypatch):
    (nowhere / "node").write_text("#!/bin/sh\necho v18.1.0\n")
    (nowhere / "node").chmod(0o755)
    # an empty variable is none
    monkeypatch.setenv("CORRAL_NODE", "")
    with pytest.raises(CorralError) as caught:
        _node.find_node()
    assert caught.value.code == "no-node" and "18.1.0" in str(caught.value) and "nodejs.org" in str(caught.value)
