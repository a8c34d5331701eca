#!/usr/bin/env bash
# Unpacks two compilers for GPUs into a folder, without root and without installing anything: `install.sh FOLDER`
# AMD's is Mesa's (Debian packages, of the suite's backports where it has them), NVIDIA's comes in wheels. Needs Debian's
# apt, gcc and python3 with pip; says what is missing, and exits with 3, where it cannot. 90 MB of downloads, 650 MB unpacked.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
build() { gcc -O1 -shared -fPIC -fvisibility=hidden -Imesa/usr/include -o null-driver.so "$here/null-driver.c" -ldl; }
if [ -e done ]; then
  [ null-driver.so -nt "$here/null-driver.c" ] || build
  exit 0
fi
cannot() { echo "gpu-compilers: cannot be installed here: $1" >&2; exit 3; }
for tool in apt-get dpkg-deb gcc python3; do command -v $tool >/dev/null || cannot "no $tool"; done
python3 -m pip --version >/dev/null 2>&1 || cannot "python3 has no pip"

mkdir -p apt/lists/partial apt/cache/archives/partial debs wheels mesa nv
# package lists of its own, from where this machine has its packages
apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | grep -v security | sort -u | while read -r uri suite; do
  echo "deb $uri $suite main"
  case $suite in *-*) ;; bookworm) echo "deb $uri $suite-backports main" ;; esac
done >apt/sources.list
[ -s apt/sources.list ] || cannot "apt knows no packages"
options=(-q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$PWD/apt/lists"
  -o "Dir::Cache=$PWD/apt/cache" -o Acquire::Languages=none)
apt-get "${options[@]}" update >apt/update.log 2>&1 || cannot "apt-get update: $(tail -1 apt/update.log)"
grep -q backports apt/sources.list && options+=(-o APT::Default-Release=bookworm-backports)

# what every Debian has stays its own: another libc than the loader's ends every program
own='^(libc6|libc6-dev|libc-bin|libstdc\+\+6|libgcc-s1|gcc-.*-base|libcrypt1|debconf.*|cdebconf|dpkg|tar|perl.*|libperl.*|python3.*|libpython3.*)$'
packages=$(apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
  --no-enhances --no-pre-depends mesa-vulkan-drivers libvulkan1 libvulkan-dev | grep '^[a-z]' | grep -vE "$own" | sort -u)
(cd debs && apt-get "${options[@]}" download $packages >../apt/download.log 2>&1) || cannot "apt-get download: $(tail -1 apt/download.log)"
for package in debs/*.deb; do dpkg-deb -x "$package" mesa; done
rm -rf debs

python3 -m pip download -q --no-deps --only-binary=:all: -d wheels \
  nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvdisasm >pip.log 2>&1 || cannot "pip: $(tail -1 pip.log)"
for wheel in wheels/*.whl; do python3 -m zipfile -e "$wheel" nv; done
rm -rf wheels
find nv -path '*/bin/*' -type f -exec chmod +x {} +

build
touch done
