"""Every setting of broker and views: its default, its meaning, and where a value came from.

A value is taken from the first place that has it: a flag, a `HEADWATER_*` variable, `headwater.toml`, the
default. Names are the same everywhere: `max_connections`, `--max-connections`, HEADWATER_MAX_CONNECTIONS.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from headwater.errors import InvalidRequest

PROJECT_FILE: Final = "headwater.toml"
ENVIRONMENT_PREFIX: Final = "HEADWATER_"
MiB: Final = 1 << 20
INT_32: Final = 2**31 - 1
"""The largest number that Kafka's protocol has room for, in most places."""


def setting(
    default: Any,
    meaning: str,
    lowest: int = 1,
    *,
    highest: int = 2**63 - 1,
    is_secret: bool = False,
) -> Any:
    """Declare a setting; a number lies between `lowest` and `highest`, a secret is never shown."""
    factory: dict[str, Any] = (
        {"default_factory": dict} if isinstance(default, dict) else {"default": default}
    )
    limits = {"lowest": lowest, "highest": highest}
    metadata = {"meaning": meaning, **limits, "is_secret": is_secret}
    return field(metadata=metadata, **factory)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The broker, on one screen."""

    data: str = setting(".headwater", "directory that holds everything the broker stores")
    listen: str = setting("127.0.0.1:9092", "address to accept Kafka clients on")
    advertised: str = setting("", "address clients are told to connect to; default: listen")
    metrics: str = setting("", "address to serve Prometheus metrics on; empty: none")
    http: str = setting("", "address to serve views on, in a process of its own; empty: none")
    log_level: str = setting("info", "debug, info, warning or error")
    log_format: str = setting("text", "text or json")
    auto_create_topics: bool = setting(True, "create a topic when a client first asks for it")
    num_partitions: int = setting(
        1, "partitions of a topic created without a number", highest=10_000
    )
    topic_defaults: dict[str, str] = setting({}, "topic configs for topics that do not set them")
    max_connections: int = setting(4096, "further connections are closed at once")
    max_request_bytes: int = setting(100 * MiB, "largest produce request", highest=INT_32)
    max_idle_ms: int = setting(600_000, "a connection without a request for so long is closed")
    fetch_memory_bytes: int = setting(
        64 * MiB, "memory for answers that readers have not taken yet", lowest=0
    )
    flush_ms: int = setting(
        100, "acks=0 and acks=1 are synced within; flush.ms may ask for less", lowest=0
    )
    retention_check_ms: int = setting(300_000, "how often old segments are looked for")
    compaction_check_ms: int = setting(15_000, "how often compacted topics are looked at")
    producer_expiration_ms: int = setting(
        86_400_000, "an idle idempotent producer is forgotten after"
    )
    group_min_session_timeout_ms: int = setting(
        6_000, "smallest session timeout a member may ask", highest=INT_32
    )
    group_max_session_timeout_ms: int = setting(
        1_800_000, "largest session timeout of a member", highest=INT_32
    )
    group_initial_rebalance_delay_ms: int = setting(
        0, "how long a new group waits for more members", lowest=0
    )
    group_max_size: int = setting(INT_32, "members a group may have", highest=INT_32)
    offset_metadata_max_bytes: int = setting(
        4096, "longest metadata of a committed offset", lowest=0
    )
    offsets_retention_minutes: int = setting(
        10_080, "committed offsets of an empty group live so long"
    )
    offsets_check_ms: int = setting(600_000, "how often expired offsets are looked for")
    transaction_max_timeout_ms: int = setting(
        900_000, "longest transaction timeout", highest=INT_32
    )
    transactional_id_expiration_ms: int = setting(
        604_800_000, "a transactional id that is not used for so long is forgotten"
    )
    transactional_id_check_ms: int = setting(
        3_600_000, "how often expired transactional ids are looked for"
    )


@dataclass(frozen=True, slots=True)
class ViewSettings:
    """The server of views, on one screen."""

    http: str = setting("127.0.0.1:9090", "address to answer queries and subscriptions on")
    data: str = setting(".headwater/views", "directory that holds what is built from the topics")
    token: str = setting(
        "", "what a request must bring as bearer token; needed beyond loopback", is_secret=True
    )
    log_level: str = setting("info", "debug, info, warning or error")
    log_format: str = setting("text", "text or json")
    max_request_bytes: int = setting(64 << 10, "largest body of a request")
    max_rows: int = setting(10_000, "rows of an answer; more are asked for page by page")
    max_answer_bytes: int = setting(16 * MiB, "largest answer to a query, or page of rows")
    max_query_ms: int = setting(5_000, "longest time that a query, or a search for rows, may take")
    max_queries: int = setting(4, "queries in SQL that run at the same time")
    max_wait_ms: int = setting(60_000, "longest time that wait_for may wait")
    max_subscribers: int = setting(2_000, "subscriptions at the same time")
    max_snapshot_bytes: int = setting(1 << 30, "largest snapshot at the start of a subscription")
    tail_bytes: int = setting(
        16 * MiB, "newest changes of a view that are kept for its subscribers"
    )


Settings = TypeVar("Settings", BrokerSettings, ViewSettings)


@dataclass(frozen=True, slots=True)
class Family(Generic[Settings]):
    """A table of settings, the section of `headwater.toml` and the variables that set them."""

    table: type[Settings]
    section: str
    prefix: str


BROKER: Final = Family(BrokerSettings, "broker", ENVIRONMENT_PREFIX)
VIEWS: Final = Family(ViewSettings, "views", f"{ENVIRONMENT_PREFIX}VIEWS_")
TABLES: Final = (BROKER.section, VIEWS.section, "profiles")


@dataclass(frozen=True, slots=True)
class Resolved(Generic[Settings]):
    """Settings, and for each the place its value came from."""

    settings: Settings
    origins: dict[str, str]


def resolve(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None
) -> Resolved[BrokerSettings]:
    """Gather the broker's settings."""
    return resolve_family(BROKER, flags, environment, file)


def resolve_family(
    family: Family[Settings],
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    file: Path | None = None,
) -> Resolved[Settings]:
    """Gather the settings; raises `InvalidRequest` for a name or a value that is wrong."""
    section = family.section
    written = read_project_file(file).get(section, {}) if file is not None else {}
    if not isinstance(written, Mapping):
        raise InvalidRequest(
            f"{file}: {section} must be a table", hint=f"write [{section}] above it"
        )
    known = {each.name: each for each in fields(family.table)}
    _refuse_unknown(written, known, f"{file}", section)
    _refuse_misspelt(environment, known, family.prefix)
    for unknown in set(flags) - set(known):
        raise InvalidRequest(
            f"there is no setting {unknown!r}", hint=f"known settings: {', '.join(known)}"
        )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, each in known.items():
        variable = family.prefix + name.upper()
        if flags.get(name) is not None:
            values[name], origins[name] = _parse(each, flags[name], ""), _flag(name)
        elif variable in environment:
            values[name], origins[name] = (
                _parse(each, environment[variable], f"{variable}: "),
                variable,
            )
        elif name in written:
            values[name], origins[name] = _parse(each, written[name], f"{file}: "), f"{file}"
        else:
            origins[name] = "default"
    return Resolved(family.table(**values), origins)


def read_project_file(file: Path) -> dict[str, Any]:
    """Return the content of `headwater.toml`, or nothing where there is none."""
    try:
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{file} is not valid TOML: {error}") from error
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror or error}") from error
    unknown = [each for each in content if each not in TABLES]
    if unknown:
        raise InvalidRequest(
            f"{file} has an unknown table {unknown[0]!r}",
            hint=f"known tables: {', '.join(TABLES)}",
        )
    return content


def split_address(address: str, name: str = "address") -> tuple[str, int]:
    """Return (host, port) of HOST:PORT."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise InvalidRequest(
            f"{name} {address!r} is not HOST:PORT", hint="for example 127.0.0.1:9092"
        )
    return host.strip("[]"), int(port)


def join_address(host: str, port: int) -> str:
    """HOST:PORT as `split_address` reads it; an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def refuse_open_door(address: str, token: str) -> None:
    """Whoever serves more than this machine needs a token."""
    refuse_unsendable(token)
    host, _ = split_address(address, "http")
    if not token and not is_loopback(host):
        raise InvalidRequest(
            f"{address} can be reached from other machines, and no token is set",
            hint="set HEADWATER_VIEWS_TOKEN, or listen on 127.0.0.1",
        )


def refuse_unsendable(token: str) -> None:
    """No request could bring a token with a line break in it, or with space around it."""
    if token != token.strip() or not token.isprintable():
        raise InvalidRequest(
            "the token has space around it or characters that cannot be sent",
            hint="set HEADWATER_VIEWS_TOKEN to letters and digits",
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _refuse_unknown(
    written: Mapping[str, Any], known: Mapping[str, Any], where: str, section: str
) -> None:
    unknown = [each for each in written if each not in known]
    if unknown:
        meant = get_close_matches(unknown[0].replace("-", "_"), known, n=1, cutoff=0.8)
        raise InvalidRequest(
            f"{where} has an unknown setting {unknown[0]!r} under [{section}]",
            hint=f"meant: {meant[0]}?" if meant else f"known settings: {', '.join(known)}",
        )


def _refuse_misspelt(environment: Mapping[str, str], known: Mapping[str, Any], prefix: str) -> None:
    """Other variables may begin as ours do; one that is almost a setting was meant to be it."""
    variables = [prefix + each.upper() for each in known]
    for name in environment:
        if name.startswith(prefix) and name not in variables:
            meant = get_close_matches(name, variables, n=1, cutoff=0.9)
            if meant:
                raise InvalidRequest(f"there is no setting {name}", hint=f"meant: {meant[0]}?")


def _parse(each: "Field[Any]", value: Any, where: str) -> Any:
    default = each.default if each.default is not MISSING else {}
    kinds = {bool: "true or false", int: "a whole number", dict: "NAME=VALUE pairs", str: "text"}
    parse = {bool: _boolean, int: _number, dict: _pairs, str: _text}[type(default)]
    try:
        parsed = parse(value)
    except (ValueError, TypeError) as error:
        kind = kinds[type(default)]
        raise InvalidRequest(f"{where}{each.name} must be {kind}, not {value!r}") from error
    if isinstance(parsed, int) and type(default) is int:
        _refuse_beyond(each, parsed, f"{where}{each.name}", f"not {value!r}")
    return parsed


def _refuse_beyond(each: "Field[Any]", number: int, name: str, given: str) -> None:
    lowest, highest = each.metadata["lowest"], each.metadata["highest"]
    if number < lowest:
        raise InvalidRequest(f"{name} must be {lowest} or more, {given}")
    if number > highest:
        raise InvalidRequest(f"{name} must be {highest} or less, {given}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise TypeError(value)
    return int(value)


def _boolean(value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError(value)
    return words[str(value).lower()]


def _pairs(value: Any) -> dict[str, str]:
    """A table, or `name=value,name=value`; what has no `=` goes on with the list before it."""
    if isinstance(value, Mapping):
        return dict(_flat(value))
    pairs: dict[str, str] = {}
    name = ""
    for part in filter(None, str(value).split(",")):
        before, equals, after = part.partition("=")
        if equals:
            name = before.strip()
            pairs[name] = after.strip()
        elif name:
            pairs[name] += f",{part.strip()}"
        else:
            raise ValueError(value)
    return pairs


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """For TOML, `retention.ms = 1` without quotes is a table in a table."""
    for name, each in table.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(each).lower() if isinstance(each, bool) else str(each)
