"""What a reader of the topic does not see any more must not make it keep rows that are gone."""

from pathlib import Path

import headwater
from headwater.testing import Broker, SettableClock, ViewServer
from rigs.changelog import Changelog, make_view, new_name, revenue
from serve.conftest import Http
from serve.sse import Stream

HOUR_MS = 3_600_000
WHERE = "total > 5"


def test_a_row_that_left_a_filter_by_a_change_that_was_compacted_away_leaves_it_with_the_next_one(
    tmp_path: Path,
) -> None:
    """Its reader catches up from the topic, where that change is no more, and then follows the view."""
    clock = SettableClock()
    with Broker(clock=clock) as broker, headwater.connect(broker.bootstrap) as client:
        view = make_view(new_name())
        broker.create_topic(
            view.topic,
            cleanup_policy="compact",
            message_timestamp_type="LogAppendTime",
            segment_ms=HOUR_MS,
            min_cleanable_dirty_ratio="0.01",
            max_compaction_lag_ms=HOUR_MS,
        )
        client.admin.views.define(view)
        changelog, path = Changelog(client, view), f"/views/{view.name}/subscribe"
        changelog.put(revenue(7, 10.0))
        with ViewServer(broker.bootstrap, data=tmp_path / "views") as server:
            reads(server, view.name, rows=1)
            with Stream(Http(server.url).host, path, where=WHERE) as early:
                known = early.read(2)[1].id
            left = changelog.put(revenue(7, 1.0))
            reads(server, view.name, offset=left.offset)
        with ViewServer(broker.bootstrap, data=tmp_path / "views") as server:
            host = Http(server.url).host
            reads(server, view.name, offset=left.offset)
            with Stream(host, path, where=WHERE):  # somebody for whom rows before changes are read
                for number in range(1500):
                    changelog.start_put(revenue(100 + number))
                changelog.flush()
                reads(server, view.name, rows=1501)
                reads(server, view.name, offset=changelog.put(revenue(7, 2.0)).offset)
            for _ in range(4):
                clock.advance(seconds=HOUR_MS / 1000)
                changelog.put(revenue(8))
            offsets = [offset for _, _, _, offset in changelog.records()]
            assert left.offset not in offsets, "it was not compacted away: nothing is tested"
            changelog.put(revenue(9, 50.0))
            told = []
            with Stream(host, path, where=WHERE, last_id=known) as late:
                for each in late:
                    if each.data["key"]["customer"] == 9:
                        break
                    told.append((each.data["key"]["customer"], each.data["kind"]))
    assert [kind for customer, kind in told if customer == 7] == ["delete"]


def reads(server: ViewServer, name: str, rows: int = 0, offset: int = -1) -> None:
    """Wait until the view has so many rows, and this record."""
    has_rows, at = -1, -1
    while has_rows < rows or at <= offset:
        answer = Http(server.url).get(f"/views/{name}")[1]
        has_rows, at = answer.get("rows") or 0, (answer.get("as_of") or {}).get("0", 0)
