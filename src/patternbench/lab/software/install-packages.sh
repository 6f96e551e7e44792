#!/bin/sh
# Installs Debian packages, as root, and starts none of the services that they bring: `install-packages.sh PACKAGE...`.
# A package starts its service as soon as it is installed (nginx then listens on every interface) unless a policy
# forbids it. The policy is taken away again however this ends; one that was there before is left alone.
set -u
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark='# made by patternbench for the time of one installation'

cleaned() { [ ! -e "$policy" ] || ! grep -qxF "$mark" "$policy" || rm -f "$policy"; }
trap cleaned EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

[ -e "$policy" ] || { printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy" && chmod 755 "$policy"; } || exit
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
# The lists of packages of a fresh machine are empty or old.
install "$@" || { apt-get update -qq && install "$@"; }
