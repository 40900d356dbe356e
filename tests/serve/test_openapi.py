"""The schema is true: requests made from it, right and wrong, get the answers that it promises."""

import re

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog
from rigs.effort import examples
from serve.conftest import Http

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


# Streams never end: their answers are tested with the subscriptions.
LEFT_OUT = re.compile("subscribe|pause|rebuild")
WITHIN = settings(
    max_examples=examples(25),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_the_server_answers_as_its_schema_says(server: ViewServer, shop: Changelog) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if LEFT_OUT.search(operation.path):
            continue

        @WITHIN
        @given(case=operation.as_strategy(), is_real=st.booleans())
        def ask(case: schemathesis.Case, is_real: bool) -> None:
            if is_real and "view" in (case.path_parameters or {}):
                case.path_parameters["view"] = shop.view.name
            for given_place in (case.query, case.body):
                if isinstance(given_place, dict) and "timeout_s" in given_place:
                    given_place["timeout_s"] = 0.05
            case.call_and_validate(checks=CHECKS, base_url=server.url, timeout=20)

        ask()
        tried.append(operation.path)
    assert len(tried) == 7


def test_every_route_is_described(http_client: Http) -> None:
    status, found = http_client.ask("GET", "/openapi.json")
    assert status == 200
    assert set(found["paths"]) == {
        "/v1/health",
        "/v1/views",
        "/v1/views/{view}",
        "/v1/views/{view}/row",
        "/v1/views/{view}/rows",
        "/v1/views/{view}/pause",
        "/v1/views/{view}/resume",
        "/v1/views/{view}/rebuild",
        "/v1/views/{view}/subscribe",
        "/v1/topics/{topic}/subscribe",
        "/v1/query",
    }
    for path, methods in found["paths"].items():
        for method in methods.values():
            assert method["summary"], path
            assert method["description"], path


def test_the_schema_promises_no_answer_that_is_never_given(http_client: Http) -> None:
    status, schema = http_client.ask("GET", "/openapi.json")
    operations = [each for path in schema["paths"].values() for each in path.values()]
    assert status == 200
    assert {"400", "413", "500", "504"} <= set(operations[0]["responses"])
    assert not [each for each in operations if "422" in each["responses"]]
    assert "ValidationError" not in str(schema)
    assert "securitySchemes" not in schema["components"]


def test_the_schema_says_that_several_receipts_may_be_given(http_client: Http) -> None:
    _, schema = http_client.ask("GET", "/openapi.json")
    (listed,) = (
        each["schema"]["anyOf"]
        for each in schema["paths"]["/v1/views/{view}/rows"]["get"]["parameters"]
        if each["name"] == "wait_for"
    )
    assert [each["type"] for each in listed] == ["array", "null"]
    in_body = schema["components"]["schemas"]["QueryRequest"]["properties"]["wait_for"]["anyOf"]
    assert [each.get("type", "object") for each in in_body] == ["string", "object", "array", "null"]
    assert "is refused (400)" in schema["info"]["description"]


def test_the_schema_says_how_a_token_is_sent(broker: Broker) -> None:
    with ViewServer(broker.bootstrap, token="secret") as server:
        _, schema = Http(server.url, "secret").ask("GET", "/openapi.json")
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    needed = {path for path, each in schema["paths"].items() if "security" in str(each)}
    assert needed == {*schema["paths"]} - {"/v1/health"}
