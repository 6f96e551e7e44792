#!/bin/sh
# Installs the filter on Debian 12's nginx:  sudo sh install.sh
# Writes /usr/share/nginx-ratelimit (the Lua files), /usr/bin/ratelimit (checks and tests rules) and, unless they exist, /etc/nginx-ratelimit/plan.json and
# /etc/nginx/conf.d/ratelimit.conf. It neither restarts nginx nor touches your sites: add the one line that it prints.
# DESTDIR=/some/root installs below another root and installs no packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

if [ -z "$root" ]; then
  [ "$(id -u)" = 0 ] || fail "needs root: sudo sh install.sh"
  command -v apt-get >/dev/null || fail "needs Debian 12 (apt-get not found); by hand: copy lua/ and see README.md"
  # The modules' packages also load them in the right order; lua-resty-core and lua-cjson are what the filter requires,
  # luajit2 what the command does.
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    nginx-light libnginx-mod-http-ndk libnginx-mod-http-lua lua-resty-core lua-cjson luajit2
fi

mkdir -p "$root/usr/share/nginx-ratelimit" "$root/etc/nginx-ratelimit" "$root/etc/nginx/conf.d"
rm -rf "$root/usr/share/nginx-ratelimit/lua" "$root/usr/share/nginx-ratelimit/sql"
cp -R "$here/lua" "$here/sql" "$root/usr/share/nginx-ratelimit/"
chmod -R a+rX "$root/usr/share/nginx-ratelimit"
install -D -m 755 "$here/bin/ratelimit" "$root/usr/bin/ratelimit"
[ -e "$root/etc/nginx-ratelimit/plan.json" ] || cp "$here/examples/first-plan.json" "$root/etc/nginx-ratelimit/plan.json"
[ -e "$root/etc/nginx/conf.d/ratelimit.conf" ] || cp "$here/examples/ratelimit.conf" "$root/etc/nginx/conf.d/ratelimit.conf"

if [ -z "$root" ]; then
  nginx -t || fail "nginx does not accept its configuration; the message above says where"
fi
cat <<'NEXT'
Installed. Two steps are yours:
  1. In each location to be limited, add:  access_by_lua_block { require("ratelimit").access() }
  2. Edit /etc/nginx-ratelimit/plan.json (it is looked at every second), then: systemctl reload nginx
NEXT
