"""Where a pipeline runs: which log, which Spark, where its progress is kept. A profile names all three."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from headwater.streams.run.checkpoints import Checkpoints


@dataclass(frozen=True, slots=True)
class Surroundings:
    bootstrap: str
    state: Path
    """A folder that driver and executors share; on one machine, any folder."""
    master: str = "local[*]"
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    kafka_options: Mapping[str, str] = field(default_factory=dict)
    """Security and the like, by librdkafka's names."""
    trigger_interval: str = "0 seconds"
    """The least time from one batch to the next; 0 is as soon as there is data."""
    on_change: Literal["refuse", "keep"] = "refuse"

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.state)

    def options(self) -> dict[str, str]:
        """What source and sink need to find the log."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            **{f"kafka.{name}": value for name, value in self.kafka_options.items()},
        }
