"""From YAML to settings, and what is said about mistakes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from whyflame.config import Config, ExporterConfig, ViewConfig, default_yaml, load, parse
from whyflame.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def settings_of(text: str, **environment: str) -> Config:
    return parse(yaml.safe_load(text) or {}, "f.yaml", environment)


def problem_of(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        settings_of(text, **environment)
    return str(caught.value)


def test_nothing_written_is_the_default() -> None:
    assert settings_of("") == Config()
    assert settings_of("otlp:\nexporters:\n") == Config()


def test_the_printed_default_is_the_default() -> None:
    assert settings_of(default_yaml()) == Config()


def test_every_kind_of_value_is_read() -> None:
    config = settings_of("""
        data_dir: state
        otlp: {grpc: "0.0.0.0:4317", max_request_bytes: 1MiB, max_connection_age: 2m}
        segment: {granularity: 4, options: {anything: [1, {goes: here}]}}
        settle: {outcome_attributes: [result]}
        prices: {enabled: false}
        content: {services: {chat: none}}
        views: {spend: {measure: cost}}
    """)
    assert config.otlp.max_request_bytes == 1 << 20
    assert config.otlp.max_connection_age == 120.0
    assert config.segment.granularity == 4.0
    assert isinstance(config.segment.granularity, float)
    assert config.segment.options == {"anything": [1, {"goes": "here"}]}
    assert config.settle.outcome_attributes == ["result"]
    assert config.prices.enabled is False
    assert config.content.services == {"chat": "none"}
    assert config.views == {"spend": ViewConfig(measure="cost")}


def test_an_exporter_keeps_every_other_key_as_its_own() -> None:
    config = settings_of("exporters: {main: {type: pyroscope, url: 'http://a', depth: 3}}")
    assert config.exporters["main"] == ExporterConfig("pyroscope", {"url": "http://a", "depth": 3})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("otlp: {grcp: x}", "f.yaml: otlp.grcp: unknown key; did you mean grpc?"),
        ("exporter: {}", "f.yaml: exporter: unknown key; did you mean exporters?"),
        ("session: {zzz: 1}", "f.yaml: session.zzz: unknown key; known: gap"),
        ("views: {v: {stak: []}}", "views.v.stak: unknown key; did you mean stack?"),
        ("otlp: {grpc: 4317}", "otlp.grpc: expected a text, got 4317"),
        ("otlp: {grpc: '4317'}", "otlp.grpc: expected host:port"),
        ("settle: {idle: soon}", "settle.idle: expected a duration"),
        ("settle: {idle: -1}", "settle.idle: must be at least 0, got -1"),
        ("settle: {idle: .nan}", "settle.idle: must be at least 0, got nan"),
        ("settle: {idle: .inf}", "settle.idle: must be at most 9.22337e+18, got inf"),
        (f"settle: {{idle: 1{'0' * 400}}}", "settle.idle: too large a number"),
        ("store: {threads: .inf}", "store.threads: expected a whole number, got inf"),
        (f"store: {{threads: 1{'0' * 400}}}", "store.threads: must be at most 9.22337e+18"),
        (f"segment: {{granularity: 1{'0' * 400}}}", "segment.granularity: too large a number"),
        ("store: {threads: 0}", "store.threads: must be at least 1, got 0"),
        ("store: {threads: 1.5}", "store.threads: expected a whole number, got 1.5"),
        ("store: {threads: '2'}", "store.threads: expected a number, got '2'"),
        ("store: {memory_limit: 1 mile}", "store.memory_limit: expected a size"),
        ("prices: {enabled: 1}", "prices.enabled: expected true or false, got 1"),
        ("settle: {outcome_attributes: x}", "settle.outcome_attributes: expected a list, got 'x'"),
        ("settle: {outcome_attributes: [1]}", "settle.outcome_attributes.0: expected a text"),
        ("content: {mode: excerp}", "content.mode: unknown value 'excerp'; did you mean excerpt?"),
        ("content: {services: {a: all}}", "content.services.a: unknown value 'all'; known: excerp"),
        ("otlp: here", "otlp: expected a block of keys, got 'here'"),
        ("fields: here", "fields: expected a block of keys, got 'here'"),
        ("otlp: {tls: {cert_file: a}}", "otlp.tls: cert_file and key_file must be given together"),
        ("exporters: {main: {url: x}}", "exporters.main.type: is missing"),
    ],
)
def test_a_mistake_is_named_with_key_value_and_source(text: str, said: str) -> None:
    assert said in problem_of(text)


def test_references_take_texts_and_numbers_from_the_environment() -> None:
    config = settings_of(
        "data_dir: '${env:BASE}/state'\n"
        "store: {threads: '${env:THREADS}', memory_limit: '${env:LIMIT:-1GiB}'}\n"
        "prices: {enabled: '${env:WAIT}'}\n",
        BASE="here",
        THREADS="3",
        WAIT="True",
    )
    assert config.data_dir == "here/state"
    assert config.store.threads == 3
    assert config.store.memory_limit == 1 << 30
    assert config.prices.enabled is True


def test_a_reference_to_a_missing_variable_names_it() -> None:
    said = problem_of("data_dir: '${env:NOWHERE}'")
    assert "data_dir: the environment has no NOWHERE" in said


def test_what_only_looks_like_a_reference_is_refused() -> None:
    assert "data_dir: '${HOME}' is no reference" in problem_of("data_dir: '${HOME}'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("store: {threads: '${env:TOKEN}'}", "store.threads: expected a whole number"),
        ("segment: {granularity: '${env:TOKEN}'}", "segment.granularity: expected a number"),
        ("settle: {idle: '${env:TOKEN}'}", "settle.idle: expected a duration"),
        ("store: {memory_limit: '${env:TOKEN}'}", "store.memory_limit: expected a size"),
        ("prices: {enabled: '${env:TOKEN}'}", "prices.enabled: expected true or false"),
        ("content: {mode: '${env:TOKEN}'}", "content.mode: unknown value"),
        ("otlp: {grpc: '${env:TOKEN}'}", "otlp.grpc: expected host:port"),
    ],
)
@pytest.mark.parametrize("value", ["s3cret", "9" * 5000])
def test_a_value_from_the_environment_is_never_shown(text: str, expected: str, value: str) -> None:
    said = problem_of(text, TOKEN=value)
    if value == "s3cret":
        assert expected in said
    assert "the value of an environment variable" in said
    assert value not in said


@pytest.mark.parametrize("key", ["password", "api_key", "bearer_token", "Authorization"])
def test_a_secret_in_plain_text_is_refused_and_not_repeated(key: str) -> None:
    said = problem_of(f"exporters: {{main: {{type: x, headers: {{{key}: s3cret}}}}}}")
    assert f"exporters.main.headers.{key}: a secret in plain text; write {key}_file" in said
    assert "s3cret" not in said


def test_a_secret_by_reference_or_file_is_taken() -> None:
    config = settings_of(
        "exporters: {main: {type: x, password: '${env:PASS}', token_file: t}}", PASS="s3cret"
    )
    assert config.exporters["main"].options == {"password": "s3cret", "token_file": "t"}


def test_errors_of_a_file_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "whyflame.yaml"
    file.write_text("# mine\notlp:\n  grpc: 127.0.0.1:1\n  htpp: 127.0.0.1:2\n")
    with pytest.raises(ConfigError, match=r"whyflame.yaml:4: otlp.htpp: unknown key"):
        load(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is no valid YAML"),
        ("- 1", "expected a block of keys"),
        ("session:\n  gap: 1h\n  gap: 2h\n", ":3: session.gap: stands twice, first in line 2"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.yaml: cannot be read: No such file"):
        load(tmp_path / "nowhere.yaml")


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("# nothing\n")
    assert load(file) == Config()


def test_settings_cannot_be_changed() -> None:
    config: Any = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.data_dir = "x"
