"""`headwater group`: one file per verb."""

from headwater.cli.lazy import LazyGroup

command = LazyGroup(
    "group",
    package=__name__,
    summaries={
        "list": "List consumer groups with their lag",
        "describe": "Show the members of a group and its lag per partition",
        "seek": "Move a group to another position",
        "delete": "Delete groups with their positions",
    },
    help="See how far consumer groups are, and move them.",
)
