"""The manifests for Kubernetes in the documentation are what KubeRay's schema allows, and say what a run needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from scripts.kuberay_schema import manifests

from patternbench.cli.run import run

SCHEMAS = json.loads((Path(__file__).parent / "kuberay.schema.json").read_text())["schemas"]
Manifest = dict[str, Any]
ALL = manifests()


def check(manifest: Manifest) -> None:
    Draft202012Validator(SCHEMAS[manifest["kind"]]).validate(manifest)


def cluster_of(manifest: Manifest) -> Manifest:
    spec: Manifest = manifest["spec"]
    return spec.get("rayClusterSpec", spec)


CLUSTERS = [cluster_of(one) for one in ALL if one["kind"] in ("RayCluster", "RayJob")]


@pytest.mark.parametrize("manifest", ALL, ids=lambda one: str(one["kind"]))
def test_each_manifest_is_what_the_schema_of_its_kind_allows(manifest: Manifest) -> None:
    check(manifest)


def _misspelt(spec: Manifest) -> None:
    spec["workerGroupSpec"] = spec.pop("workerGroupSpecs")


def _a_number(spec: Manifest) -> None:
    spec["headGroupSpec"]["rayStartParams"]["num-cpus"] = 0


def _no_name(spec: Manifest) -> None:
    del spec["workerGroupSpecs"][0]["groupName"]


def _a_list(spec: Manifest) -> None:
    spec["headGroupSpec"]["template"]["spec"]["containers"][0]["env"] = ["RAY_AUTH_MODE=token"]


@pytest.mark.parametrize("slip", [_misspelt, _a_number, _no_name, _a_list])
def test_a_slip_in_a_manifest_is_found(slip: Callable[[Manifest], None]) -> None:
    for manifest in (deepcopy(one) for one in ALL if one["kind"] in ("RayCluster", "RayJob")):
        slip(cluster_of(manifest))
        with pytest.raises(ValidationError):
            check(manifest)


@pytest.mark.parametrize("spec", CLUSTERS)
def test_lanes_have_whole_machines_and_the_head_measures_nothing(spec: Manifest) -> None:
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    (lanes,) = spec["workerGroupSpecs"]
    assert lanes["replicas"] == lanes["minReplicas"] == lanes["maxReplicas"]
    (lane,) = lanes["template"]["spec"]["containers"]
    assert lane["resources"]["requests"] == lane["resources"]["limits"]
    (apart,) = lanes["template"]["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert apart["labelSelector"]["matchLabels"].items() <= lanes["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("manifest", [one for one in ALL if "Ray" in one["kind"]], ids=lambda one: str(one["kind"]))
def test_all_pods_run_one_image_know_the_token_and_report_no_usage(manifest: Manifest) -> None:
    spec = cluster_of(manifest)
    submitter = [manifest["spec"]["submitterPodTemplate"]] if manifest["kind"] == "RayJob" else []
    templates = [spec["headGroupSpec"]["template"], *(group["template"] for group in spec["workerGroupSpecs"])]
    containers = [one for template in [*templates, *submitter] for one in template["spec"]["containers"]]
    assert len({container["image"] for container in containers}) == 1
    for environment in ({one["name"]: one for one in container["env"]} for container in containers):
        assert environment["RAY_AUTH_MODE"]["value"] == "token"
        assert environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "patternbench-lanes"
        assert environment["RAY_USAGE_STATS_ENABLED"]["value"] == "0"


def test_the_job_runs_a_command_that_we_have_on_as_many_lanes_as_it_asks_for() -> None:
    (job,) = (one["spec"] for one in ALL if one["kind"] == "RayJob")
    program, verb, *words = job["entrypoint"].split()
    options = run.make_context("run", words).params
    assert (program, verb, job["backoffLimit"]) == ("patternbench", "run", 0)
    assert options["on"].startswith("ray:")
    assert options["lanes"] == job["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"]
