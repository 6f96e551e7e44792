"""An nginx with one of our filters: what it needs, how it is run, and the filter's own template, filled."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from patternbench.lab.config.envoy_config import is_loopback
from patternbench.lab.host.launch import ErrorLog, Stop
from patternbench.lab.host.references import part
from patternbench.lab.software import debian, filters
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration

MODULES = "/usr/lib/nginx/modules"
LUA_FILES = ("resty/core.lua", "ngx/semaphore.lua", "cjson.so")
ERRORS = ErrorLog("error.log", r"\[(emerg|alert|crit|error)\]")
STOP = Stop("SIGQUIT", Duration.parse("5s"))
"""After SIGQUIT, nginx ends with its open requests, and its workers write what they have to the end."""
TEMPLATE = filters.FOLDER / "nginx-ratelimit" / "nginx.conf.template"
UPSTREAM = re.compile(r"^  upstream service \{$.*?^  \}$\n", re.MULTILINE | re.DOTALL)
LOCATION = re.compile(r"^    location / \{$.*?^    \}$\n", re.MULTILINE | re.DOTALL)
"""The blocks of the template that each route has of its own."""


@dataclass(frozen=True)
class PrefixUpstream:
    """The upstream of a prefix: the URLs of its servers, or references to them, and how to trust them."""

    prefix: str
    urls: Sequence[str]
    ca: str | None = None
    verify: bool = True


def need() -> Need:
    """Nginx with its Lua module and what the filters require in Lua, as Debian packages them."""
    modules = debian.exists(f"{MODULES}/ndk_http_module.so", f"{MODULES}/ngx_http_lua_module.so")
    present = debian.find("nginx") is not None and modules and debian.has_lua(*LUA_FILES)
    packages = ("nginx-light", "libnginx-mod-http-ndk", "libnginx-mod-http-lua", "lua-resty-core", "lua-cjson")
    return debian.need("nginx with Lua", present, *packages)


def command() -> tuple[str, ...]:
    """Return the command that runs nginx in the component's own folder, with the configuration there."""
    folder = "${self.folder}"
    return (debian.program("nginx"), "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/{ERRORS.path}")


def filled_once(template: Path, behind: PrefixUpstream, values: Mapping[str, object]) -> str:
    """Return a template with one upstream, and its other values."""
    return _with(template.read_text(encoding="utf-8"), {**_values(behind), **values})


def filled(behind: Sequence[PrefixUpstream], values: Mapping[str, object]) -> str:
    """Return the template with one upstream and one location for each prefix, and its other values."""
    text = TEMPLATE.read_text(encoding="utf-8")
    text = UPSTREAM.sub(_for_each(behind, lambda block, name, _: block.replace("service", name)), text)
    text = LOCATION.sub(_for_each(behind, _location), text)
    return _with(text, values)


def _for_each(
    behind: Sequence[PrefixUpstream], made: Callable[[str, str, PrefixUpstream], str]
) -> Callable[[re.Match[str]], str]:
    """Repeats a block of the template for everything behind, with its values."""

    def repeated(match: re.Match[str]) -> str:
        return "".join(_with(made(match[0], name, one), _values(one)) for name, one in _named(behind))

    return repeated


def _named(behind: Sequence[PrefixUpstream]) -> Iterator[tuple[str, PrefixUpstream]]:
    for number, one in enumerate(behind):
        yield (f"service_{number}" if number else "service"), one


def _location(block: str, name: str, behind: PrefixUpstream) -> str:
    return block.replace("location /", f'location "{behind.prefix}"').replace("://service", f"://{name}")


def _with(text: str, values: Mapping[str, object]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda match: str(values.get(match[1], match[0])), text)


def _values(behind: PrefixUpstream) -> dict[str, str]:
    first = behind.urls[0]
    literal = "://" in first
    base = part(first, "path") if literal else ""
    https = literal and urlsplit(first).scheme == "https"
    servers = (f"server {_address(url)};" for url in behind.urls)
    return {
        "UPSTREAM": "\n    ".join(servers),
        "PATH": base,
        "BASE": f"{base}$request_uri" if base else "",
        "HOST": "$http_host" if is_loopback(first) else part(first, "address"),
        "SCHEME": "https" if https else "http",
        "TLS": "\n      ".join(_tls(behind, urlsplit(first).hostname or "")) if https else "",
    }


def _address(url: str) -> str:
    """Host and port of a URL, or a reference to both."""
    return part(url, "address") if "://" not in url else f"{urlsplit(url).hostname}:{part(url, 'port')}"


def _tls(behind: PrefixUpstream, server: str) -> Iterator[str]:
    """How nginx speaks TLS to a server by its name, and whom it trusts to be that."""
    yield "proxy_ssl_server_name on;"
    yield f"proxy_ssl_name {server};"
    authorities = behind.ca or ssl.get_default_verify_paths().cafile
    if behind.verify and authorities:
        yield "proxy_ssl_verify on;"
        yield "proxy_ssl_verify_depth 9;"
        yield f'proxy_ssl_trusted_certificate "{authorities}";'
