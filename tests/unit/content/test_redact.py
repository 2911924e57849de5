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
    ("hex 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "9f86d081"),
    ("My name is Ada Lovelace and I need help", "Lovelace"),
    ("please tell Frau Schmidt", "Schmidt"),
    ("SECRET_KEY = 'django-insecure-k3#x9(abc)'", "k3#x9"),
    ('{\\"password\\": \\"hunter2x\\"}', "hunter2x"),
    ('password: "my secret pass phrase"', "pass phrase"),
    ("Passwort: geheim123", "geheim123"),
    ("das Kennwort lautet Sonnenschein", "Sonnenschein"),
    ("contraseña: abrete123", "abrete123"),
    ("mot de passe : soleil42", "soleil42"),
    ("密码：qwerty789", "qwerty789"),  # noqa: RUF001
    ("パスワード: sakura123", "sakura123"),
    ("пароль: medved123", "medved123"),
    ("senha: banana77", "banana77"),
    ("gsk_abcdEFGH1234567890abcdEFGH1234567890", "abcdEFGH"),
    ("SG.abcDEF123456.ghiJKL7890abcDEF123", "ghiJKL"),
    ("pplx-abcdef1234567890abcdef1234567890", "abcdef12"),
    ("xai-ABCdef1234567890abcdef", "ABCdef"),
    ("dapi0123456789abcdef0123456789abcdef", "dapi0123"),
    ("GOCSPX-AbCdEf123456789", "AbCdEf"),
    ("hvs.CAESIJ1234567890abcdefgh", "CAESIJ"),
    ("bot 123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AAHdqT"),
    ("xapp-1-A012-345-abcdef", "abcdef"),
    ("r8_AbCdEf1234567890AbCdEf", "AbCdEf"),
    ("tvly-dev-AbC123456789xyz", "AbC123"),
    ("lin_api_AbCdEf1234567890", "AbCdEf"),
    ("secret_AbCdEf1234567890AbCdEf", "AbCdEf"),
    ("glsa_AbCdEf1234567890_12345678", "AbCdEf"),
    ("pat-na1-12345678-1234-1234-1234-123456789012", "12345678-1234"),
    ("curl -u admin:hunter2x https://x.example", "hunter2x"),
    ("Cookie: sessionid=abc123def456", "abc123def"),
    ("Authorization: Token 9944b09199c62bcf", "9944b0"),
    ("tel 030 1234567", "1234567"),
    ("Telefon: 0170/1234567", "1234567"),
    ("06 12 34 56 78 est mon téléphone", "34 56"),
    ("Mein Name ist Ada Lovelace", "Lovelace"),
    ("ich heiße Özlem Özdemir", "zdemir"),
    ("je m'appelle Élodie Dupont", "Dupont"),
    ("me llamo Íñigo Montoya", "Montoya"),
    ("Frau Özdemir", "zdemir"),
    ("fe80::1ff:fe23:4567:890a", "fe23"),
    ("2001:db8::8a2e:370:7334", "8a2e"),
    ("postgres://u:p@ss@db/x", "p@ss"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabcd", "abcd"),
    ("PIN: 4711", "4711"),
    ("passcode is 998877", "998877"),
    ("api key sk_test_abcdefghijklmnop", "abcdefghij"),
    ("client_secret=abcDEF~123.456", "abcDEF"),
    ("key a8f3k2m9q7w1x5z0b4n6c8v2d1s3g5h7", "a8f3k2"),
    ("Müller.Jörg@exämple.de", "exämple"),
    ("mit Passwort hunter2x", "hunter2x"),
    ("with the password hunter2x", "hunter2x"),
    ("MYSQL_PWD=abcd1234", "abcd1234"),
    ("DATABASE_URL=redis://:p4ssw0rd@host:6379", "p4ssw0rd"),
    ("token=abc", "abc"),
    ("VISA 4111-1111-1111-1111", "1111-1111"),
    ("GB82 WEST 1234 5698 7654 32", "5698"),
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
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixes it",
    "git checkout 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "https://github.com/o/r/commit/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "ISBN 978-0-306-40615-7",
    "ISBN 9780306406157",
    "isbn 0-306-40615-2",
    "order 4000000000000",
    "order 10248-7731",
    "invoice INV-2024-000123",
    "version 1.2.3.4",
    "Chrome/120.0.0.0",
    "numpy==1.26.4.1",
    "react@18.2.0",
    "actions/checkout@v4",
    "golang.org/x/net@v0.17.0",
    "image@sha256:abc",
    "npm_config_registry",
    "npm-check-updates",
    "hf-internal-testing/tiny-random-bert",
    "pk_user_accounts",
    "sk_buff_head_init",
    "pypi-publish-action",
    "sk-learn-pipeline",
    "basic functionality works",
    "Basic Authentication",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "src/Components/v2/UserProfileCardTest",
    "test_Base64EncoderHandlesLongInput2",
    "mcp__GitHub2__CreatePullRequest",
    "token: str",
    "def login(user: str, password: str) -> None",
    "password=password",
    "api_key=os.environ['KEY']",
    "token = get_token()",
    "threading.local()",
    "settings.local.json",
    ".env.local",
    "host.docker.internal",
    "sun.internal.misc",
    "+2026-11-30 12:00:01",
    "timestamp 1733000000000000000",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3-5-sonnet-20241022-v2:0",
    "claude-3-5-sonnet-20241022",
    "gpt-4o-2024-08-06",
    "2026-11-30T19:35:00Z",
    "12:34:56:78:90",
    "std::vector::a::b::c",
    "call 911",
    "room 101-22-3333x",
    "trace 4bf92f3577b34da6a3ce929d0e0e4736",
    "call_AbCdEf0123456789AbCdEf01",
    "chatcmpl-AbCdEf0123456789AbCdEf0123",
    "toolu_01A09q90qw90lq917835lq9",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "the password must be 12 characters",
    "secret: see vault",
    "the token is expired",
    "key: value",
    "is the token valid",
    "passed: 12 tests",
    "compass: north",
    "tokens: 1234",
    "max_token: 4096",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    " 1,234,567,890 rows",
    "123-45-67890",
    "pages 100-200-3000",
    "port 5432",
    "git@github.com:org/repo.git",
    "@pytest.fixture",
    "foo@bar",
    "AWS4-HMAC-SHA256",
    "ThisIsAVeryLongCamelCaseIdentifier2",
    "a/b/c/d/e/f/g/H1/i/j/k/l/m/n",
    "/usr/lib/python3.11/site-packages/Django",
    "/home/user/x",
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


COSTLY = [
    "a-" * 900,
    "a-" * 900 + "password",
    "a" * 1799 + "@",
    "a." * 899 + "@",
    "://" + "a" * 1790 + "@",
    "a." * 890 + ".local",
    "-----BEGIN PRIVATE KEY-----" * 66,
    "password: " * 180,
    "curl " * 360,
    "aB1-" * 450,
    "AB12" + " ABCD" * 360,
    "1 " * 900,
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", COSTLY, ids=range(len(COSTLY)))
def test_no_text_costs_more_than_its_length(text: str) -> None:
    """Thirty times what is ever looked at takes milliseconds; a pattern that looks back, minutes."""
    redact(text * 30)
