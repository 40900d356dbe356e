"""`headwater view`: one file per verb."""

from headwater.cli.lazy import LazyGroup

command = LazyGroup(
    "view",
    package=__name__,
    summaries={
        "list": "List views with their lag",
        "describe": "Show the columns of a view and how it is doing",
        "get": "Show one row by its key",
        "query": "Run a SELECT over views",
        "watch": "Show rows, then every change of them",
        "pause": "Stop applying changes to a view",
        "resume": "Go on after a pause",
        "rebuild": "Build a view again from its topic",
        "serve": "Serve the views of a broker over HTTP",
    },
    help="Ask, query and watch views, and serve them.",
)
