"""The definition of a materialized view, as its readers will know it."""

from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import MaterializedView
from headwater.views import Column, View, parse_type


def definition_of(pipeline: str, output: MaterializedView, schema: StructType) -> View:
    """Raises `InvalidRequest`, with file and line, for what no view can be."""
    try:
        return View(
            name=f"{pipeline}.{output.name}",
            topic=output.topic,
            key=output.key,
            columns=tuple(
                Column(each.name, parse_type(each.dataType.simpleString()), each.nullable)
                for each in schema.fields
            ),
            comment=output.comment,
            pipeline=pipeline,
            version=output.version,
        )
    except InvalidRequest as error:
        raise InvalidRequest(f"{output.location}: {error.what}", hint=error.hint) from error
