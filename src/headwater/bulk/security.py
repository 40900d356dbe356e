"""How a connection is secured: not at all, or by TLS. The names are librdkafka's, with `_` for `.`."""

import ssl
from dataclasses import dataclass

from headwater.errors import InvalidRequest, NotSupported


@dataclass(frozen=True, slots=True)
class Security:
    security_protocol: str = "PLAINTEXT"
    ssl_ca_location: str | None = None
    ssl_certificate_location: str | None = None
    ssl_key_location: str | None = None
    ssl_key_password: str | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return what wraps a socket, None for plain text."""
        protocol = self.security_protocol.upper()
        if protocol == "PLAINTEXT":
            return None
        if protocol != "SSL":
            raise NotSupported(
                f"Spark's side cannot log in with {self.security_protocol} yet",
                hint="use a listener with PLAINTEXT or SSL",
            )
        try:
            context = ssl.create_default_context(cafile=self.ssl_ca_location)
            if self.ssl_certificate_location:
                context.load_cert_chain(
                    self.ssl_certificate_location, self.ssl_key_location, self.ssl_key_password
                )
        except OSError as error:
            raise InvalidRequest(
                f"the certificates for TLS cannot be read: {error}",
                hint="the ssl.* options name PEM files, which every machine that reads must have",
            ) from error
        return context
