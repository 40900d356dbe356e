"""`headwater pipeline`: one file per verb."""

from headwater.cli.lazy import LazyGroup

command = LazyGroup(
    "pipeline",
    package=__name__,
    summaries={
        "run": "Run the pipelines of this folder",
        "check": "Plan the pipelines and say what is wrong, without running them",
        "list": "List queries with their state and lag",
        "describe": "Show everything about the queries of a pipeline",
        "graph": "Draw what reads what",
        "pause": "Stop queries until they are resumed",
        "resume": "Let paused queries go on",
        "reset": "Forget the results of a query and begin again",
    },
    help="Run pipelines on Spark and see how they do.",
)
