"""`headwater log`: the files of a broker, offline and read-only."""

from headwater.cli.lazy import LazyGroup

COMMANDS = {
    "verify": "Check every file of a data directory against its checksum",
    "dump": "Print the batches or records of a partition's files",
}

command = LazyGroup(
    "log",
    package="headwater.cli.log",
    summaries=COMMANDS,
    help="Look at the files of a broker, offline and read-only.",
)
