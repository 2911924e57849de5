"""The messages of the push API and of pprof, described in Python and built at run time.

They live in a descriptor pool of their own, so that whatever else the process has registered cannot
clash, and they share no code with whyflame's encoders, which they are there to check.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "bool": _FIELD.TYPE_BOOL,
    "double": _FIELD.TYPE_DOUBLE,
}

# message -> fields in order; "name:number:type", "*" before the type means repeated.
_MESSAGES = {
    "types.v1.LabelPair": "name:1:string value:2:string",
    "types.v1.ProfileAnnotation": "key:1:string value:2:string",
    "push.v1.RawSample": "raw_profile:1:bytes ID:2:string",
    "push.v1.RawProfileSeries": (
        "labels:1:*types.v1.LabelPair samples:2:*push.v1.RawSample "
        "annotations:3:*types.v1.ProfileAnnotation"
    ),
    "push.v1.PushRequest": "series:1:*push.v1.RawProfileSeries",
    "push.v1.PushResponse": "",
    "parca.profilestore.v1alpha1.Label": "name:1:string value:2:string",
    "parca.profilestore.v1alpha1.LabelSet": "labels:1:*parca.profilestore.v1alpha1.Label",
    "parca.profilestore.v1alpha1.RawSample": "raw_profile:1:bytes",
    "parca.profilestore.v1alpha1.RawProfileSeries": (
        "labels:1:parca.profilestore.v1alpha1.LabelSet "
        "samples:2:*parca.profilestore.v1alpha1.RawSample"
    ),
    "parca.profilestore.v1alpha1.WriteRawRequest": (
        "tenant:1:string series:2:*parca.profilestore.v1alpha1.RawProfileSeries normalized:3:bool"
    ),
    "google.v1.ValueType": "type:1:int64 unit:2:int64",
    "google.v1.Label": "key:1:int64 str:2:int64 num:3:int64 num_unit:4:int64",
    "google.v1.Sample": "location_id:1:*uint64 value:2:*int64 label:3:*google.v1.Label",
    "google.v1.Mapping": (
        "id:1:uint64 memory_start:2:uint64 memory_limit:3:uint64 file_offset:4:uint64 "
        "filename:5:int64 build_id:6:int64 has_functions:7:bool has_filenames:8:bool "
        "has_line_numbers:9:bool has_inline_frames:10:bool"
    ),
    "google.v1.Line": "function_id:1:uint64 line:2:int64",
    "google.v1.Location": (
        "id:1:uint64 mapping_id:2:uint64 address:3:uint64 line:4:*google.v1.Line is_folded:5:bool"
    ),
    "google.v1.Function": (
        "id:1:uint64 name:2:int64 system_name:3:int64 filename:4:int64 start_line:5:int64"
    ),
    "google.v1.Profile": (
        "sample_type:1:*google.v1.ValueType sample:2:*google.v1.Sample "
        "mapping:3:*google.v1.Mapping location:4:*google.v1.Location "
        "function:5:*google.v1.Function string_table:6:*bytes drop_frames:7:int64 "
        "keep_frames:8:int64 time_nanos:9:int64 duration_nanos:10:int64 "
        "period_type:11:google.v1.ValueType period:12:int64 comment:13:*int64 "
        "default_sample_type:14:int64"
    ),
}


def _file(package: str, imports: list[str]) -> descriptor_pb2.FileDescriptorProto:
    described = descriptor_pb2.FileDescriptorProto(
        name=f"double/{package}.proto", package=package, syntax="proto3", dependency=imports
    )
    for full_name, fields in _MESSAGES.items():
        if full_name.startswith(f"{package}."):
            message = described.message_type.add(name=full_name.removeprefix(f"{package}."))
            for field in fields.split():
                _add_field(message, field)
    return described


def _add_field(message: descriptor_pb2.DescriptorProto, text: str) -> None:
    name, number, kind = text.split(":")
    field = message.field.add(name=name, number=int(number), label=_FIELD.LABEL_OPTIONAL)
    if kind.startswith("*"):
        field.label, kind = _FIELD.LABEL_REPEATED, kind[1:]
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{kind}"


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file("types.v1", []))
    pool.Add(_file("push.v1", ["double/types.v1.proto"]))
    pool.Add(_file("google.v1", []))
    pool.Add(_file("parca.profilestore.v1alpha1", []))
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in _MESSAGES
    }


_CLASSES = _classes()
PushRequest = _CLASSES["push.v1.PushRequest"]
WriteRawRequest = _CLASSES["parca.profilestore.v1alpha1.WriteRawRequest"]
PushResponse = _CLASSES["push.v1.PushResponse"]
# `string_table` is bytes here: a string that is no UTF-8 is the server's to refuse, not the parser's.
Profile = _CLASSES["google.v1.Profile"]
