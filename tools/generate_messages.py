"""Write src/headwater/wire/messages/ from the schemas that the `kio` package carries.

kio has one class per version; Headwater has one class per message (docs/decisions/0001). Run it again
after adding an API to MODULES or after a new Kafka release:  .venv/bin/python tools/generate_messages.py
"""

import dataclasses
import enum
import importlib
import pkgutil
import types
import typing
import uuid
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src/headwater/wire/messages"

# The newest version to take, where kio knows one that Apache Kafka 4.3 holds back as unstable.
MODULES: dict[str, int | None] = {
    "add_offsets_to_txn": None,
    "add_partitions_to_txn": None,
    "alter_configs": None,
    "alter_partition_reassignments": None,
    "api_versions": None,
    "create_partitions": None,
    "create_topics": None,
    "delete_groups": None,
    "delete_records": None,
    "delete_topics": None,
    "describe_acls": None,
    "describe_client_quotas": None,
    "describe_cluster": None,
    "describe_configs": None,
    "describe_groups": None,
    "describe_log_dirs": None,
    "describe_producers": None,
    "describe_quorum": None,
    "describe_topic_partitions": None,
    "describe_transactions": None,
    "elect_leaders": None,
    "end_txn": None,
    "fetch": None,
    "find_coordinator": None,
    "heartbeat": None,
    "incremental_alter_configs": None,
    "init_producer_id": 5,
    "join_group": None,
    "leave_group": None,
    "list_config_resources": None,
    "list_groups": None,
    "list_offsets": None,
    "list_partition_reassignments": None,
    "list_transactions": None,
    "metadata": None,
    "offset_commit": None,
    "offset_delete": None,
    "offset_fetch": None,
    "offset_for_leader_epoch": None,
    "produce": None,
    "sync_group": None,
    "txn_offset_commit": None,
    "write_txn_markers": None,
}

KINDS = {
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
    "error_code": "int16",
}
PYTHON = {"string": "str", "bytes": "bytes", "bool": "bool", "float64": "float", "uuid": "bytes"}
ZERO = {"string": '""', "bytes": 'b""', "bool": "False", "float64": "0.0", "uuid": "ZERO_UUID"}


@dataclasses.dataclass
class FieldColumn:
    """One field, seen over all versions."""

    name: str
    kind: str
    struct: str | None
    is_array: bool
    tag: int | None
    default: str
    versions: list[int] = dataclasses.field(default_factory=list)
    nullable: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class StructTable:
    """One struct, its fields in wire order over all versions."""

    name: str
    fields: dict[str, FieldColumn] = dataclasses.field(default_factory=dict)


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.glob("*.py"):
        old.unlink()
    (TARGET / "__init__.py").write_text(
        '"""One module per API, written by tools/generate_messages.py."""\n'
    )
    for module, newest in MODULES.items():
        (TARGET / f"{module}.py").write_text(module_source(module, newest))
    print(f"wrote {len(MODULES)} modules to {TARGET.relative_to(TARGET.parents[3])}")


def module_source(module: str, newest: int | None) -> str:
    package = importlib.import_module(f"kio.schema.{module}")
    versions = sorted(int(each.name[1:]) for each in pkgutil.iter_modules(package.__path__))
    versions = [each for each in versions if newest is None or each <= newest]
    request = direction_tables(module, "request", versions)
    response = direction_tables(module, "response", versions)
    rename_clashes(request[0], response[0], module)
    body = [
        struct_source(each, None, versions)
        for each in request[0].values()
        if each is not request[1]
    ]
    body.append(struct_source(request[1], header(module, "request", versions), versions))
    body += [
        struct_source(each, None, versions)
        for each in response[0].values()
        if each is not response[1]
    ]
    body.append(struct_source(response[1], header(module, "response", versions), versions))
    text = "\n\n\n".join(body)
    names = ["Message"] + [each for each in ("Struct", "ZERO_UUID") if each in text] + ["field"]
    imports = ["from headwater.wire.schema import " + ", ".join(sorted(names, key=import_order))]
    if "Sequence[" in text:
        imports.insert(0, "from collections.abc import Sequence\n")
    if "Part " in text or "Part]" in text:
        imports.insert(-1, "from headwater.wire.encoder import Part")
    title = f'"""{request[1].name.removesuffix("Request")}, by tools/generate_messages.py."""'
    return title + "\n\n" + "\n".join(imports) + "\n\n\n" + text + "\n"


def import_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def header(module: str, direction: str, versions: list[int]) -> str:
    loaded = [entity(module, direction, each) for each in versions]
    flexible = [
        version for version, each in zip(versions, loaded, strict=True) if each.__flexible__
    ]
    options = [f"api_key={loaded[0].__api_key__}", f"versions=({versions[0]}, {versions[-1]})"]
    if flexible:
        options.append(f"flexible_since={flexible[0]}")
    return ", ".join(options)


def entity(module: str, direction: str, version: int) -> type:
    loaded = importlib.import_module(f"kio.schema.{module}.v{version}.{direction}")
    found = [
        each
        for each in vars(loaded).values()
        if dataclasses.is_dataclass(each)
        and each.__module__ == loaded.__name__
        and each.__type__.name == direction
    ]
    return found[0]


def direction_tables(
    module: str, direction: str, versions: list[int]
) -> tuple[dict[str, StructTable], StructTable]:
    tables: dict[str, StructTable] = {}
    for version in versions:
        gather(entity(module, direction, version), version, tables)
    root = entity(module, direction, versions[-1]).__name__
    return ordered(tables, root), tables[root]


def ordered(tables: dict[str, StructTable], root: str) -> dict[str, StructTable]:
    """Inner structs first."""
    done: dict[str, StructTable] = {}

    def visit(name: str) -> None:
        for each in tables[name].fields.values():
            if each.struct:
                visit(each.struct)
        done.setdefault(name, tables[name])

    visit(root)
    return done


def gather(cls: type, version: int, tables: dict[str, StructTable]) -> None:
    table = tables.setdefault(cls.__name__, StructTable(cls.__name__))
    order = list(table.fields)
    seen = []
    hints = typing.get_type_hints(cls)
    for each in dataclasses.fields(cls):
        column = describe(each, hints[each.name])
        known = table.fields.setdefault(column.name, column)
        same = (known.kind, known.struct, known.is_array) == (
            column.kind,
            column.struct,
            column.is_array,
        )
        assert same, (cls, column, known)
        if version not in known.versions:
            known.versions.append(version)
        is_nullable = types.NoneType in typing.get_args(hints[each.name])
        if is_nullable and column.kind != "uuid" and version not in known.nullable:
            known.nullable.append(version)
        seen.append(column.name)
        inner = element_type(hints[each.name])
        if dataclasses.is_dataclass(inner):
            gather(inner, version, tables)
    table.fields = {name: table.fields[name] for name in merge_order(order, seen)}


def merge_order(old: list[str], new: list[str]) -> list[str]:
    """Keep both orders: insert each new name before the next known one that follows it."""
    merged = list(old)
    for index, name in enumerate(new):
        if name in merged:
            continue
        following = next((each for each in new[index + 1 :] if each in merged), None)
        merged.insert(merged.index(following) if following else len(merged), name)
    return merged


def element_type(hint: object) -> typing.Any:
    arguments = [each for each in typing.get_args(hint) if each not in (types.NoneType, Ellipsis)]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return element_type(arguments[0])
    return arguments[0] if typing.get_origin(hint) is tuple else hint


def is_array(hint: object) -> bool:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(is_array(each) for each in typing.get_args(hint))
    return typing.get_origin(hint) is tuple


def describe(each: dataclasses.Field[typing.Any], hint: object) -> FieldColumn:
    raw = each.metadata.get("kafka_type", "")
    inner = element_type(hint)
    struct = inner.__name__ if dataclasses.is_dataclass(inner) else None
    name = each.name
    if raw.startswith(("timedelta", "datetime")) and "timestamp" not in name:
        name = name if name.endswith("_ms") else f"{name}_ms"
    kind = KINDS.get(raw, raw)
    tag = each.metadata.get("tag")
    return FieldColumn(
        name, kind, struct, is_array(hint), tag, default_of(each, kind, struct, hint)
    )


def default_of(
    each: dataclasses.Field[typing.Any], kind: str, struct: str | None, hint: object
) -> str:
    value = each.default
    if is_array(hint):
        return "None" if value is None else "()"
    if struct:
        return "None"
    if kind == "uuid":
        return "ZERO_UUID"
    if kind == "records":
        return 'b""'
    if value is dataclasses.MISSING or isinstance(value, uuid.UUID):
        is_nullable = types.NoneType in typing.get_args(hint)
        return "None" if is_nullable and kind == "string" else ZERO.get(kind, "0")
    if value is None and kind in ("int32", "int64"):
        return "-1"
    if isinstance(value, enum.Enum):
        return str(int(value.value))
    if hasattr(value, "total_seconds"):
        return str(int(value.total_seconds() * 1000))
    return f'"{value}"' if isinstance(value, str) else repr(value)


def rename_clashes(
    requests: dict[str, StructTable], responses: dict[str, StructTable], module: str
) -> None:
    """Give a struct of the response its own name where the request has one of that name."""
    prefix = "".join(part.capitalize() for part in module.split("_"))
    for name in set(requests) & set(responses):
        renamed = f"{prefix}Response{name}"
        responses[name].name = renamed
        for table in responses.values():
            for each in table.fields.values():
                if each.struct == name:
                    each.struct = renamed


def struct_source(table: StructTable, options: str | None, versions: list[int]) -> str:
    bases = f"Message, {options}" if options else "Struct"
    lines = [f"class {table.name}({bases}):"]
    lines += [field_source(each, versions) for each in table.fields.values()] or ["    pass"]
    return "\n".join(lines)


def field_source(each: FieldColumn, versions: list[int]) -> str:
    kind = each.struct or f'"{each.kind}"'
    python = each.struct or PYTHON.get(each.kind, "int")
    if each.kind == "records":
        python = "Part"
    if each.is_array:
        kind, python = f"[{kind}]", f"Sequence[{python}]"
    if each.nullable or each.default == "None":
        python += " | None"
    options = [kind, f"default={each.default}"]
    if each.versions[0] > versions[0]:
        options.append(f"since={each.versions[0]}")
    if each.versions[-1] < versions[-1]:
        options.append(f"until={each.versions[-1]}")
    if each.nullable and (each.is_array or each.kind not in ("int32", "int64")):
        options.append(f"nullable={each.nullable[0]}")
    if each.tag is not None:
        options.append(f"tag={each.tag}")
    assert each.versions == list(range(each.versions[0], each.versions[-1] + 1)), each
    return f"    {each.name}: {python} = field({', '.join(options)})"


if __name__ == "__main__":
    main()
