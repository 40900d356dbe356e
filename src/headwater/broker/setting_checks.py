"""Settings that are well formed, each for itself, but that no broker could work with."""

from difflib import get_close_matches
from ipaddress import ip_address

from headwater.broker.topic_configs import TOPIC_CONFIGS, check_config, check_together
from headwater.config import BrokerSettings, split_address
from headwater.errors import InvalidRequest


def refuse_unusable(settings: BrokerSettings) -> None:
    for name, value in settings.topic_defaults.items():
        try:
            check_config(name, value)
        except InvalidRequest as error:
            raise InvalidRequest(f"topic_defaults: {error.what}", hint=_hint(name)) from error
    check_together({}, settings.topic_defaults)
    shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if shortest > longest:
        raise InvalidRequest(
            f"group_min_session_timeout_ms, {shortest}, is more than "
            f"group_max_session_timeout_ms, {longest}",
            hint="no member of a group could keep to both",
        )


def refuse_unreachable(settings: BrokerSettings) -> None:
    """Clients are told where to connect, and nobody can connect to "every address", or to no port."""
    name = "advertised" if settings.advertised else "listen"
    address = getattr(settings, name)
    host, port = split_address(address, name)
    if settings.advertised and port == 0:
        raise InvalidRequest(
            f"clients cannot connect to {address}: 0 is no port",
            hint="say where they can: --advertised HOST:PORT",
        )
    try:
        is_everywhere = ip_address(host).is_unspecified
    except ValueError:
        return
    if is_everywhere:
        raise InvalidRequest(
            f"clients cannot connect to {address}, which means every address",
            hint="say where they can: --advertised HOST:PORT",
        )


def _hint(name: str) -> str:
    if name in TOPIC_CONFIGS:
        return "see docs/configuration.md for what a topic config may be"
    meant = get_close_matches(name, TOPIC_CONFIGS, n=1)
    return f"meant: {meant[0]}?" if meant else "see docs/configuration.md for all topic configs"
