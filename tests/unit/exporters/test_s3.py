"""Signatures of S3 requests, and options that do not fit together."""

from __future__ import annotations

from typing import Any

import pytest

from whyflame.errors import ConfigError
from whyflame_exporters.files import FilesExporter
from whyflame_exporters.s3 import Credentials, sign

WHOLE = {"bucket": "b", "access_key_id": "k", "secret_access_key": "s"}


def test_the_published_example() -> None:
    """The signature that Amazon's documentation gives for its PUT example."""
    headers = {
        "Host": "examplebucket.s3.amazonaws.com",
        "Date": "Fri, 24 May 2013 00:00:00 GMT",
        "x-amz-date": "20130524T000000Z",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
        "x-amz-content-sha256": "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    }
    key = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    assert sign("PUT", "/test%24file.text", headers, key, "us-east-1") == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    )


def test_amazon_needs_no_endpoint() -> None:
    FilesExporter("out", {"s3": WHOLE}).close(1)


@pytest.mark.parametrize(
    "options",
    [
        {"s3": {}},
        {"s3": WHOLE | {"bucket": ""}},
        {"s3": WHOLE | {"secret_access_key": ""}},
        {"s3": WHOLE | {"secret_access_key_file": "f"}},
        {"s3": WHOLE | {"endpoint": "minio:9000"}},
        {"s3": WHOLE | {"buckets": "b"}},
        {"s3": WHOLE, "directory": "x"},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"exporters\.out"):
        FilesExporter("out", options)
