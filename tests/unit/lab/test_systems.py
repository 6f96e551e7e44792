"""What a system file says: which components a scenario calls for, and where load goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from patternbench.cli.up import with_addresses
from patternbench.lab import startable, systems
from patternbench.lab.components import KINDS
from patternbench.lab.systems import SystemFile
from patternbench.terms.problems import InputError
from patternbench.terms.roles import Role

FILE = """\
patternbench-system: 1
name: pair
about: two fronts and a store that only some scenarios use
settings:
  store: {default: memory, about: where the state is}
  distance: {default: 0ms, about: to the store}
components:
  - target: {name: shop}
  - redis: {when: {store: redis}}
  - delay_proxy:
      {name: far, when: {store: [redis, mariadb]}, unless: {distance: 0ms}, to: "${store}", delay: "${distance}"}
  - nginx: &front {name: one, upstream: shop}
  - nginx: {<<: *front, name: two}
endpoint: [one, two]
"""


def system(folder: Path, text: str = FILE) -> SystemFile:
    (folder / "systems").mkdir()
    (folder / "systems" / "pair.yaml").write_text(text)
    return systems.load("pair", folder)


def started(of: SystemFile, **settings: Any) -> list[str]:
    return [name for name, _, _ in of.with_settings(settings)]


def test_a_component_that_a_scenario_does_not_use_is_not_started(tmp_path: Path) -> None:
    pair = system(tmp_path)
    assert started(pair) == ["shop", "one", "two"]
    assert started(pair, store="redis") == ["shop", "redis", "one", "two"]
    assert started(pair, store="redis", distance="25ms") == ["shop", "redis", "far", "one", "two"]
    assert started(pair, store="mariadb", distance="25ms") == ["shop", "far", "one", "two"]


def test_what_the_file_says_about_a_component_is_no_setting_of_it(tmp_path: Path) -> None:
    components = {
        name: fields for name, _, fields in system(tmp_path).with_settings({"store": "redis", "distance": "5ms"})
    }
    assert components["far"] == {"to": "redis", "delay": "5ms"}
    assert components["two"] == {"upstream": "shop"}


def test_the_kinds_are_those_that_some_level_of_a_study_calls_for(tmp_path: Path) -> None:
    pair = system(tmp_path)
    assert pair.kinds({}) == ["target", "nginx", "nginx"]
    assert "redis" in pair.kinds({"store": ["memory", "redis"]})
    assert "delay_proxy" not in pair.kinds({"store": ["redis"], "distance": ["0ms"]})
    assert "delay_proxy" in pair.kinds({"store": ["redis"], "distance": ["0ms", "25ms"]})
    assert pair.kinds() == ["target", "redis", "delay_proxy", "nginx", "nginx"]


def test_load_goes_to_every_endpoint_in_turn(tmp_path: Path) -> None:
    assert system(tmp_path).endpoints({}) == ["one", "two"]


REPLICATED = """\
patternbench-system: 1
name: pair
about: a shop that has replicas, and a proxy in front of it
settings:
  replicas: {default: 2, about: how many shops there are}
components:
  - target: {name: shop, replicas: "${replicas}"}
  - process: {name: caller, command: ["sh", "-c", "exec sleep 60"], env: {SHOPS: "${shop.urls}"}, ready: {log: up}}
  - delay_proxy: {name: far, to: shop, delay: 1ms}
endpoint: [shop, far]
"""


def test_an_entry_with_replicas_is_as_many_components_and_its_name_is_all_of_them(tmp_path: Path) -> None:
    pair = system(tmp_path, REPLICATED)
    assert started(pair) == ["shop-1", "shop-2", "caller", "far"]
    assert pair.endpoints({}) == ["shop-1", "shop-2", "far"]
    assert pair.groups({}) == {"shop": ["shop-1", "shop-2"], "caller": ["caller"], "far": ["far"]}


def test_an_entry_with_one_replica_keeps_its_name(tmp_path: Path) -> None:
    pair = system(tmp_path, REPLICATED)
    assert started(pair, replicas=1) == ["shop", "caller", "far"]
    assert pair.endpoints({"replicas": 1}) == ["shop", "far"]


def test_urls_of_a_name_are_references_to_all_its_components_between_commas(tmp_path: Path) -> None:
    pair = system(tmp_path, REPLICATED)

    def reported(replicas: int) -> str:
        fields = {name: fields for name, _, fields in pair.with_settings({"replicas": replicas})}
        return str(fields["caller"]["env"]["SHOPS"])

    assert reported(1) == "${shop.url}"
    assert reported(2) == "${shop-1.url},${shop-2.url}"


GUARD = """  - envoy: {name: guard, replicas: "${replicas}", upstream: "shop${replica}"}\n"""


def test_a_component_can_name_the_replica_of_another_that_it_stands_before(tmp_path: Path) -> None:
    pair = system(tmp_path, REPLICATED.replace("  - delay_proxy:", f"{GUARD}  - delay_proxy:"))

    def upstreams(replicas: int) -> dict[str, Any]:
        fields = {name: fields for name, _, fields in pair.with_settings({"replicas": replicas})}
        return {name: of["upstream"] for name, of in fields.items() if name.startswith("guard")}

    assert upstreams(1) == {"guard": "shop"}
    assert upstreams(2) == {"guard-1": "shop-1", "guard-2": "shop-2"}


@pytest.mark.parametrize("number", [0, 101, "two", True, 1.5])
def test_a_number_of_replicas_that_is_none_is_a_problem_of_the_setting_that_it_comes_from(
    tmp_path: Path, number: object
) -> None:
    (problem,) = startable.settings_problems(system(tmp_path, REPLICATED), {"replicas": number})
    assert (problem.path, problem.allowed) == ("system.settings.replicas", "a whole number from 1 to 100")


def test_one_component_is_not_taken_for_several_and_the_line_is_named(tmp_path: Path) -> None:
    pair = system(tmp_path, REPLICATED)
    (problem,) = startable.settings_problems(pair, {"replicas": 2})
    assert problem.file == str(tmp_path / "systems" / "pair.yaml")
    assert (problem.line, problem.path) == (9, "far.to")
    assert problem.message == "names 2 components, but one is needed here"
    assert problem.allowed == "shop-1, shop-2"


def test_a_place_that_names_no_setting_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        system(tmp_path, FILE.replace("${store}", "${stroe}"))
    (problem,) = caught.value.problems
    assert (problem.line, problem.path) == (11, "components[2].delay_proxy.to")
    assert problem.hint == "did you mean `store`?"


ARGUMENTS = FILE.replace("redis: {when", "redis: {arguments: WHERE, when")


@pytest.mark.parametrize(
    "where", ["'${stroe}'", "['--to', '${stroe}']", "{to: '${stroe}'}", "[{to: ['a', '${store} or ${stroe}']}]"]
)
def test_a_place_that_names_no_setting_is_found_however_deep_it_stands(tmp_path: Path, where: str) -> None:
    with pytest.raises(InputError) as caught:
        system(tmp_path, ARGUMENTS.replace("WHERE", where))
    (problem,) = caught.value.problems
    assert (problem.message, problem.path) == ("`${stroe}` isn't a setting", "components[1].redis.arguments")


def test_the_settings_in_a_field_are_those_of_all_its_texts(tmp_path: Path) -> None:
    pair = system(tmp_path, ARGUMENTS.replace("WHERE", "['${store}', {far: ['${distance}']}]"))
    assert pair.settings_of("redis", "arguments") == ["store", "distance"]
    assert pair.settings_of("redis", "arguments.1") == ["store", "distance"]
    assert pair.settings_of("far", "delay") == ["distance"]
    assert pair.settings_of("one", "upstream") == []


def test_the_paths_of_a_system_count_from_the_folder_of_its_file(tmp_path: Path) -> None:
    assert system(tmp_path).folder == tmp_path / "systems"


def test_a_condition_on_something_that_is_no_setting_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="redis depends on `shelf`, which isn't a setting"):
        system(tmp_path, FILE.replace("when: {store: redis}", "when: {shelf: redis}"))


def test_every_system_of_ours_names_kinds_that_the_lab_knows() -> None:
    assert {kind for name in systems.names() for kind in systems.load(name).kinds()} <= KINDS.keys()


def test_the_docs_name_every_kind_of_component_with_every_setting() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/write-a-system.md").read_text()
    rows = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `") and line.count(" | ") == 2}
    assert rows.keys() == KINDS.keys()
    for kind, model in KINDS.items():
        assert [name for name in model.model_fields if f"`{name}`" not in rows[kind]] == [], kind


def test_a_setting_without_a_role_is_a_circumstance(tmp_path: Path) -> None:
    spec = system(tmp_path).settings["store"]
    assert (spec.role, spec.unit, spec.none) == (Role.WORLD, None, None)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("{default: memory, none: memory, about: x}", "only a pattern can have a level `none`"),
        ("{default: a, role: pattern, none: b, allowed: [a], about: x}", "none: b is not one of the values allowed"),
        ("{default: 3, unit: duration, about: x}", "the default 3 is not a duration"),
        ("{default: 3, unit: metres, about: x}", "duration"),
        ("{default: 3, role: choice, about: x}", "pattern"),
    ],
)
def test_a_setting_that_contradicts_itself_is_refused(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        system(tmp_path, FILE.replace("{default: memory, about: where the state is}", setting))


def test_a_condition_that_maps_no_setting_to_a_level_is_refused_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"components\[1\].redis.when: is not allowed here .*a mapping"):
        system(tmp_path, FILE.replace("{when: {store: redis}}", "{when: store}"))


def test_a_rule_on_what_is_no_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exclude names `shop`, which isn't a setting"):
        system(tmp_path, FILE.replace("components:", "exclude: [{store: memory, shop: big}]\ncomponents:"))


def test_a_level_that_is_no_duration_where_the_setting_is_one_is_refused(tmp_path: Path) -> None:
    timed = FILE.replace("{default: 0ms, about: to the store}", "{default: 0ms, unit: duration, about: to the store}")
    (problem,) = system(tmp_path, timed).problems({"distance": 25})
    assert str(problem).startswith("system.settings.distance: is not a duration (got 25)")


def test_leases_of_what_computes_times_are_no_scenarios_of_the_shop() -> None:
    shop = systems.load("shop-behind-two-balancers")
    assert shop.refused({"algorithm": "gcra", "synchronisation": "lazy"}) is not None
    assert shop.refused({"algorithm": "gcra"}) is None
    assert shop.refused({"algorithm": "token_bucket", "synchronisation": "eager"}) is None


def test_load_goes_to_those_endpoints_that_are_in_use(tmp_path: Path) -> None:
    either = FILE.replace("endpoint: [one, two]", "endpoint: [redis, shop]")
    pair = system(tmp_path, either)
    assert pair.endpoints({}) == ["shop"]
    assert pair.endpoints({"store": "redis"}) == ["redis", "shop"]


def test_load_may_go_elsewhere_with_some_levels_only(tmp_path: Path) -> None:
    behind = FILE.replace("endpoint: [one, two]", "endpoint: [one, {name: shop, unless: {store: redis}}]")
    pair = system(tmp_path, behind)
    assert pair.endpoints({}) == ["one", "shop"]
    assert pair.endpoints({"store": "redis"}) == ["one"]


def test_a_condition_of_an_endpoint_on_what_is_no_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="endpoint depends on `colour`, which isn't a setting"):
        system(tmp_path, FILE.replace("endpoint: [one, two]", "endpoint: [one, {name: shop, when: {colour: red}}]"))


def test_an_endpoint_that_no_level_of_the_scenario_calls_for_is_reported(tmp_path: Path) -> None:
    pair = system(tmp_path, FILE.replace("endpoint: [one, two]", "endpoint: redis"))
    (problem,) = startable.settings_problems(pair, {})
    assert "load goes to `redis`, which is not among the components in use" in problem.message


def test_what_to_try_first_depends_on_the_levels_and_names_the_addresses(tmp_path: Path) -> None:
    parts = """\
first_request:
  - {text: "curl ${one.url}/items"}
  - {when: {store: redis}, text: "see ${redis.admin}, ${nobody.url}"}
"""
    pair = system(tmp_path, FILE + parts)
    assert pair.first_request_with({}) == "curl ${one.url}/items"
    both = pair.first_request_with({"store": "redis"})
    addresses = {"one": "http://127.0.0.1:1", "redis.admin": "http://127.0.0.1:2"}
    assert with_addresses(both, addresses) == "curl http://127.0.0.1:1/items\nsee http://127.0.0.1:2, ${nobody.url}"


def test_what_to_try_first_can_name_the_account_that_an_address_holds() -> None:
    addresses = {"queue": "amqp://ann:secret@127.0.0.1:1/", "page": "http://127.0.0.1:2"}
    assert with_addresses("${queue.user} ${queue.password} ${page.user}", addresses) == "ann secret ${page.user}"


def test_a_first_request_on_what_is_no_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="first_request depends on `stor`, which isn't a setting"):
        system(tmp_path, FILE + "first_request: [{when: {stor: redis}, text: curl}]\n")


def test_who_holds_a_lease_is_no_scenario_of_the_shop_where_there_is_none() -> None:
    shop = systems.load("shop-behind-two-balancers")
    assert shop.refused({"lease_holder": "balancer"}) is not None
    assert shop.refused({"lease_holder": "balancer", "synchronisation": "lazy"}) is None


GUARDED = """policies:
  - when: {store: redis}
    stack: [{timeout: "${distance}"}, {circuit_breaker: {failure_rate: 50}}]
"""


def test_the_policies_of_a_system_are_those_whose_condition_holds_with_their_levels(tmp_path: Path) -> None:
    pair = system(tmp_path, FILE + GUARDED)
    assert pair.policies_with({}) == []
    ((part, stack),) = pair.policies_with({"store": "redis", "distance": "5ms"})
    assert stack == [{"timeout": "5ms"}, {"circuit_breaker": {"failure_rate": 50}}]
    assert part.named == {"distance"}


def test_a_policy_of_a_system_that_names_no_setting_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        system(tmp_path, FILE + GUARDED.replace("distance", "distanse"))
    (problem,) = caught.value.problems
    assert (problem.path, problem.hint) == ("policies[0].stack", "did you mean `distance`?")
    assert problem.line == len(FILE.splitlines()) + 3


def test_a_field_of_a_component_has_the_setting_that_fills_it_alone(tmp_path: Path) -> None:
    pair = system(tmp_path, ARGUMENTS.replace("WHERE", "{to: ['${store}', {far: '${distance}'}], by: 'a ${store}'}"))
    assert pair.settings_by_field("redis", {"store": "redis"}) == {
        "arguments.to[0]": "store",
        "arguments.to[1].far": "distance",
    }
    assert pair.settings_by_field("redis", {}) == {}, "it is not in use"
