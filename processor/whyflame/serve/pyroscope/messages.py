"""The messages of Pyroscope's query API, described at run time: no generated code, no version lock.

The message and field names and numbers are those of Pyroscope's `api/` (Apache-2.0, Grafana Labs),
without which nobody could speak the protocol; tests hold them against its files, field by field. They
live in a descriptor pool of their own, since others may register `types/v1` and `google/v1` too.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["message_class"]

_PACKAGES: dict[str, str] = {
    "google.v1": """
        ValueType: type 1 int64, unit 2 int64
        Label: key 1 int64, str 2 int64, num 3 int64, num_unit 4 int64
        Sample: location_id 1 uint64*, value 2 int64*, label 3 Label*
        Mapping: id 1 uint64, memory_start 2 uint64, memory_limit 3 uint64, file_offset 4 uint64,
            filename 5 int64, build_id 6 int64, has_functions 7 bool, has_filenames 8 bool,
            has_line_numbers 9 bool, has_inline_frames 10 bool
        Line: function_id 1 uint64, line 2 int64
        Location: id 1 uint64, mapping_id 2 uint64, address 3 uint64, line 4 Line*, is_folded 5 bool
        Function: id 1 uint64, name 2 int64, system_name 3 int64, filename 4 int64, start_line 5 int64
        Profile: sample_type 1 ValueType*, sample 2 Sample*, mapping 3 Mapping*,
            location 4 Location*, function 5 Function*, string_table 6 string*,
            drop_frames 7 int64, keep_frames 8 int64, time_nanos 9 int64, duration_nanos 10 int64,
            period_type 11 ValueType, period 12 int64, comment 13 int64*, default_sample_type 14 int64
    """,
    "types.v1": """
        LabelPair: name 1 string, value 2 string
        ProfileType: ID 1 string, name 2 string, sample_type 4 string, sample_unit 5 string,
            period_type 6 string, period_unit 7 string
        Labels: labels 1 LabelPair*
        Exemplar: timestamp 1 int64, profile_id 2 string, span_id 3 string, value 4 int64,
            labels 5 LabelPair*, trace_id 6 string
        Point: value 1 double, timestamp 2 int64, exemplars 4 Exemplar*
        Series: labels 1 LabelPair*, points 2 Point*
        HeatmapSlot: timestamp 1 int64, y_min 2 double*, counts 3 int32*, exemplars 4 Exemplar*
        HeatmapSeries: labels 1 LabelPair*, slots 2 HeatmapSlot*
        LabelValuesRequest: name 1 string, matchers 2 string*, start 3 int64, end 4 int64
        LabelValuesResponse: names 1 string*
        LabelNamesRequest: matchers 1 string*, start 2 int64, end 3 int64
        LabelNamesResponse: names 1 string*
        Location: name 1 string
        GoPGO: keep_locations 1 uint32, aggregate_callees 2 bool
        StackTraceSelector: call_site 1 Location*, go_pgo 2 GoPGO
        GetProfileStatsRequest:
        GetProfileStatsResponse: data_ingested 1 bool, oldest_profile_time 2 int64,
            newest_profile_time 3 int64
        enum TimeSeriesAggregationType TIME_SERIES_AGGREGATION_TYPE: SUM AVERAGE
        enum ExemplarType EXEMPLAR_TYPE: UNSPECIFIED NONE INDIVIDUAL SPAN
    """,
    "querier.v1": """
        ProfileTypesRequest: start 1 int64, end 2 int64
        ProfileTypesResponse: profile_types 1 types.v1.ProfileType*
        SeriesRequest: matchers 1 string*, label_names 2 string*, start 3 int64, end 4 int64
        SeriesResponse: labels_set 2 types.v1.Labels*
        AsyncQueryRequest: request_id 1 string, type 2 AsyncQueryType
        SelectMergeStacktracesRequest: profile_typeID 1 string, label_selector 2 string,
            start 3 int64, end 4 int64, max_nodes 5 int64?, format 6 ProfileFormat,
            stack_trace_selector 7 types.v1.StackTraceSelector?, profile_id_selector 8 string*,
            async 9 AsyncQueryRequest?, trace_id_selector 10 string*, span_selector 11 string*
        PprofProfile: profile 1 google.v1.Profile
        SelectMergeStacktracesResponse: flamegraph 1 FlameGraph, tree 2 bytes, dot 3 string,
            pprof 5 PprofProfile
        SelectMergeSpanProfileRequest: profile_typeID 1 string, label_selector 2 string,
            span_selector 3 string*, start 4 int64, end 5 int64, max_nodes 6 int64?,
            format 7 ProfileFormat
        SelectMergeSpanProfileResponse: flamegraph 1 FlameGraph, tree 2 bytes
        SelectMergeProfileRequest: profile_typeID 1 string, label_selector 2 string, start 3 int64,
            end 4 int64, max_nodes 5 int64?, stack_trace_selector 6 types.v1.StackTraceSelector?,
            profile_id_selector 7 string*, trace_id_selector 8 string*
        SelectSeriesRequest: profile_typeID 1 string, label_selector 2 string, start 3 int64,
            end 4 int64, group_by 5 string*, step 6 double,
            aggregation 7 types.v1.TimeSeriesAggregationType?,
            stack_trace_selector 8 types.v1.StackTraceSelector?, limit 9 int64?,
            exemplar_type 10 types.v1.ExemplarType
        SelectSeriesResponse: series 1 types.v1.Series*
        SelectHeatmapRequest: profile_typeID 1 string, label_selector 2 string, start 3 int64,
            end 4 int64, step 5 double, group_by 6 string*, query_type 7 HeatmapQueryType,
            exemplar_type 8 types.v1.ExemplarType, limit 9 int64?
        SelectHeatmapResponse: series 1 types.v1.HeatmapSeries*
        DiffRequest: left 1 SelectMergeStacktracesRequest, right 2 SelectMergeStacktracesRequest
        DiffResponse: flamegraph 1 FlameGraphDiff
        Level: values 1 int64*
        FlameGraph: names 1 string*, levels 2 Level*, total 3 int64, max_self 4 int64
        FlameGraphDiff: names 1 string*, levels 2 Level*, total 3 int64, max_self 4 int64,
            leftTicks 5 int64, rightTicks 6 int64
        AnalyzeQueryRequest: start 2 int64, end 3 int64, query 4 string
        AnalyzeQueryResponse:
        enum ProfileFormat PROFILE_FORMAT: UNSPECIFIED FLAMEGRAPH TREE DOT PPROF
        enum AsyncQueryType ASYNC_QUERY_TYPE: DISABLED FORCE
        enum HeatmapQueryType HEATMAP_QUERY_TYPE: UNSPECIFIED INDIVIDUAL SPAN
    """,
}
_DECLARATION = re.compile(r"(?:enum (\w+) )?(\w+):\s*(.*)", re.DOTALL)
_FIELD = re.compile(r"(\w+) (\d+) ([\w.]+)([*?]?)")
_LABELS = {
    "": FieldDescriptorProto.LABEL_OPTIONAL,
    "?": FieldDescriptorProto.LABEL_OPTIONAL,
    "*": FieldDescriptorProto.LABEL_REPEATED,
}
_SCALARS = {
    name: getattr(FieldDescriptorProto, f"TYPE_{name.upper()}")
    for name in ("bool", "bytes", "double", "int32", "int64", "string", "uint32", "uint64")
}


def message_class(name: str) -> type[Message]:
    """The class of a message by its name, which no two packages share but for internal ones."""
    return _classes()[name]


@functools.cache
def _classes() -> dict[str, type[Message]]:
    pool, found = DescriptorPool(), {}
    for package, text in _PACKAGES.items():
        file = _file(package, text)
        pool.Add(file)
        for message in file.message_type:
            descriptor = pool.FindMessageTypeByName(f"{package}.{message.name}")
            found[message.name] = GetMessageClass(descriptor)
    return found


def _file(package: str, text: str) -> FileDescriptorProto:
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    file.dependency.extend(f"{other}.proto" for other in _PACKAGES if f" {other}." in text)
    declarations = [
        found
        for item in re.split(r"\n\s*(?=(?:enum )?\w+(?: \w+)?:)", text)
        if (found := _DECLARATION.fullmatch(item.strip()))
    ]
    enums = {found[1] for found in declarations if found[1]}
    for found in declarations:
        if found[1]:
            enum = file.enum_type.add(name=found[1])
            for number, value in enumerate(found[3].split()):
                enum.value.add(name=f"{found[2]}_{value}", number=number)
        else:
            _add_fields(file.message_type.add(name=found[2]), found[3], package, enums)
    return file


def _add_fields(message: DescriptorProto, text: str, package: str, enums: set[str]) -> None:
    for name, number, kind, mark in _FIELD.findall(text):
        field = message.field.add(name=name, number=int(number), label=_LABELS[mark])
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            is_enum = kind in enums or kind.endswith(("AggregationType", "ExemplarType"))
            field.type = field.TYPE_ENUM if is_enum else field.TYPE_MESSAGE
            field.type_name = f".{kind}" if "." in kind else f".{package}.{kind}"
        if mark == "?":
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
