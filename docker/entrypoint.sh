# Takes the password from the file that the server's own image reads (`user/password`), never from a command line.
set -eu
if [ -n "${GRAPHMEM_AUTH_FILE:-}" ]; then
  GRAPHMEM_PASSWORD=$(cut -d/ -f2- "$GRAPHMEM_AUTH_FILE")
  export GRAPHMEM_PASSWORD
fi
[ -n "${GRAPHMEM_SPACE:-}" ] || unset GRAPHMEM_SPACE
exec /opt/graphmem/bin/graphmem "$@"
