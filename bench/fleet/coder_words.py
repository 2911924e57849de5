"""Wordings of the coder: requests, thoughts, code and results."""

from __future__ import annotations

LOGIN_PROMPTS = [
    "The login test fails. Please fix the failing login test.",
    "test_login_redirect is red on main, can you fix the failing login test?",
    "Fix the broken login test, it started to fail after the last merge.",
    "CI shows a failing login test in the accounts service. Please fix it.",
    "Please repair the login test: the redirect assertion fails.",
    "The sign-in test fails since this morning. Fix the login test please.",
]
AUTH_PROMPTS = [
    "Users are logged out after token refresh. Diagnose the authentication failure.",
    "Please diagnose why authentication fails in the gateway after an hour.",
    "Authentication is rejected with 401 for mobile clients. Diagnose the authentication problem.",
    "We see 401 bursts in production. Diagnose authentication and fix the cause.",
    "Diagnose the authentication error in the billing service: tokens are refused.",
]
UPGRADE_PROMPTS = [
    "Upgrade the dependency {lib} to the newest major version.",
    "Please upgrade {lib}; the old release has a security notice.",
    "Bump {lib} to its current version and make the tests pass.",
    "Upgrade our dependency {lib}, the build warns about it.",
]
MIGRATE_PROMPTS = [
    "Migrate the database: split customer names into two columns.",
    "Write and run a database migration that adds the column {column}.",
    "Please migrate the database table {table} to UUID keys.",
    "We need to migrate the database so that {table} has the column {column}.",
]
FLAKY_PROMPTS = [
    "Reproduce the flaky test {test} and stop it from failing at random.",
    "{test} is flaky. Reproduce the flaky test and fix it.",
    "Please reproduce the flaky test {test}; it fails about once in ten runs.",
    "Find out why the test {test} is flaky and fix the timing.",
]
DIAGNOSE = [
    "Let me diagnose the authentication failure: the {thing} is the first suspect.",
    "I need to diagnose authentication before I change anything. Looking at the {thing}.",
    "I'll diagnose why authentication is refused, starting with the {thing}.",
    "Now I'll diagnose the authentication error in the {thing}.",
    "I'll investigate the authentication failure, the {thing} looks wrong.",
    "Let me debug authentication: how is the {thing} checked?",
]
DEEPER = [
    "The {thing} is read before it is refreshed. Following it further.",
    "Still diagnosing authentication: the {thing} has the wrong audience.",
    "The {thing} is valid here, so the check must fail later.",
    "Diagnosing authentication further: who writes the {thing}?",
    "",
    "",
]
THINGS = ["session cookie", "access token", "refresh token", "signing key", "clock skew", "scope"]
FILES = [
    "auth/session.py",
    "auth/tokens.py",
    "auth/middleware.py",
    "gateway/headers.py",
    "accounts/login.py",
    "auth/keys.py",
]
RUN = [
    "Let me run the tests.",
    "Running the tests to verify the change.",
    "I'll run the tests again.",
    "Run the test suite for this module.",
]
RETRY = [
    "The test command timed out. Let me run the tests again.",
    "Running the tests once more, the worker may have been slow.",
    "I'll run the tests again with the same command.",
    "Retry the tests.",
]
EDIT = [
    "I'll edit the session check so that it reads the refreshed {thing}.",
    "Now I'll edit the session handling of the {thing}.",
    "Editing the session code: compare the {thing} with the right clock.",
]
SNIPPETS = [
    "def load(request):\n    token = request.cookies.get('sid')\n    return verify(token, now())",
    "class Session:\n    ttl = 3600\n    def alive(self):\n        return self.issued + self.ttl > now()",
    "def refresh(token):\n    claims = decode(token)\n    return sign({**claims, 'exp': now() + TTL})",
    "def verify(token, at):\n    claims = decode(token, KEYS)\n    if claims['aud'] != AUDIENCE:\n        raise Refused",
    "KEYS = load_keys(os.fspath(KEY_FILE))  # rotated every 24 h\nAUDIENCE = 'accounts'",
]
FAILURES = [
    "1 failed, 41 passed in 38.2s: test_login_redirect: assert 401 == 302",
    "2 failed, 40 passed in 41.0s: test_login_redirect, test_refresh: Refused: token expired",
    "1 failed, 41 passed in 36.7s: test_session_alive: assert False",
]
