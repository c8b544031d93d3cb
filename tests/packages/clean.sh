# shellcheck shell=bash
# Parts of scripts/verify-packages: everything in one clean root, and the container image.

# Packages of Debian and PyPI on which those under test depend, fetched before the clock runs.
download_dependencies() {
    mkdir -p "$cache/wheels" "$root/wheels"
    # A wheel is fetched once for all runs; pip looks for newer ones each time.
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --python-version 3.11 \
        --dest "$cache/wheels" --find-links "$cache/wheels" "$packages"/windlass_lab-*.whl
    find "$cache/wheels" -name 'windlass_lab-*' -delete
    mount -o bind,ro "$cache/wheels" "$root/wheels"
    in_root apt-get update -qq
    # shellcheck disable=SC2046
    in_root apt-get install -qq -y --no-install-recommends --download-only $(debs) >/dev/null
}

# lap NAME COMMAND...: runs it, and notes the seconds that it took, also of processor time: a busy
# machine stretches the former alone.
lap() {
    local name=$1 TIMEFORMAT='%R %U %S'
    shift
    { time "$@" >"$work/lap" 2>&1 || die "$name: $(tail -n 20 "$work/lap")"; } 2>"$work/time" || die "$(cat "$work/time")"
    laps+=("$(awk -v name="$name" '{ printf "%-70s %6.1f s %6.1f s of CPU", name, $1, $2 + $3 }' "$work/time")")
}

verify_clean() {
    local laps=() wheel start units=/lib/systemd/system
    unpack_root
    download_dependencies
    wheel=$(basename "$packages"/windlass_lab-*.whl)
    start=$SECONDS
    # shellcheck disable=SC2046
    lap "apt-get install the three packages" in_root apt-get install -y --no-install-recommends $(debs)
    lap "windlass sim run an installed example" in_root windlass sim run "$sim_example"
    lap "windlass doctor simulator" in_root windlass doctor simulator
    lap "a new environment of Python" in_root python3 -m venv /opt/lab
    lap "pip install $wheel" in_root /opt/lab/bin/pip install --no-index --find-links /wheels "/packages/$wheel"
    lap "windlass-lab reproduce new-ecn --quick" in_root /opt/lab/bin/windlass-lab reproduce new-ecn --quick --out /tmp/out
    lap "a C program by pkg-config, shared and static" use_libtou
    lap "systemd-analyze verify the proxy's unit" in_root systemd-analyze verify $units/windlass-ecn-proxy.service
    printf '%s\n' "${laps[@]}"
    echo "together $((SECONDS - start)) s"
    [ $((SECONDS - start)) -lt 60 ] || die "that took more than 60 s"
    umount "$root/wheels"
}

# The image holds a Debian root with the package. No registry is asked, and the machine's own images
# stay as they are.
verify_container() {
    local image=localhost/windlass:$version
    own_podman load --quiet --input "$packages/windlass-$version-image.tar" >/dev/null
    in_container "$image" sim run "$sim_example" | grep -q 'fairness index' || die "sim run in a container"
    in_container "$image" doctor simulator || die "doctor in a container"
    ! in_container "$image" link --rate 1M -- true 2>/dev/null || die "link needs no rights; the page says it does"
    in_container --cap-add NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun "$image" \
        link --rate 1M -- true || die "link fails with the rights that the page names"
    own_podman system reset --force >/dev/null 2>&1
}

own_podman() { podman --root "$work/storage" --runroot "$work/run" "$@"; }

# runc, because crun refuses machines with both versions of cgroups; limits that need no right to raise them.
in_container() {
    own_podman --runtime runc --cgroup-manager=cgroupfs run --rm --network=none --ulimit=nofile=1024:4096 \
        --ulimit=nproc=1000:1000 "$@"
}
