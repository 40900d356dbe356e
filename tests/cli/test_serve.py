"""`headwater serve` and `headwater dev` as processes: what they print, and how they end."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import jsonschema
import pytest
from confluent_kafka.admin import AdminClient

from cli.test_json_contract import SCHEMAS, strict


@contextmanager
def running(*arguments: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def finished(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwater", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", ["serve", "dev"])
def test_addresses_are_printed_and_followed(command: str, tmp_path: Path) -> None:
    with running(command, "--listen", "127.0.0.1:0", "--json", folder=tmp_path) as broker:
        addresses = json.loads(first_line(broker))
        jsonschema.validate(addresses, strict(SCHEMAS[f"headwater {command}"]))
        found = json.loads((tmp_path / ".headwater/broker.json").read_text())
        assert found == {"bootstrap": addresses["kafka"], "pid": broker.pid}
        listed = finished("topic", "list", folder=tmp_path)
        assert (listed.returncode, listed.stderr) == (0, "")


@pytest.fixture
def hang_ups_are_heard() -> Iterator[None]:
    """Also where the tests run under nohup, which a broker would follow."""
    found = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, found)


@pytest.mark.usefixtures("hang_ups_are_heard")
@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_is_a_clean_shutdown(signalled: signal.Signals, tmp_path: Path) -> None:
    with running("serve", "--listen", "127.0.0.1:0", folder=tmp_path) as broker:
        assert first_line(broker).startswith("Kafka 127.0.0.1:")
        broker.send_signal(signalled)
        assert broker.wait(timeout=20) == 0
    assert (tmp_path / ".headwater/clean-shutdown").exists()
    assert not (tmp_path / ".headwater/broker.json").exists()


def test_dev_takes_a_free_port_when_its_own_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 9092))
        except OSError:
            pass  # somebody else has it: that will do
        else:
            taken.listen()
        with running("dev", "--json", folder=tmp_path) as broker:
            address = json.loads(first_line(broker))["kafka"]
            assert address != "127.0.0.1:9092"


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        yield f"127.0.0.1:{somebody.getsockname()[1]}"


def test_dev_serves_views_at_a_free_port_when_that_of_its_folder_is_taken(
    tmp_path: Path, taken: str
) -> None:
    (tmp_path / "headwater.toml").write_text(f'[broker]\nhttp = "{taken}"\n')
    with running("dev", "--listen", "127.0.0.1:0", "--json", folder=tmp_path) as broker:
        assert "kafka" in json.loads(first_line(broker))
        address = json.loads(first_line(broker))["http"]
        assert address.startswith("http://127.0.0.1:")
        assert not address.endswith(taken)


@pytest.mark.parametrize("command", ["serve", "dev"])
def test_port_of_the_views_that_is_taken_is_one_sentence(
    command: str, tmp_path: Path, taken: str
) -> None:
    result = finished(command, "--listen", "127.0.0.1:0", "--http", taken, folder=tmp_path)
    assert result.returncode == 4
    assert result.stderr.splitlines() == [
        f"error: cannot serve views on {taken}: address already in use",
        "hint: is another server running there? choose another --http",
    ]


def test_second_dev_in_a_folder_says_where_the_first_is(tmp_path: Path) -> None:
    with running("dev", "--listen", "127.0.0.1:0", "--json", folder=tmp_path) as broker:
        address = json.loads(first_line(broker))["kafka"]
        second = finished("dev", folder=tmp_path)
        assert second.returncode == 5
        assert second.stderr.splitlines() == [
            f"error: the broker of this folder runs already, at {address}",
            f"hint: commands in this folder find it; to stop it: kill {broker.pid}",
        ]
        broker.kill()
        broker.wait()
    assert (tmp_path / ".headwater/broker.json").exists(), "nobody was left to remove it"
    with running("dev", "--listen", "127.0.0.1:0", "--json", folder=tmp_path) as broker:
        assert json.loads(first_line(broker))["kafka"]


def test_advertised_address_is_what_clients_are_told(tmp_path: Path) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--advertised", "broker.example:1234", "--json")
    with running("serve", *arguments, folder=tmp_path) as broker:
        assert json.loads(first_line(broker))["kafka"] == "broker.example:1234"


def test_second_broker_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with running("serve", "--listen", "127.0.0.1:0", folder=tmp_path) as broker:
        first_line(broker)
        second = finished("serve", "--listen", "127.0.0.1:0", folder=tmp_path)
    assert second.returncode == 5
    assert second.stderr.startswith("error: another broker is using ")
    assert "hint: stop it" in second.stderr


def test_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = finished("serve", "--listen", address, folder=tmp_path)
    assert result.returncode == 4
    assert result.stderr.splitlines()[0].startswith(f"error: cannot listen on {address}")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--listen", "nowhere"), "listen 'nowhere' is not HOST:PORT"),
        (
            ("--listen", "0.0.0.0:0"),
            "clients cannot connect to 0.0.0.0:0, which means every address",
        ),
        (("--advertised", "[::]:1"), "clients cannot connect to [::]:1, which means every address"),
        (("--num-partitions", "many"), "num_partitions must be a whole number, not 'many'"),
        (("--topic-defaults", "retention.ms=x"), "Invalid value x for configuration retention.ms"),
        (("--topic-defaults", "retention.mss=1"), "meant: retention.ms?"),
        (("--advertised", "broker.example:0"), "0 is no port"),
        (("--group-max-session-timeout-ms", "10"), "is more than group_max_session_timeout_ms, 10"),
        (("--log-level", "loud"), "log_level must be debug, info, warning or error, not 'loud'"),
    ],
)
def test_bad_setting_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    result = finished("serve", *arguments, folder=tmp_path)

    assert result.returncode == 2
    assert sentence.lower() in result.stderr.lower()
    assert "Traceback" not in result.stderr


def test_print_config_names_the_origin_of_each_value(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text("[broker]\nmax_connections = 7\nnum_partitions = 2\n")
    result = finished(
        "serve",
        "--print-config",
        "--json",
        "--num-partitions",
        "4",
        folder=tmp_path,
        HEADWATER_LOG_LEVEL="debug",
    )

    rows = {each["setting"]: each for each in map(json.loads, result.stdout.splitlines())}
    found = {name: (row["value"], row["origin"]) for name, row in rows.items()}
    assert found["num_partitions"] == (4, "--num-partitions")
    assert found["log_level"] == ("debug", "HEADWATER_LOG_LEVEL")
    assert found["max_connections"] == (7, "headwater.toml")
    assert found["listen"] == ("127.0.0.1:9092", "default")


def test_metrics_are_served_on_their_own_port(tmp_path: Path) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--json")
    with running("serve", *arguments, folder=tmp_path) as broker:
        addresses = json.loads(first_line(broker))
        AdminClient({"bootstrap.servers": addresses["kafka"]}).list_topics(timeout=10)
        with urlopen(f"http://{addresses['metrics']}/metrics") as response:
            body = response.read().decode()
    assert 'headwater_requests_total{api="Metadata"}' in body
    assert "headwater_connections " in body


def test_port_of_the_metrics_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ("--listen", "127.0.0.1:0", "--metrics", address)
        result = finished("serve", *arguments, folder=tmp_path)
    assert result.returncode == 4
    assert result.stderr.splitlines() == [
        f"error: cannot serve metrics on {address}: address already in use",
        "hint: is another broker running there? choose another --metrics",
    ]


def test_a_silent_visitor_of_the_metrics_is_no_error_at_the_end(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = (
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        f"127.0.0.1:{port}",
        "--log-format",
        "json",
    )
    with running("serve", *arguments, folder=tmp_path) as broker:
        first_line(broker)
        with socket.create_connection(("127.0.0.1", port)) as silent:
            silent.sendall(b"GET")
            # Somebody who came later has been answered: the silent one is being listened to.
            with urlopen(f"http://127.0.0.1:{port}/metrics") as response:
                response.read()
            broker.send_signal(signal.SIGTERM)
            _, errors = broker.communicate(timeout=20)
    assert [json.loads(line)["message"] for line in errors.splitlines()] == ["stopping"]


def test_logs_are_json_lines_when_asked(tmp_path: Path) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--log-format", "json")
    with running("serve", *arguments, folder=tmp_path) as broker:
        first_line(broker)
        broker.send_signal(signal.SIGTERM)
        _, errors = broker.communicate(timeout=20)
    documents = [json.loads(line) for line in errors.splitlines()]
    assert [each["message"] for each in documents] == ["stopping"]
    assert {"time", "level", "logger"} <= documents[0].keys()
