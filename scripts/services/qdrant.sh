#!/usr/bin/env bash
# qdrant.sh - a stand-in for a Qdrant server in tests: Qdrant's own local engine behind the real gRPC protocol
# (qdrant_front.py beside this file; PyPI package qdrant-client). Not the server itself: the known differences stand in that file.
#
#   qdrant.sh install DIR              installs the package into DIR
#   qdrant.sh start   DIR [--port N]   starts it in the background on 127.0.0.1, prints HERMES_TEST_QDRANT_URL=... (also DIR/qdrant.env)
#   qdrant.sh env     DIR              prints that line again
#   qdrant.sh stop    DIR              stops it (pid file DIR/qdrant.pid)
set -euo pipefail

die() { echo "qdrant.sh: $*" >&2; exit 1; }
[ $# -ge 2 ] || { sed -n '2,/^set -euo/{/^#/p}' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
cmd=$1; mkdir -p "$2"; dir=$(cd "$2" && pwd); shift 2
port=
[ "${1:-}" = --port ] && port=$2
py=$dir/qdrant-venv/bin/python pid=$dir/qdrant.pid
export PIP_DISABLE_PIP_VERSION_CHECK=1

running() { [ -f "$pid" ] && tr '\0' ' ' <"/proc/$(cat "$pid")/cmdline" 2>/dev/null | grep -q qdrant_front; }
install() { [ -f "$dir/.qdrant-ok" ] && return; python3 -m venv "$dir/qdrant-venv"; "$py" -m pip install -q qdrant-client==1.20.0; touch "$dir/.qdrant-ok"; }
stop() { if running; then kill "$(cat "$pid")" 2>/dev/null || true; fi; rm -f "$pid"; }

case $cmd in
install) install ;;
start)
  install
  if ! running; then
    [ -n "$port" ] || port=$(python3 -c 'import socket;s=socket.socket();s.bind(("127.0.0.1",0));print(s.getsockname()[1])')
    nohup "$py" "$here/qdrant_front.py" "127.0.0.1:$port" "$dir/qdrant-data" >"$dir/qdrant.log" 2>&1 </dev/null &
    echo $! >"$pid"
    for _ in $(seq 150); do grep -q '^listening' "$dir/qdrant.log" 2>/dev/null && break; running || die "it ended: $(tail -3 "$dir/qdrant.log")"; sleep 0.2; done
    grep -q '^listening' "$dir/qdrant.log" || die "not up after 30 s: $dir/qdrant.log"
    echo "HERMES_TEST_QDRANT_URL=http://127.0.0.1:$port" >"$dir/qdrant.env"
  fi
  cat "$dir/qdrant.env" ;;
env) cat "$dir/qdrant.env" ;;
stop) stop ;;
*) die "unknown command $cmd" ;;
esac
