"""What the redactor removes, and what it must leave alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whyflame.content import redact

SECRETS = [
    ("export OPENAI_API_KEY=sk-proj-abcdEFGH1234567890abcdEFGH", "abcdEFGH"),
    ("use sk-ant-api03-Zm9vYmFyYmF6cXV4 please", "Zm9vYmFy"),
    ("token ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
    ("AKIAIOSFODNN7EXAMPLE is the key", "IOSFODNN"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtn"),
    ("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJ", "eyJhbGci"),
    ("postgres://admin:hunter2@db.example.com:5432/app", "hunter2"),
    ("mysql -u root --password s3cr3tPw! shop", "s3cr3tPw"),
    ("password: correct-horse-battery", "correct-horse"),
    ("the passphrase is opensesame", "opensesame"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("xoxb-123456789012-abcdefghijklmnop", "abcdefghijk"),
    ("glpat-ABCdef123456789012345", "ABCdef1234"),
    ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "SyA-12345"),
    ("hf_ABCDEFGHijklmnop12345678", "ABCDEFGH"),
    ("write to jane.doe@example.com", "jane.doe"),
    ("call +49 170 1234567 now", "1234567"),
    ("call (555) 123-4567", "123-4567"),
    ("card 4111 1111 1111 1111 expires soon", "1111 1111"),
    ("IBAN DE89 3704 0044 0532 0130 00", "3704"),
    ("ssn 078-05-1120", "078-05"),
    ("host 10.20.30.40 is down", "10.20.30.40"),
    ("cat /home/jsmith/notes.txt", "jsmith"),
    (r"open C:\Users\jsmith\notes.txt", "jsmith"),
    ("ssh build01.corp and run", "build01"),
    ("db01.prod.internal refuses", "db01"),
    ("sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "9f86d081"),
    ("My name is Ada Lovelace and I need help", "Lovelace"),
    ("please tell Frau Schmidt", "Schmidt"),
]

NEAR_MISSES = [
    "the sketch of the task-list is ready",
    "password required for login",
    "input token count: 1234",
    "order 1234567890123 shipped",  # no Luhn number
    "version 10.2.300.4 of the library",
    "timestamp 1733000000000",
    "see https://docs.python.org/3/library/re.html",
    "listen on 127.0.0.1 only",
    "pytest -p no:randomly tests/unit",
    "a normal sentence about secrets of good design",
    "I'm done with the refactoring",
    "commit 9f86d08 fixes it",
    "Install numpy 2.4.6 and torch",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_removes_secrets(text: str, secret: str) -> None:
    """What is secret or personal is gone, a label stands in its place."""
    cleaned = redact(text)
    assert secret not in cleaned
    assert "[" in cleaned


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_leaves_near_misses(text: str) -> None:
    """What only looks alike stays as it is."""
    assert redact(text) == text


@given(st.text(max_size=300))
def test_is_total_and_idempotent(text: str) -> None:
    """Any text passes, and what is clean stays clean."""
    once = redact(text)
    assert redact(once) == once
