"""Where Node and the npm package are."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from ._version import __version__
from .errors import CorralError

PACKAGE = "corral"
DISTRIBUTION = "corral-sim"
LEAST_NODE = (20, 19)
PATH_VARIABLE = "CORRAL_PATH"
NODE_VARIABLE = "CORRAL_NODE"


def find_node() -> str:
    """The path of a Node that is new enough. Throws ``CorralError`` no-node."""
    wanted = os.environ.get(NODE_VARIABLE) or "node"
    node = shutil.which(wanted)
    least = ".".join(map(str, LEAST_NODE))
    remedy = f"Install Node {least} or newer (https://nodejs.org), or name it by {NODE_VARIABLE}."
    if node is None:
        raise CorralError("no-node", f"{wanted} is not on the PATH. {remedy}")
    try:
        text = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        version = tuple(int(part) for part in text.lstrip("v").split(".")[:2])
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise CorralError("no-node", f"{node} does not tell its version: {error}. {remedy}") from error
    if version < LEAST_NODE:
        raise CorralError("no-node", f"{node} is Node {text}; corral needs {least}. {remedy}")
    return node


def find_corral() -> Path:
    """The folder of the npm package: named by ``CORRAL_PATH``, in the project, the clone around this file or that it was
    installed from, or installed in a cache.

    Throws ``CorralError`` no-corral.
    """
    named = os.environ.get(PATH_VARIABLE) or None
    if named is not None:
        if is_corral(Path(named)):
            return Path(named).resolve()
        raise CorralError("no-corral", f"{PATH_VARIABLE} is {named}, which holds no bin/corral.js. Name a copy of corral.")
    for folder in [Path.cwd(), *Path.cwd().parents]:
        if is_corral(folder / "node_modules" / PACKAGE):
            return (folder / "node_modules" / PACKAGE).resolve()
    for folder in [*Path(__file__).resolve().parents, *_installed_from()]:
        if is_corral(folder) and (folder / "python").is_dir():
            return folder
    return installed()


def _installed_from() -> list[Path]:
    """The clone of ``pip install ./python``, of which pip keeps a note."""
    try:
        note = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        url = urlparse(json.loads(note or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return []
    return [Path(url2pathname(url.path)).parent] if url.scheme == "file" else []


def is_corral(folder: Path) -> bool:
    """Whether a folder is a copy of the package."""
    return (folder / "bin" / "corral.js").is_file() and (folder / "package.json").is_file()


def cache_folder() -> Path:
    """Where a copy of this version is installed."""
    base = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return (Path(base) if base else Path.home() / ".cache") / "corral-sim" / __version__


def installed() -> Path:
    """The copy in the cache, installed by npm if it is not there yet."""
    cache = cache_folder()
    found = cache / "node_modules" / PACKAGE
    if is_corral(found):
        return found
    remedy = f"Run npm install {PACKAGE} in your project, or name a copy by {PATH_VARIABLE}."
    npm = shutil.which("npm")
    if npm is None:
        raise CorralError("no-corral", f"the npm package {PACKAGE} is not there, and npm is not on the PATH. {remedy}")
    cache.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(cache), "--no-audit", "--no-fund", f"{PACKAGE}@{__version__}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not is_corral(found):
        raise CorralError("no-corral", f"npm could not install {PACKAGE} {__version__}: {_said(done)}. {remedy}")
    return found


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """Why npm failed: its first line that is neither a code nor the place of its log."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    said = [line for line in lines if not re.match(r"npm (warn|WARN|(error|ERR!) code)\b|.*complete log", line)]
    return (said or lines or [f"npm ended with {done.returncode}"])[0].rstrip(".")
