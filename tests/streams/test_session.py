"""A Spark that goes away is an exception for who uses it, not pages on the terminal."""

import pytest
from py4j import protocol
from py4j.java_gateway import GatewayClient


class CutOff:
    """A connection that breaks while the answer is waited for."""

    def send_command(self, command: str) -> str:
        raise protocol.Py4JNetworkError(command, when=protocol.ERROR_ON_RECEIVE)

    def close(self, reset: bool) -> None:
        pass


@pytest.mark.usefixtures("spark")
def test_what_py4j_raises_it_does_not_print_as_well(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = GatewayClient()
    monkeypatch.setattr(client, "_get_connection", CutOff)
    assert client.send_command("wait") == protocol.ERROR
    assert caplog.records == []
