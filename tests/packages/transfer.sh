#!/bin/sh
# Sends a file over ToU on loopback by the example file_transfer: transfer.sh PROGRAM
set -eu
head -c 1000000 /dev/urandom >sent
mkfifo port
"$1" receive 0 received >port &
receiver=$!
read -r port <port
"$1" send 127.0.0.1 "$(echo "$port" | tr -dc 0-9)" sent
wait "$receiver"
cmp sent received
rm port sent received
