"""The local host: what it starts, in which order, and that nothing is left of it whatever happens."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.integration.run.conftest import left_behind

from patternbench.lab.host.launch import ErrorLog, File, Launch, Preparation, Stop
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import Http, LogLine, Port, ReadinessCheck, ReadyLine, SuccessfulCommand
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

SERVER = """
import sys
from http.server import HTTPServer, SimpleHTTPRequestHandler
HTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()
"""
FOREVER = "import time; time.sleep(600)"


def python(name: str, code: str, *arguments: str, ready: ReadinessCheck, **fields: object) -> Launch:
    """A component that is a line of Python."""
    command = (sys.executable, "-u", "-c", code, *arguments)
    return Launch(kind="process", name=name, command=command, ready=ready, **fields)  # type: ignore[arg-type]


def server(name: str, **fields: object) -> Launch:
    """A component that serves the files of its folder."""
    served = {"ports": {"http": 0}, "url": "http://127.0.0.1:${self.port.http}"} | fields
    return python(name, SERVER, "${self.port.http}", ready=Http("http"), **served)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "host") as local:
        yield local


MEETS = """
import pathlib, sys, time
mine, others = (pathlib.Path("..") / name for name in sys.argv[1:])
mine.touch()
while not others.exists():
    time.sleep(0.01)
print("met")
time.sleep(600)
"""


def test_what_does_not_depend_on_each_other_starts_side_by_side(host: LocalHost) -> None:
    """Each of the two becomes ready only when the other one has been started."""
    pairs = [("a", "b"), ("b", "a")]
    host.launch([python(mine, MEETS, f"{mine}.up", f"{others}.up", ready=LogLine("met")) for mine, others in pairs])
    assert set(host.running) == {"a", "b"}


def test_a_component_starts_after_those_that_it_refers_to_and_is_reported_where_they_are(host: LocalHost) -> None:
    asks = "import sys, time, urllib.request as r; print(r.urlopen(sys.argv[1]).status); time.sleep(600)"
    caller = python("caller", asks, "${shop.url}/hello.txt", ready=LogLine("^200$"))
    host.launch([caller, server("shop", files=(File("hello.txt", "hello"),))])
    assert list(host.running) == ["shop", "caller"]


def test_what_stands_on_a_way_is_reached_by_its_consumer_alone(host: LocalHost) -> None:
    prints = python("caller", f"import sys; print('at', sys.argv[1]); {FOREVER}", "${shop.url}", ready=LogLine("^at"))
    near, far = (
        Launch(**{**vars(prints), "name": name, "via": via}) for name, via in (("near", {}), ("far", {"shop": "way"}))
    )
    host.launch([near, far, server("shop"), server("way")])
    shop, way = host.running["shop"].url, host.running["way"].url
    assert host.running["near"].process.written() == f"at {shop}\n"
    assert host.running["far"].process.written() == f"at {way}\n"


def test_ports_of_components_that_start_together_are_all_different(host: LocalHost) -> None:
    many = [
        python(f"c{n}", f"print('up'); {FOREVER}", ready=LogLine("up"), ports=dict.fromkeys("abcde", 0))
        for n in range(3)
    ]
    host.launch(many)
    given = [port for running in host.running.values() for port in running.launch.ports.values()]
    assert len(set(given)) == 15


def test_one_that_fails_is_named_with_its_last_words_and_nothing_is_left_of_the_others(tmp_path: Path) -> None:
    host = LocalHost(tmp_path / "host")
    broken = python("broken", "import sys; sys.exit('no license')", ready=Port("http"), ports={"http": 0})
    never = python("never", FOREVER, ready=LogLine("never"))
    waits = python("waits", FOREVER, ready=LogLine("never"), after=("never",))
    with pytest.raises(StartError, match="broken ended with code 1: no license"):
        host.launch([server("shop"), never, waits, broken])
    assert host.running == {}
    assert left_behind(str(tmp_path)) == []
    assert not (tmp_path / "host" / "waits.log").exists(), "what waits for others is not started any more"


def test_what_is_not_ready_within_its_time_is_given_up(tmp_path: Path) -> None:
    now = iter(range(0, 1000, 5))
    host = LocalHost(tmp_path / "host", clock=lambda: float(next(now)), pause=lambda _: None)
    slow = python("slow", f"print('thinking'); {FOREVER}", ready=LogLine("never"), within=Duration.parse("20s"))
    with pytest.raises(StartError, match="slow did not come up"):
        host.launch([slow])
    assert left_behind(str(tmp_path)) == []


def test_a_port_that_another_process_has_is_refused_instead_of_taking_its_answers(
    tmp_path: Path, host: LocalHost
) -> None:
    host.launch([server("shop")])
    taken = host.running["shop"].launch.ports["http"]
    with pytest.raises(StartError, match=f"second cannot use port {taken}: Address already in use"):
        LocalHost(tmp_path / "other").launch([server("second", ports={"http": taken})])


def test_what_components_need_and_this_machine_lacks_is_reported_before_any_is_started(tmp_path: Path) -> None:
    lacking = [Need("mongodb", None, "type `patternbench doctor --install`"), Need("kafka", None, "get Kafka")]
    with pytest.raises(StartError, match=r"mongodb is not installed: type .*; kafka is not installed: get Kafka"):
        LocalHost(tmp_path / "host").launch([server("shop", needs=tuple(lacking))])
    assert not (tmp_path / "host").exists()


def test_a_reference_that_leads_nowhere_is_refused_before_any_is_started(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="refers to `shpo`"):
        LocalHost(tmp_path / "host").launch([server("shop"), server("one", env={"SHOP": "${shpo.url}"})])
    with pytest.raises(StartError, match=r"one refers to \$\{shop\.gossip\}, which doesn't exist"):
        LocalHost(tmp_path / "host").launch([server("shop"), server("one", env={"SHOP": "${shop.gossip}"})])
    assert left_behind(str(tmp_path)) == []


def test_preparations_are_done_in_their_order_before_the_start_and_read_their_input(host: LocalHost) -> None:
    steps = (Preparation(("sh", "-c", "cat >first"), input="in.txt"), Preparation(("sh", "-c", "cat first >second")))
    shop = server("shop", files=(File("in.txt", "from ${self.user}"),), prepare=steps)
    host.launch([shop])
    with urlopen(f"{host.running['shop'].url}/second") as answer:
        assert answer.read().decode() == f"from {host.running['shop'].account.user}"


MAKES_ONCE = """
import pathlib, sys, time
made, log = map(pathlib.Path, sys.argv[1:])
with log.open("a") as lines:
    print("making", file=lines)
time.sleep(0.2)
made.touch()
"""


def test_components_that_start_side_by_side_and_need_the_same_file_make_it_once(
    tmp_path: Path, host: LocalHost
) -> None:
    made, log = str(tmp_path / "made"), str(tmp_path / "log")
    step = Preparation((sys.executable, "-c", MAKES_ONCE, made, log), makes=made)
    place = Preparation(("cp", made, f"{made}.copy"), makes=f"{made}.copy")
    host.launch([server(name, prepare=(step, place)) for name in ("shop-1", "shop-2", "shop-3")])
    assert Path(log).read_text() == "making\n"
    assert Path(f"{made}.copy").exists()


def test_a_preparation_is_left_out_where_the_file_that_it_makes_is_there(tmp_path: Path, host: LocalHost) -> None:
    (tmp_path / "made").touch()
    steps = tuple(
        Preparation(("touch", "${self.folder}/" + name), makes=str(tmp_path / name)) for name in ("made", "lacking")
    )
    host.launch([server("shop", prepare=steps)])
    assert [path.name for path in host.running["shop"].folder.iterdir()] == ["lacking"]


UNTIL_STOPPED = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path(sys.argv[1]).write_text("ended"), sys.exit()))
print("up")
while True: time.sleep(0.05)
"""


def test_a_start_before_the_first_is_stopped_as_soon_as_it_is_ready(host: LocalHost) -> None:
    rehearsal = Preparation((sys.executable, "-u", "-c", UNTIL_STOPPED, "first"), until_ready=True)
    host.launch([python("one", UNTIL_STOPPED, "second", ready=LogLine("^up$"), prepare=(rehearsal,))])
    assert [path.name for path in host.running["one"].folder.iterdir()] == ["first"]
    assert host.running["one"].process.alive


def test_a_preparation_that_fails_is_the_cause(tmp_path: Path) -> None:
    fails = Preparation(("sh", "-c", "echo disk full >&2; exit 3"))
    with pytest.raises(StartError, match="sh ended with code 3: disk full"):
        LocalHost(tmp_path / "host").launch([server("shop", prepare=(fails,))])


def test_files_and_folder_of_a_component_are_its_accounts_alone(host: LocalHost) -> None:
    secret = File("conf/secret.txt", "${self.secret.password}")
    host.launch([server("shop", files=(secret,), secrets=("password",))])
    folder = host.running["shop"].folder
    assert (folder / "conf" / "secret.txt").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == (folder / "conf").stat().st_mode & 0o777 == 0o700
    assert len((folder / "conf" / "secret.txt").read_text()) == 32


def test_a_component_that_writes_a_lot_is_not_held_up(host: LocalHost) -> None:
    """More than a pipe takes that no one reads."""
    host.launch(
        [python("chatty", "print('x' * 1_000_000); print('up'); import time; time.sleep(600)", ready=LogLine("^up$"))]
    )
    assert "chatty" in host.running


def test_what_a_component_announces_makes_its_url(host: LocalHost) -> None:
    says = """import json, time; print(json.dumps({"listening": "127.0.0.1:4711"})); time.sleep(600)"""
    host.launch([python("own", says, ready=ReadyLine("listening"), url="http://${self.said.listening}")])
    assert host.running["own"].url == "http://127.0.0.1:4711"


def test_what_was_written_by_an_earlier_start_makes_no_one_ready(tmp_path: Path) -> None:
    here = "pathlib.Path('../../once')"
    once = f"import pathlib; print('' if {here}.exists() else 'up'); {here}.touch(); {FOREVER}"
    with LocalHost(tmp_path / "host") as first:
        first.launch([python("one", once, ready=LogLine("^up$"))])
    second = LocalHost(tmp_path / "host")
    with pytest.raises(StartError):
        second.launch([python("one", once, ready=LogLine("^up$"), within=Duration.parse("500ms"))])
    assert (tmp_path / "host" / "one.log").read_text() == "up\n\n"


def test_a_probe_of_its_own_makes_a_component_ready(host: LocalHost) -> None:
    late = "import pathlib, time; time.sleep(0.3); pathlib.Path('done').touch(); time.sleep(600)"
    host.launch([python("late", late, ready=SuccessfulCommand(("test", "-e", "${self.folder}/done")))])
    assert (host.running["late"].folder / "done").exists()


def test_why_a_component_did_not_come_up_is_read_from_its_log_of_errors(tmp_path: Path) -> None:
    code = (
        "import sys; open('error.log', 'w').write('[notice] hello\\n[emerg] bad plan\\n[notice] bye\\n'); sys.exit(1)"
    )
    launch = python("proxy", code, ready=LogLine("never"), errors=ErrorLog("error.log", r"\[emerg\]"))
    with pytest.raises(StartError, match=r"^proxy did not come up: \[emerg\] bad plan \| \[notice\] bye$"):
        LocalHost(tmp_path / "host").launch([launch])


def test_a_component_is_started_again_at_the_same_address_and_with_its_files(host: LocalHost) -> None:
    host.launch([server("shop", files=(File("hello.txt", "hello"),))])
    shop = host.running["shop"]
    before = [process.pid for process in shop.process.family()]
    shop.process.signal("SIGKILL")
    assert shop.process.ended(10)
    assert "shop ended with code 137" in host.dead()[0]
    host.restart("shop")
    assert host.dead() == []
    assert before != [process.pid for process in shop.process.family()]
    with urlopen(f"{shop.url}/hello.txt") as answer:
        assert answer.read() == b"hello"


LAST_WORDS = """
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path("last").write_text("words")
    sys.exit()
signal.signal(signal.SIGQUIT, end)
print("up")
while True: time.sleep(1)
"""


def test_a_component_that_is_finished_has_written_its_last(host: LocalHost) -> None:
    host.launch([python("one", LAST_WORDS, ready=LogLine("up"), stop=Stop("SIGQUIT", Duration.parse("10s")))])
    host.finish("one")
    assert (host.running["one"].folder / "last").read_text() == "words"


def test_a_grace_of_whole_minutes_is_one_for_the_guard_too(host: LocalHost) -> None:
    stop = Stop("SIGQUIT", Duration.parse("60s"))
    host.launch([python("one", LAST_WORDS, ready=LogLine("up"), stop=stop)])
    host.finish("one")
    assert (host.running["one"].folder / "last").read_text() == "words"


def test_one_that_does_not_finish_in_its_time_is_reported(host: LocalHost) -> None:
    stop = Stop("SIGURG", Duration.parse("200ms"))
    host.launch([python("one", f"print('up'); {FOREVER}", ready=LogLine("up"), stop=stop)])
    with pytest.raises(StartError, match="one did not end within 200ms, so its files may be incomplete"):
        host.finish("one")


STARTS = """
import sys
from pathlib import Path
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.launch import Launch, Preparation
from patternbench.lab.host.ready import LogLine
sleep = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)")
launches = [
    Launch("process", "ready", sleep, LogLine("up")),
    Launch("process", "never", sleep, LogLine("never")),
    Launch("process", "preparing", sleep, LogLine("up"), prepare=(Preparation(sleep),)),
]
with LocalHost(Path(sys.argv[1])) as host:
    host.launch(launches)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_we_are_ended_while_components_start(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTS, tmp_path], stderr=subprocess.PIPE, text=True) as starting:
        until(lambda: all((tmp_path / f"{name}.log").exists() for name in ("ready", "never", "preparing")))
        until(lambda: "up" in (tmp_path / "preparing.log").read_text())
        starting.send_signal(number)
        starting.communicate(timeout=60)
    until(lambda: left_behind(str(tmp_path)) == [])
    assert starting.returncode != 0


def until(reached: Callable[[], bool], seconds: float = 30.0) -> None:
    """Return once something is so; fail when it is not within a time."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
