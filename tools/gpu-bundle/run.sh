#!/bin/sh
# corral on the GPU of this machine: correctness first, then tuning, the benchmark, training, and its memory. Results go to
# ./corral-results. usage: run.sh [--software] [--quick] [--only checks,tune,bench,train,stress] [--out FOLDER] [ENV_OR_MODEL ...]
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=$PWD/corral-results
software=
quick=
only=checks,tune,bench,train,stress
while [ $# -gt 0 ]; do
  case $1 in
    --software) software=1 ;;
    --quick) quick=1 ;;
    --out) shift; out=$1 ;;
    --only) shift; only=$1 ;;
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

for stage in $(echo "$only" | tr , ' '); do
  case $stage in
    checks | tune | bench | train | stress) ;;
    *) echo "run.sh: '$stage' is none of checks, tune, bench, train, stress" >&2; exit 2 ;;
  esac
done
wanted() { case ,$only, in *,"$1",*) ;; *) return 1 ;; esac; }

# what the drivers say is held, four times a second, beside the plans
if command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; then
  nvidia-smi --query-gpu=timestamp,memory.used,memory.total,clocks.sm,power.draw --format=csv -lms 250 >>"$out/gpu.csv" 2>&1 &
  watching=$!
  trap 'kill $watching 2>/dev/null' EXIT
fi

if wanted checks; then
  echo "== correctness"
  node "$here/checks.mjs" "$out" ${quick:+--quick} || failed=1
fi

# those that the figures are asked of come first: what was measured when time ends is kept
[ $# -gt 0 ] && named=1
if [ $# -eq 0 ]; then
  set -- HalfCheetah-v5 Ant-v5 Humanoid-v5 PickAndPlace CartPole
  for model in "$here"/robots/*/model.txt; do
    [ -e "$model" ] && set -- "$@" "$(dirname "$model")/$(cat "$model")"
  done
fi

if wanted tune; then
  echo "== tuning"
  # few worlds, of which each lane has a scheduler of its own, and many
  counts="1024 65536"
  [ -n "$software" ] && counts=1024
  [ -n "$quick" ] && counts=64
  for target in "$@"; do
    for worlds in $counts; do
      # shellcheck disable=SC2086
      corral tune "$target" --device gpu --envs "$worlds" ${quick:+--seconds 0.05 --repetitions 1} >>"$out/tune.txt" || failed=1
    done
  done
  cat "$out/tune.txt"
fi

if wanted bench; then
  echo "== benchmark"
  counts=1024,4096,8192,16384,65536,262144,1048576
  more="--seconds 0.5"
  [ -n "$software" ] && counts=256,1024,4096
  [ -n "$quick" ] && more="--quick" && counts=$(echo "$counts" | cut -d, -f1-2)
  python=${CORRAL_PYTHON:-python3}
  PYTHONPATH=$here/peers${PYTHONPATH:+:$PYTHONPATH}
  PYTHONDONTWRITEBYTECODE=1
  XLA_PYTHON_CLIENT_PREALLOCATE=false
  export PYTHONPATH PYTHONDONTWRITEBYTECODE XLA_PYTHON_CLIENT_PREALLOCATE
  for target in "$@"; do
    # shellcheck disable=SC2086
    corral bench "$target" --device gpu --envs "$counts" $more --python "$python" --out "$out/bench" || failed=1
  done
  # every other environment too, unless some were named
  others=
  [ -n "${named:-}${quick:-}" ] || others=$(corral list | sed -n '/ \(Box\|Discrete\)/s/^ *\([^ ]*\) .*/\1/p')
  for target in $others; do
    case " $* " in *" $target "*) continue ;; esac
    # shellcheck disable=SC2086
    corral bench "$target" --device gpu --envs "$counts" $more --python "$python" --out "$out/bench" || failed=1
  done
  corral bench --loop --device gpu --out "$out/bench" || failed=1
  for machine in "$out"/bench/*/; do corral bench --report "$machine" >/dev/null || failed=1; done
fi

if wanted train; then
  echo "== training"
  if [ -n "$quick" ]; then
    set -- CartPole 60 "$@"
  else
    set -- Ant-v5 3000 "$@"
  fi
  begin=$(date +%s)
  rm -rf "$out/train"
  corral train "$1" --device gpu --until "$2" --out "$out/train" >"$out/train.txt" 2>&1 || failed=1
  echo "$1 to $2: $(($(date +%s) - begin)) s in all, compiling included" >>"$out/train.txt"
  tail -n 3 "$out/train.txt"
  shift 2
fi

if wanted stress; then
  echo "== memory"
  # software drivers never refuse memory, but die of it
  until="--until OOM"
  [ -n "$software$quick" ] && until="--budget 256MiB"
  for target in "$@"; do
    # shellcheck disable=SC2086
    corral stress "$target" --device gpu $until ${quick:+--seconds 0.05} >>"$out/stress.txt" 2>&1 || failed=1
    [ -n "$quick" ] && break
  done
  tail -n 20 "$out/stress.txt"
fi
rm -rf "$lacking"
echo "results: $out"
exit "${failed:-0}"
