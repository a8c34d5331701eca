#!/usr/bin/env bash
# tests the Python package where Python can install it: `bash python/ci.sh RESULTS [READY]` writes JUnit's XML, or nothing;
# the tests begin when the file READY is there, if one is named: what npm installs may still be on its way
set -eu
# Gymnasium's own environments are the oracle, on the MuJoCo that corral follows
results=$1
ready=${2:-}
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
# who starts this may end before the file is there
while [ -n "$ready" ] && [ ! -e "$ready" ] && kill -0 "$PPID" 2>/dev/null; do sleep 1; done
"$venv/bin/mypy" --config-file pyproject.toml
"$venv/bin/python" -m pytest -q --junitxml="$results"
