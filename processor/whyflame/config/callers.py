"""Who calls: whether a request may pass, and which tenant it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyflame.config.tenants import TENANT_RULE, is_tenant
from whyflame.config.tokens import BearerTokens
from whyflame.errors import PermanentError

if TYPE_CHECKING:
    from whyflame.config.sections import AuthConfig

__all__ = ["Callers"]


class Callers:
    """The rule of one `auth` block. Thread-safe.

    A token that names a tenant decides alone. Without one the tenant comes from the configured
    header, which must then be there; without a header all is one tenant, "".

    Args:
        auth: The block.

    Raises:
        ConfigError: The token file cannot be used.
    """

    def __init__(self, auth: AuthConfig) -> None:
        self._tokens = BearerTokens(auth.bearer_tokens_file)
        self.header = auth.tenant_header.lower()

    def demand(self, authorization: str | None) -> str:
        """The tenant of a token, "" when it names none.

        Raises:
            PermanentError: No valid token (`unauthenticated`).
        """
        tenant = self._tokens.tenant_of(authorization)
        if tenant is None:
            raise PermanentError("a valid bearer token is required", "unauthenticated")
        return tenant

    def identify(self, authorization: str | None, named: str | None) -> str:
        """The tenant of a request.

        Args:
            authorization: Value of the header `Authorization`.
            named: Value of the tenant header.

        Raises:
            PermanentError: No valid token (`unauthenticated`); no tenant, one that cannot be, or
                another one than the token's (`tenant`).
        """
        tenant = self.demand(authorization)
        if not self.header:
            return tenant
        if named and not is_tenant(named):
            raise PermanentError(f"{self.header}: {TENANT_RULE}", "tenant")
        if tenant and named and named != tenant:
            raise PermanentError(
                f"the token belongs to another tenant than {self.header}", "tenant"
            )
        if not tenant and not named:
            raise PermanentError(f"name the tenant in the header {self.header}", "tenant")
        return tenant or named or ""
