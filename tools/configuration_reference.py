"""Write docs/configuration.md from the broker's settings and the topic configs.

python tools/configuration_reference.py            write the page
python tools/configuration_reference.py --check    fail when the page is out of date
"""

import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

from headwater.broker.topic_configs import TOPIC_CONFIGS
from headwater.config import BrokerSettings, ViewSettings
from headwater.log.settings import LONG_MAX

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"

PREAMBLE = """# Configuration

<!-- Written by tools/configuration_reference.py: change the tables in the code, then run it again. -->

## The broker

A setting is taken from the first place that has it:

1. a flag of `headwater serve` or `headwater dev`: `--max-connections 100`
2. an environment variable: `HEADWATER_MAX_CONNECTIONS=100`
3. `headwater.toml`, in the folder of the command or named by `--config`:

   ```toml
   [broker]
   max_connections = 100
   topic_defaults = { "retention.ms" = "86400000" }
   ```

4. the default

`headwater serve --print-config` shows every value and where it came from. A name or a value that is
wrong stops the start with one sentence; nothing is ignored in silence. Settings are fixed at start.
"""

TOPICS = """
## Topics

Configs of a topic are Kafka's, by name, type and default. They are set when the topic is created
(`headwater topic create NAME --set retention.ms=3600000`), changed later (`headwater topic alter`), or
given for all topics by the broker's `topic_defaults`. Any Kafka tool can do the same.
"""


VIEWS_PREAMBLE = """
## The server of views

The same places, with variables that begin with `HEADWATER_VIEWS_` and the section `[views]`;
`headwater view serve --print-config` shows them.
"""


def main() -> None:
    settings = [*_table(BrokerSettings), VIEWS_PREAMBLE, *_table(ViewSettings)]
    page = "\n".join([PREAMBLE, *settings, TOPICS, *_topics()]) + "\n"
    if "--check" not in sys.argv:
        PAGE.write_text(page)
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit(
            "docs/configuration.md is out of date: run python tools/configuration_reference.py"
        )


def _table(settings: type[BrokerSettings | ViewSettings]) -> Iterator[str]:
    yield "| setting | default | meaning |"
    yield "| --- | --- | --- |"
    for each in fields(settings):
        default = each.default if each.default is not MISSING else ""
        yield f"| `{each.name}` | {_shown(default)} | {each.metadata['meaning']} |"


def _topics() -> Iterator[str]:
    yield "| config | default | meaning |"
    yield "| --- | --- | --- |"
    for name, config in TOPIC_CONFIGS.items():
        default = "no limit" if config.default == str(LONG_MAX) else _shown(config.default)
        yield f"| `{name}` | {default} | {config.meaning} |"


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    main()
