#!/bin/sh
# SPDX-License-Identifier: MIT
# A wire between two networks of their own, for as long as a command runs at one end of it:
#
#   sh wire.sh COMMAND ARGUMENT...
#
# COMMAND is at 192.0.2.1; $FAR_END PROGRAM... runs a program, a server say, at 192.0.2.2.  $PULL_WIRE
# takes the far end's link down, as a cable does that is pulled out of the server: packets vanish, and
# nobody is told.  $PLUG_WIRE brings it back.  There is no other network, and process ids are new ones.
# Networks and processes vanish with this script, however it ends.  77: such a thing cannot be had here.
set -eu

skip() {
    echo "skipped: no network of our own: $*" >&2
    exit 77
}

[ $# -ge 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
if [ "$1" != --inside ]; then
    export PATH="${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin"
    command -v ip >/dev/null || skip "there is no ip (Debian: iproute2)"
    command -v setpriv >/dev/null || skip "there is no setpriv (Debian: util-linux)"
    inside="unshare --net --pid --mount-proc --fork --kill-child"
    $inside ip link add wire type veth peer name far 2>/dev/null ||
        skip "it needs root, the right to make name spaces, and a kernel with veth"
    # unshare alone would not listen to SIGTERM, and not end with us.
    exec 8<&0
    # shellcheck disable=SC2086 # a list of words
    setpriv --pdeathsig KILL $inside sh "$0" --inside "$@" <&8 8<&- &
    trap 'kill -KILL $!; exit 143' INT TERM HUP
    code=0
    wait $! || code=$?
    exit $code
fi

shift
unshare --net sleep infinity &
far=$!
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
    kill -0 $far || exit 1
    sleep 0.01
done
export FAR_END="nsenter --net=/proc/$far/ns/net --"
export PULL_WIRE="$FAR_END ip link set far down"
export PLUG_WIRE="$FAR_END ip link set far up"
ip link set lo up
ip link add wire type veth peer name far netns $far
for device in all wire; do # a pulled wire is to swallow what is sent, and not to be told of
    echo 0 >/proc/sys/net/ipv4/conf/$device/ignore_routes_with_linkdown 2>/dev/null || :
done
ip address add 192.0.2.1/24 dev wire
ip link set wire up
$FAR_END ip link set lo up
$FAR_END ip address add 192.0.2.2/24 dev far
$PLUG_WIRE
code=0
"$@" || code=$?
exit $code
