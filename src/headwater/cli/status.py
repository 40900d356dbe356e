"""`headwater status`."""

from dataclasses import asdict

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session


@headwater_command(
    "status",
    examples=("headwater status", "headwater status --profile prod", "headwater status --json"),
)
def command(session: Session) -> None:
    """Show the broker, its topics and how far behind its readers are."""
    with session.connect() as client:
        address = client.connection.address
        cluster = client.admin.cluster()
        topics = client.admin.topics.list()
        groups = client.admin.groups.describe_all()
    status = {
        "address": address.bootstrap,
        "origin": address.origin,
        "cluster": cluster.id,
        "nodes": [asdict(node) for node in cluster.nodes],
        "topics": len(topics),
        "partitions": sum(topic.partitions for topic in topics),
        "records": sum(topic.records for topic in topics),
        "groups": [
            {
                "group": group.group,
                "state": group.state,
                "members": len(group.members),
                "lag": group.lag,
                "lag_seconds": group.lag_seconds,
            }
            for group in groups
        ],
    }
    if session.output.is_json:
        session.output.document(status)
        return
    facts = ("address", "origin", "cluster", "topics", "partitions", "records")
    rows = [{"what": name, "is": str(status[name])} for name in facts]
    session.output.rows(("what", "is"), [*rows, {"what": "nodes", "is": str(len(cluster.nodes))}])
    if groups:
        session.output.line("")
        session.output.rows(
            ("group", "state", "members", "lag", "lag_seconds"),
            status["groups"],  # type: ignore[arg-type]
        )
