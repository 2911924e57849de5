"""The files exporter on a bucket: signatures, names, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.doubles.s3 import KEY_ID, REGION, SECRET, S3Double
from tests.integration.export.backends import make_payload

from whyflame.errors import PermanentError
from whyflame.export import PausedError, UnavailableError
from whyflame_exporters.files import FilesExporter, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def double() -> Iterator[S3Double]:
    with S3Double() as started:
        yield started


def make(double: S3Double, **options: Any) -> FilesExporter:
    block = {
        "bucket": "profiles", "region": REGION, "endpoint": double.url, "access_key_id": KEY_ID,
        "secret_access_key": SECRET,
    }  # fmt: skip
    exporter = FilesExporter("out", {"s3": block | options})
    exporter.start()
    return exporter


def test_objects_are_named_like_files(double: S3Double) -> None:
    """Whatever the prefix holds, the signature fits and the object has that name."""
    payload = make_payload(1, tenant="a")
    for prefix in ("", "whyflame/", "with blank+ü=/", "a//b/"):
        exporter = make(double, prefix=prefix)
        exporter.send(payload)
        exporter.send(payload)
        exporter.close(1)
        assert double.objects[prefix + file_name(payload).as_posix()] == payload.body
    assert len(double.objects) == 4


def test_secrets_are_read_anew(double: S3Double, tmp_path: Path) -> None:
    secret, token = tmp_path / "secret", tmp_path / "token"
    secret.write_text("wrong\n")
    token.write_text("of the day\n")
    double.token = "of the day"
    exporter = make(
        double,
        secret_access_key="",
        secret_access_key_file=str(secret),
        session_token_file=str(token),
    )
    with pytest.raises(PausedError, match="SignatureDoesNotMatch"):
        exporter.send(make_payload(1))
    secret.write_text(SECRET)
    exporter.send(make_payload(1))
    exporter.close(1)
    assert len(double.objects) == 1


def test_a_missing_bucket_pauses(double: S3Double) -> None:
    exporter = make(double, bucket="none")
    with pytest.raises(PausedError, match="NoSuchBucket"):
        exporter.send(make_payload(1))
    exporter.close(1)


def test_slow_down_is_tried_again_later(double: S3Double) -> None:
    exporter = make(double)
    double.faults = [(503, "SlowDown"), (500, "InternalError")]
    for _ in range(2):
        with pytest.raises(UnavailableError):
            exporter.send(make_payload(1))
    exporter.send(make_payload(1))
    exporter.close(1)


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (400, "ExpiredToken", PausedError),
        (400, "InvalidToken", PausedError),
        (400, "AuthorizationHeaderMalformed", PausedError),
        (301, "PermanentRedirect", PausedError),
        (400, "RequestTimeout", UnavailableError),
        (400, "IncompleteBody", UnavailableError),
        (409, "OperationAborted", UnavailableError),
        (400, "InvalidRequest", PermanentError),
    ],
)
def test_refusals_that_say_400_may_still_pass(
    double: S3Double, status: int, code: str, error: type[Exception]
) -> None:
    """A token that ran out, a region that is wrong, a body that stopped: none is the object's fault."""
    exporter = make(double)
    double.faults = [(status, code)]
    with pytest.raises(error) as caught:
        exporter.send(make_payload(1))
    assert type(caught.value) is error
    exporter.send(make_payload(1))
    exporter.close(1)
