"""The install script puts everything where its own nginx configuration looks for it."""

import os
import subprocess
from pathlib import Path

from ratelimit_fixture import FILTER, MODULES, Nginx, free_port, get, running

WRAPPER = """
user root; worker_processes 1; daemon off; pid {root}/pid; error_log {root}/error.log;
load_module {modules}/ndk_http_module.so; load_module {modules}/ngx_http_lua_module.so;
events {{}}
http {{
  access_log off;
  client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
  uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
  {installed}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      access_by_lua_block {{ require("ratelimit").access() }}
      content_by_lua_block {{ ngx.say("ok") }}
    }}
  }}
}}
"""


def install(root: Path) -> str:
    environment = {**os.environ, "DESTDIR": str(root)}
    command = ["sh", str(FILTER / "install.sh")]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_what_is_installed_runs_in_shadow_mode(folder: Path) -> None:
    assert "access_by_lua_block" in install(folder)
    installed = (folder / "etc/nginx/conf.d/ratelimit.conf").read_text(encoding="utf-8")
    here = installed.replace("/usr/share", f"{folder}/usr/share").replace("/etc/nginx-r", f"{folder}/etc/nginx-r")
    port, metrics = free_port(), free_port()
    here = here.replace("127.0.0.1:9145", f"127.0.0.1:{metrics}")
    config = WRAPPER.format(root=folder, modules=MODULES, installed=here, port=port)
    with running(nginx := Nginx(folder, config, port)):
        answers = [get(nginx) for _ in range(25)]
        assert {a.status_code for a in answers} == {200}


def test_installing_again_keeps_the_rules(folder: Path) -> None:
    install(folder)
    rules = folder / "etc/nginx-ratelimit/plan.json"
    rules.write_text('{"version": 1, "limits": []}', encoding="utf-8")
    install(folder)
    assert rules.read_text(encoding="utf-8") == '{"version": 1, "limits": []}'
