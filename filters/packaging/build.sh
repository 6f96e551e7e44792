#!/bin/sh
# Builds the Debian 12 packages of the filter and of the sidecar:  sh build.sh FOLDER
# The same sources and the same Go give the same bytes, wherever they are (SOURCE_DATE_EPOCH is the time of the files in the
# packages; without it, that of the last commit).
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
filters=$(dirname "$here")

fail() {
  echo "build.sh: $1" >&2
  exit 2
}

case $#${1:-} in
  1-*) fail "no option is called $1; write: sh build.sh FOLDER" ;;
  1*) ;;
  *) fail "write: sh build.sh FOLDER" ;;
esac
for program in dpkg-deb go; do
  command -v "$program" >/dev/null || fail "needs $program on PATH"
done

version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' "$filters/crdt-sidecar/settings.go")
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$filters" log -1 --format=%ct)} || fail "set SOURCE_DATE_EPOCH: this isn't a checkout"
export SOURCE_DATE_EPOCH
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The files of a package with the same owner, modes and times wherever they are built, and the package.
pack() { # NAME ARCHITECTURE
  root=$work/$1
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' md5sum > DEBIAN/md5sums)
  size=$(find "$root" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{ kb += int(($1 + 1023) / 1024) } END { print kb }')
  sed -i "s/@VERSION@/$version/; s/@ARCHITECTURE@/$2/; s/@SIZE@/$size/" "$root/DEBIAN/control"
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group --uniform-compression -Zxz --threads-max=1 --build "$root" "$out/$1_${version}_$2.deb" >/dev/null
  echo "$out/$1_${version}_$2.deb"
}

place() { # MODE FILE WHERE
  mkdir -p "$(dirname "$3")"
  install -m "$1" "$2" "$3"
}

place_all() { # FOLDER WHERE
  (cd "$1" && find . -type f -printf '%P\n') | while read -r file; do
    place 644 "$1/$file" "$2/$file"
  done
}

filter() {
  root=$work/nginx-ratelimit from=$filters/nginx-ratelimit
  for file in control conffiles; do
    place 644 "$here/nginx-ratelimit/$file" "$root/DEBIAN/$file"
  done
  place_all "$from/lua" "$root/usr/share/nginx-ratelimit/lua"
  place_all "$from/sql" "$root/usr/share/nginx-ratelimit/sql"
  place_all "$from/alerts" "$root/usr/share/doc/nginx-ratelimit/alerts"
  place_all "$from/examples" "$root/usr/share/doc/nginx-ratelimit/examples"
  place 644 "$from/README.md" "$root/usr/share/doc/nginx-ratelimit/README.md"
  place 644 "$from/nginx.conf.template" "$root/usr/share/doc/nginx-ratelimit/examples/nginx.conf.template"
  place 644 "$here/copyright" "$root/usr/share/doc/nginx-ratelimit/copyright"
  place 755 "$from/bin/ratelimit" "$root/usr/bin/ratelimit"
  place 644 "$from/examples/first-plan.json" "$root/etc/nginx-ratelimit/plan.json"
  place 644 "$from/examples/ratelimit.conf" "$root/etc/nginx/conf.d/ratelimit.conf"
  pack nginx-ratelimit all
}

build_sidecar() { # WHERE
  (cd "$filters/crdt-sidecar" && CGO_ENABLED=0 go build -p 2 -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$1" .)
}

# The licences of the modules that the binary contains; the sources of those under the MPL are where their paths say.
licences() {
  cat "$here/copyright"
  format='{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}'
  (cd "$filters/crdt-sidecar" && CGO_ENABLED=0 go list -deps -f "$format" .) | LC_ALL=C sort -u > "$work/modules"
  while read -r module its_version folder; do
    printf '\n---- %s %s\n\n' "$module" "$its_version"
    cat "$folder"/LICENSE* || fail "$module has no licence in the cache of modules; write: go mod download"
  done < "$work/modules"
}

sidecar() {
  root=$work/crdt-sidecar from=$filters/crdt-sidecar
  build_sidecar "$work/sidecar"
  place 644 "$here/crdt-sidecar/control" "$root/DEBIAN/control"
  place 644 "$here/crdt-sidecar/conffiles" "$root/DEBIAN/conffiles"
  for script in postinst prerm postrm; do
    place 755 "$here/crdt-sidecar/$script" "$root/DEBIAN/$script"
  done
  place 755 "$work/sidecar" "$root/usr/bin/crdt-sidecar"
  place 644 "$here/crdt-sidecar/crdt-sidecar.service" "$root/lib/systemd/system/crdt-sidecar.service"
  place 644 "$here/crdt-sidecar/default" "$root/etc/default/crdt-sidecar"
  place 644 "$from/README.md" "$root/usr/share/doc/crdt-sidecar/README.md"
  licences > "$work/licences"
  place 644 "$work/licences" "$root/usr/share/doc/crdt-sidecar/copyright"
  pack crdt-sidecar "$architecture"
}

filter
sidecar
