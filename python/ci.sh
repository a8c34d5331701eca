#!/usr/bin/env bash
# tests the Python package where Python can install it: `bash python/ci.sh RESULTS` writes JUnit's XML, or nothing
set -eu
# Gymnasium's own environments are the oracle, on the MuJoCo that corral follows
results=$1
cd "$(dirname "$0")"
venv=$(mktemp -d)
trap 'rm -rf "$venv" "$venv.log"' EXIT
if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check ".[test]" "gymnasium[mujoco]" "mujoco==3.14.*"; } >"$venv.log" 2>&1; then
  echo "python: not tested, since its packages cannot be installed here: $(tail -1 "$venv.log")"
  exit 0
fi
export CORRAL_PATH=${CORRAL_PATH:-$(cd .. && pwd)}
# a run that is killed starts a Node process; all that the record has: CORRAL_KILLS=200
export CORRAL_KILLS=${CORRAL_KILLS:-3}
"$venv/bin/mypy" --config-file pyproject.toml
"$venv/bin/python" -m pytest -q --junitxml="$results"
