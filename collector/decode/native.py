"""Protobuf bytes to Arrow without an object per message, and the two steps that open its nested columns.

`ptars` needs messages that do not contain themselves. An attribute value does (arrays of values), so it is
given a flat copy of the OTLP messages in which such fields are bytes, and in which fields that nobody here
reads (status messages, exemplars, entity references) are left out, so that they are never even built.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import polars as pl
import ptars
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

_Fields = Mapping[str, Collection[str]]  # by the message's short name


def make_handler(modules: Iterable[Any], request: str, kept: _Fields, as_bytes: _Fields) -> Any:
    """Make what turns serialized requests into a record batch, from generated modules in order of import.

    Messages that `kept` does not name keep all their fields. Fields named in `as_bytes` stay serialized.
    """
    pool = DescriptorPool()
    for module in modules:
        file = FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _flatten(message, kept, as_bytes)
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(request)
    return ptars.HandlerPool([descriptor.file]).get_for_message(descriptor)


def explode(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Open a list column: for each element the row that held it, and the element."""
    return pc.list_parent_indices(lists).cast(pa.uint32()), pc.list_flatten(lists)


def to_table(schema: pl.Schema, **columns: pa.Array) -> pl.DataFrame:
    """Make a table of the schema's columns, cast where ptars chose another width."""
    series = {name: pl.Series(name, columns[name]) for name in schema}
    return pl.DataFrame(
        [one if one.dtype == schema[name] else one.cast(schema[name]) for name, one in series.items()]
    )


def _flatten(message: DescriptorProto, kept: _Fields, as_bytes: _Fields) -> None:
    for nested in message.nested_type:
        _flatten(nested, kept, as_bytes)
    names = kept.get(message.name)
    fields = [field for field in message.field if names is None or field.name in names]
    for field in fields:
        if field.name in as_bytes.get(message.name, ()):
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
    copies = [FieldDescriptorProto.FromString(field.SerializeToString()) for field in fields]
    del message.field[:]
    message.field.extend(copies)
