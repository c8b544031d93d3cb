#!/bin/bash
# In an emulated machine, which is all ours: a client behind a router with the proxy, a server beyond
# it, and a file each way under busybox's programs. Prints what it finds; status 0 if all is right.
set -u
busybox mkdir /applets && busybox --install -s /applets
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:/applets
fail() {
	echo "FAILED: $*"
	cat /tmp/proxy.log 2>/dev/null
	exit 1
}
within() { # SECONDS COMMAND...: waits until it succeeds
	local left=$(($1 * 5))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.2
	done
}

uname -srm
mkdir -p /run/windlass /etc/windlass /run/netns
for name in client router server; do ip netns add $name || fail "a namespace"; done
ip link add lan netns router type veth peer name eth0 netns client
ip link add wan netns router type veth peer name eth0 netns server
ip -n router address add 10.1.0.1/24 dev lan
ip -n router address add 10.2.0.1/24 dev wan
ip -n client address add 10.1.0.2/24 dev eth0
ip -n server address add 10.2.0.2/24 dev eth0
for pair in router:lan router:wan client:eth0 server:eth0 router:lo client:lo server:lo; do
	ip -n "${pair%:*}" link set "${pair#*:}" up
done
ip -n client route add default via 10.1.0.1
ip -n server route add default via 10.2.0.1
ip netns exec router sysctl -qw net.ipv4.ip_forward=1
# The client never asks for ECN; the server does what a kernel does by default.
ip netns exec client sysctl -qw net.ipv4.tcp_ecn=0
ip netns exec server sysctl -qw net.ipv4.tcp_ecn=2

windlass --version || fail "the binary does not start"
cp /etc/windlass/ecn-proxy.toml.packaged /etc/windlass/ecn-proxy.toml
sed -i 's/^client_side = .*/client_side = ["lan"]/' /etc/windlass/ecn-proxy.toml
service() { ip netns exec router sh /etc/rc.common /etc/init.d/windlass-ecn-proxy "$1"; }
before=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
service start || fail "the init script does not start it"
within 120 windlass ecn-proxy status || fail "the proxy does not answer"
windlass ecn-proxy status
after=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
echo "memory of a start: $((before - after)) KiB; resident: $(awk '/^VmRSS/ { print $2 }' \
	"/proc/$(cat /run/windlass-ecn-proxy.pid)/status") KiB"

mkdir /tmp/pages
dd if=/dev/urandom of=/tmp/pages/file bs=64k count=128 2>/dev/null
ip netns exec server httpd -p 80 -h /tmp/pages || fail "no web server"
# bash's own connections: busybox's wget, linked statically, crashes where it looks the address up.
download() { # PATH: the body of the answer
	local line
	exec 3<>/dev/tcp/10.2.0.2/80 || return 1
	printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
	while IFS= read -r line <&3; do [ "$line" != $'\r' ] || break; done
	cat <&3
	exec 3>&-
}
export -f download
client() { ip netns exec client bash -c "$1"; }
client 'download /file >/tmp/copy' || fail "the download"
wanted=$(sha256sum </tmp/pages/file)
[ "$(sha256sum </tmp/copy)" = "$wanted" ] || fail "the download differs"
ip netns exec server nc -l -p 81 >/tmp/upload </dev/null &
within 20 ip netns exec server sh -c "netstat -ltn | grep -q ':81 '" || fail "the server does not listen"
client 'cat /tmp/copy >/dev/tcp/10.2.0.2/81' || fail "the upload"
wait $!
[ "$(sha256sum </tmp/upload)" = "$wanted" ] || fail "the upload differs"
echo "8 MiB down and up: the same SHA-256"

windlass ecn-proxy stats --json >/tmp/stats.json || fail "no figures"
windlass ecn-proxy stats
count() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" /tmp/stats.json | head -n 1; }
[ "$(count proxied)" -ge 2 ] || fail "connections served: $(count proxied), expected both"
# Of the upload's 5,800 packets.
[ "$(count ect)" -ge 100 ] || fail "packets with ECT: $(count ect)"
service reload || fail "reload"
service stop || fail "stop"
gone() { ! kill -0 "$1"; }
within 20 gone "$(cat /run/windlass-ecn-proxy.pid)" || fail "it does not end"
client 'download /file | cmp - /tmp/pages/file' || fail "afterwards"
echo "all is right"
