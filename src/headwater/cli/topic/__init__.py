"""`headwater topic`: one file per verb."""

from headwater.cli.lazy import LazyGroup

command = LazyGroup(
    "topic",
    package=__name__,
    summaries={
        "create": "Create a topic",
        "list": "List topics",
        "describe": "Show the partitions and settings of a topic",
        "alter": "Change settings of a topic, or add partitions",
        "delete": "Delete topics with all their records",
        "trim": "Remove the oldest records of a topic",
        "produce": "Write records, from the arguments or from stdin",
        "tail": "Read records as they arrive, or a range of them",
        "import": "Write the records of a file into a topic",
        "export": "Write the records of a topic into a file",
    },
    help="Create, read, write and change topics.",
)
