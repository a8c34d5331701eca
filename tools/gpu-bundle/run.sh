#!/bin/sh
# corral on the GPU of this machine: correctness first, then the benchmark, then tuning. Results go to ./corral-results.
# usage: run.sh [--software] [--quick] [--out FOLDER] [ENV_OR_MODEL ...]
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=$PWD/corral-results
software=
quick=
while [ $# -gt 0 ]; do
  case $1 in
    --software) software=1 ;;
    --quick) quick=1 ;;
    --out) shift; out=$1 ;;
    --help) sed -n '2,3s/^# //p' "$0"; exit 0 ;;
    -*) echo "run.sh: $1 is no option; see --help" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done
mkdir -p "$out" || exit 3
PATH=$here/node/bin:${PATH:-/usr/local/bin:/usr/bin:/bin}
export PATH
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
export XDG_RUNTIME_DIR

# the machine's libraries first: ours are for what it lacks
known=$( (ldconfig -p || /sbin/ldconfig -p) 2>/dev/null)
lacking=$out/.lib
rm -rf "$lacking"
mkdir -p "$lacking"
for library in "$here"/lib/*; do
  name=$(basename "$library")
  case $known in *"$name"*) ;; *) ln -s "$library" "$lacking/$name" ;; esac
done
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$lacking

# a driver that was mounted into a container has no manifest where the loader looks
if [ -z "$software" ] && [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] &&
  ! ls /etc/vulkan/icd.d/nvidia* /usr/share/vulkan/icd.d/nvidia* >/dev/null 2>&1; then
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/x86_64-linux-gnu /usr/lib64; do
    [ -e "$folder/libGLX_nvidia.so.0" ] || continue
    manifest=$out/.nvidia_icd.json
    echo "{\"file_format_version\":\"1.0.1\",\"ICD\":{\"library_path\":\"$folder/libGLX_nvidia.so.0\",\"api_version\":\"1.3.0\"}}" >"$manifest"
    [ -e /usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json ] && manifest=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
    VK_DRIVER_FILES=$manifest
    export VK_DRIVER_FILES
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$folder
    break
  done
fi
export LD_LIBRARY_PATH

(nvidia-smi || echo "no nvidia-smi"; uname -a; date) >"$out/machine.txt" 2>&1
corral() { node "$here/bin/corral.js" "$@"; }

echo "== corral doctor"
corral doctor | tee "$out/doctor.txt"
if [ -z "$software" ] && ! grep -q "kind *gpu" "$out/doctor.txt"; then
  echo "run.sh: no GPU was found ($out/doctor.txt says why). Pass --software to run on a software driver." >&2
  exit 3
fi

echo "== correctness"
node "$here/checks.mjs" "$out" ${quick:+--quick} || failed=1

echo "== benchmark"
counts=1024,4096,16384,65536,262144,1048576
more="--seconds 0.5"
[ -n "$software" ] && counts=256,1024,4096
[ -n "$quick" ] && more="--quick" && counts=$(echo "$counts" | cut -d, -f1-2)
python=${CORRAL_PYTHON:-python3}
PYTHONPATH=$here/peers${PYTHONPATH:+:$PYTHONPATH}
PYTHONDONTWRITEBYTECODE=1
XLA_PYTHON_CLIENT_PREALLOCATE=false
export PYTHONPATH PYTHONDONTWRITEBYTECODE XLA_PYTHON_CLIENT_PREALLOCATE
if [ $# -eq 0 ]; then
  # shellcheck disable=SC2086
  corral bench --envs "$counts" $more --python "$python" --out "$out" || failed=1
else
  for target in "$@"; do
    # shellcheck disable=SC2086
    corral bench "$target" --envs "$counts" $more --python "$python" --out "$out" || failed=1
  done
fi
corral bench --loop --out "$out" || failed=1

echo "== tuning"
rm -f "$out/tune.txt"
[ $# -eq 0 ] && set -- HalfCheetah-v5 Ant-v5 Humanoid-v5
worlds=65536
[ -n "$software" ] && worlds=1024
for target in "$@"; do
  # shellcheck disable=SC2086
  corral tune "$target" --envs "$worlds" ${quick:+--seconds 0.05 --repetitions 1} >>"$out/tune.txt" || failed=1
done
cat "$out/tune.txt"
rm -rf "$lacking"
echo "results: $out"
exit "${failed:-0}"
