# shellcheck shell=bash
# Clean Debian 12 roots for scripts/verify-packages: made once, unpacked for each part.

# With systemd for units, Python for the wheel, a C compiler for libtou: all that comes from Debian.
included=systemd,systemd-sysv,dbus,iproute2,procps,gcc,libc6-dev,pkg-config,python3-venv,ca-certificates

# Unmounts everything in $root, the last mount first.
unmount_root() {
    local mounted
    while read -r mounted; do umount "$mounted"; done < <(awk -v at="$root/" 'index($2, at) == 1 {print $2}' /proc/mounts | tac)
}

# Makes a new $root in place of the old one.
unpack_root() {
    if [ ! -f "$cache/root.tar" ]; then
        mkdir -p "$cache"
        say "making a Debian 12 root (some minutes)"
        mmdebstrap --quiet --variant=minbase --include="$included" bookworm "$cache/root.new.tar" http://deb.debian.org/debian
        mv "$cache/root.new.tar" "$cache/root.tar"
    fi
    unmount_root
    rm -rf "$root"
    mkdir "$root"
    tar -xf "$cache/root.tar" -C "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    mkdir -p "$root/packages"
    mount -o bind,ro "$packages" "$root/packages"
}

# Runs a command in $root, with its own mounts and processes.
in_root() {
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# The files of $root, and the sums of those that configure something. Without what apt, dpkg and the
# dynamic linker keep for themselves.
files_of_root() {
    (cd "$root" && find . -xdev \( -path ./packages -o -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o \
        -path ./run -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg \) -prune -o \
        -printf '%p %y %m %u\n' && find etc -type f ! -name ld.so.cache -exec sha256sum {} +) | sort
}

# Boots $root under systemd. Its init's process, for nsenter, goes to $init.
boot_machine() {
    systemd-nspawn --quiet --directory="$root" --machine="windlass-packages-$$" --boot --private-network --register=no --keep-unit \
        --capability=CAP_BPF,CAP_NET_ADMIN,CAP_PERFMON --system-call-filter='bpf perf_event_open' \
        --bind="$packages:/packages" </dev/null >"$work/machine.log" 2>&1 &
    machine=$!
    local _ state
    for _ in $(seq 300); do
        init=$(pgrep --parent "$machine" || true)
        # Also "degraded": units of the root that have nothing to do with the packages may fail.
        [ -n "$init" ] && state=$(in_machine systemctl is-system-running 2>/dev/null || true) || state=
        case $state in running | degraded) return ;; esac
        sleep 0.2
    done
    say "$(tail -n 20 "$work/machine.log")"
    die "the root did not boot"
}

in_machine() { nsenter --target "$init" --all /usr/bin/env DEBIAN_FRONTEND=noninteractive "$@"; }

end_machine() {
    [ -n "${machine:-}" ] || return 0
    # Nothing in it is worth an orderly shutdown. Without its init, systemd-nspawn cleans up and ends.
    kill -KILL "$(pgrep --parent "$machine")" 2>/dev/null || kill "$machine" 2>/dev/null || true
    wait "$machine" 2>/dev/null || true
    machine=
}
