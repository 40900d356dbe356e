"""What an operator can set about transactions; names and defaults are Kafka's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """`transaction.*` and `transactional.id.*` of the broker's configuration."""

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 7 * 86_400_000
