"""What happens to topics and brokers under a follower: each case ends clearly, and with the right rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from followers.conftest import Rig
from followers.test_following import is_caught_up, table
from headwater.client import Client
from headwater.followers.follower import Follower
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.sqlite.store import SqliteStore
from headwater.testing import Broker
from headwater.views import encode_key
from rigs.changelog import Changelog, make_view, new_name, revenue

DAY_MS = 86_400_000


def file_of(follower: Follower) -> Path:
    assert isinstance(follower.served, SqliteStore)
    return follower.served.file


@pytest.fixture
def followed(settable_rig: Rig, changelog: Changelog) -> Follower:
    changelog.put(revenue(1))
    changelog.put(revenue(2))
    follower = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(follower, changelog))
    return follower


def recreate(client: Client, topic: str, partitions: int = 2) -> None:
    client.admin.topics.delete(topic)
    while topic in client.admin.topics.names():
        pass
    client.admin.topics.create(
        topic, partitions=partitions, replicas=1, configs={"cleanup.policy": "compact"}
    )


def test_a_topic_that_is_deleted_and_made_anew_is_built_again_though_its_offsets_fit(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    recreate(client, changelog.view.topic)
    for customer in range(10, 40):  # more than there were: no offset is out of range
        changelog.put(revenue(customer))
    settable_rig.clock.advance(seconds=6)  # it looks at its topic now and then
    settable_rig.until(lambda: is_caught_up(followed, changelog) and len(table(followed)) == 30)
    assert table(followed) == changelog.table()


def test_a_topic_that_is_made_anew_while_nobody_looks_is_built_again(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    settable_rig.stop()
    recreate(client, changelog.view.topic)
    for customer in range(10, 40):
        changelog.put(revenue(customer))
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(again, changelog) and len(table(again)) == 30)
    assert table(again) == changelog.table()
    assert followed.is_stopped


def test_a_topic_that_is_gone_leaves_the_rows_and_a_reason(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    before = table(followed)
    client.admin.topics.delete(changelog.view.topic)
    settable_rig.clock.advance(seconds=6)
    settable_rig.until(lambda: followed.status().state == "waiting")
    assert "does not exist" in followed.status().reason
    assert table(followed) == before


def test_records_that_were_removed_before_they_were_read_mean_a_build_from_what_is_there(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    settable_rig.stop()
    first = file_of(followed)
    for customer in range(3, 30):
        changelog.put(revenue(customer))
    client.admin.topics.alter(changelog.view.topic, set={"cleanup.policy": "compact,delete"})
    client.admin.topics.trim(client.admin.topics.plan_trim(changelog.view.topic, before="-3"))
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(again, changelog) and file_of(again) != first)
    assert table(again) == changelog.table()
    assert len(table(again)) == 6


def test_a_deletion_that_compaction_forgot_is_not_missed(
    settable_rig: Rig, changelog: Changelog, followed: Follower
) -> None:
    """Longer away than delete.retention.ms: a tombstone may have come and gone. Only zero is safe."""
    settable_rig.stop()
    first = file_of(followed)
    changelog.put(revenue(3))
    settable_rig.clock.advance(seconds=DAY_MS / 1000 - 60)
    kept = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(kept, changelog))
    assert file_of(kept) == first
    settable_rig.stop()
    changelog.put(revenue(4))
    settable_rig.clock.advance(seconds=DAY_MS / 1000)
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(again, changelog))
    assert file_of(again) != first
    assert table(again) == changelog.table()


def test_standing_still_for_long_is_not_being_away(
    settable_rig: Rig, changelog: Changelog, followed: Follower
) -> None:
    first = file_of(followed)
    settable_rig.clock.advance(seconds=3 * DAY_MS / 1000)
    assert followed.served is not None
    settable_rig.until(lambda: followed.served.fresh_ms == settable_rig.clock.now_ms())
    settable_rig.stop()
    changelog.put(revenue(3))
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(again, changelog))
    assert file_of(again) == first


def test_more_partitions_are_refused_with_what_to_do(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    settable_rig.stop()
    client.admin.topics.add_partitions(changelog.view.topic, total=4)
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: again.status().state == "failed")
    assert "has 4 partitions and had 2" in again.status().reason
    assert table(again) == changelog.table()
    assert followed.is_stopped


def test_partitions_that_are_added_under_a_running_follower_are_noticed(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    """It would follow on for ever, and never see what is written to the new ones."""
    client.admin.topics.add_partitions(changelog.view.topic, total=4)
    settable_rig.clock.advance(seconds=6)
    settable_rig.until(lambda: followed.status().state == "failed")
    assert "has 4 partitions and had 2" in followed.status().reason


def test_what_cannot_be_applied_is_in_the_dead_letter_topic_once_with_reason_and_origin(
    settable_rig: Rig, changelog: Changelog, client: Client, followed: Follower
) -> None:
    topic = changelog.view.topic
    key = encode_key(changelog.view, {"minute": "2026-09-01T10:00Z", "customer": 9})
    bad = changelog.write(key, key[:-1] + b',"orders":"many"}').result()
    changelog.write(b"no key of ours", b"{}").result()
    last = changelog.put(revenue(3))
    settable_rig.until(lambda: followed.status().rejected == 2)
    settable_rig.until(lambda: (followed.status().as_of or {}).get(last.partition, 0) > last.offset)
    followed.rebuild()
    settable_rig.until(lambda: followed.tail.now.epoch == 2)
    assert [each["customer"] for each in table(followed)] == [1, 2, 3]
    assert followed.status().rejected == 2
    with client.consumer(f"{topic}.dead", until="end", value_format="bytes") as letters:
        found = list(letters)
    assert len(found) == 2
    (letter,) = [each for each in found if each.key_bytes == key]
    assert letter.raw_value == key[:-1] + b',"orders":"many"}'
    assert letter.header("headwater.reason") == b"orders is not a bigint"
    origin = [letter.header(f"headwater.{name}") for name in ("topic", "partition", "offset")]
    assert origin == [topic.encode(), str(bad.partition).encode(), str(bad.offset).encode()]
    assert letter.header("headwater.view") == changelog.view.name.encode()


def test_a_record_as_large_as_its_topic_allows_fits_into_the_dead_letters(
    rig: Rig, new_changelog: Callable[..., Changelog], client: Client
) -> None:
    changelog = new_changelog(configs={"max.message.bytes": "3000000"})
    key = encode_key(changelog.view, {"minute": "2026-09-01T10:00Z", "customer": 9})
    name = b"x" * 2_900_000
    with client.producer(value_format="bytes", options={"message.max.bytes": 3_000_000}) as large:
        large.send(changelog.view.topic, key[:-1] + b',"orders":"?","name":"%b"}' % name, key=key)
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert [each["customer"] for each in table(follower)] == [1]
    assert follower.status().rejected == 1


def test_a_topic_without_any_bound_for_its_records_has_dead_letters_too(
    rig: Rig, new_changelog: Callable[..., Changelog]
) -> None:
    changelog = new_changelog(configs={"max.message.bytes": str(2**31 - 1)})
    changelog.write(b"no key of ours", b"{}").result()
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert follower.status().rejected == 1
    assert len(table(follower)) == 1


def test_a_record_of_a_time_that_only_its_own_topic_allows_is_a_dead_letter_and_the_view_goes_on(
    rig: Rig, new_changelog: Callable[..., Changelog], client: Client
) -> None:
    changelog = new_changelog(configs={"message.timestamp.after.max.ms": str(2**62)})
    far_ms = 7_258_118_400_000
    changelog.write(b"no key of ours", b"{}", timestamp=far_ms).result()
    changelog.put(revenue(1))
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert len(table(follower)) == 1
    dead = f"{changelog.view.topic}.dead"
    with client.consumer(dead, until="end", value_format="bytes") as letters:
        (letter,) = letters
    assert letter.header("headwater.timestamp") == str(far_ms).encode()


@pytest.mark.parametrize("rest", [b'"price":"1e9999999"', b'"other":1.0e-9999999999999999999999'])
def test_a_number_beyond_all_bounds_is_a_dead_letter_and_the_view_goes_on(
    rig: Rig, new_changelog: Callable[..., Changelog], rest: bytes
) -> None:
    changelog = new_changelog(columns={"id": "int", "price": "decimal(20,2)"}, key=("id",))
    changelog.write(b'{"id":1}', b'{"id":1,%b}' % rest).result()
    changelog.put({"id": 2, "price": "1.00"})
    follower = rig.follower(changelog.view)
    rig.until(lambda: is_caught_up(follower, changelog))
    assert table(follower) == [{"id": 2, "price": "1.00"}]
    assert follower.status().rejected == 1


def test_a_rebuild_that_is_interrupted_goes_on(
    settable_rig: Rig, changelog: Changelog, followed: Follower
) -> None:
    """Paused before it could begin, and the server restarted in the middle of it."""
    first = file_of(followed)
    followed.pause()
    followed.rebuild()
    settable_rig.until(lambda: followed.status().state == "paused")
    followed.resume()
    settable_rig.until(lambda: followed.served is not None and file_of(followed) != first)
    second = file_of(followed)
    settable_rig.stop()
    beside = SqliteShelf(second.parents[1])
    topic = SqliteStore(second)
    beside.create(changelog.view, topic.topic_id, {0: 0, 1: 0}, now_ms=1).close()
    topic.close()
    beside.close()
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: again.served is not None and file_of(again) != second)
    settable_rig.until(lambda: is_caught_up(again, changelog))
    assert table(again) == changelog.table()


def test_a_damaged_store_is_built_again_from_the_topic(
    settable_rig: Rig, changelog: Changelog, followed: Follower
) -> None:
    settable_rig.stop()
    file_of(followed).write_bytes(b"\xa5" * 8192)
    again = settable_rig.follower(changelog.view)
    settable_rig.until(lambda: is_caught_up(again, changelog))
    assert table(again) == changelog.table()


def test_a_broker_that_goes_away_and_comes_back_is_followed_again(tmp_path: Path) -> None:
    import headwater
    from headwater.testing import SettableClock

    clock = SettableClock()
    with Broker() as broker, headwater.connect(broker.bootstrap, timeout_s=4) as client:
        view = make_view(new_name())
        broker.create_topic(view.topic, cleanup_policy="compact")
        client.admin.views.define(view)
        changelog = Changelog(client, view)
        changelog.put(revenue(1))
        rig = Rig(client, tmp_path / "views", clock)
        follower = rig.follower(view)
        rig.until(lambda: is_caught_up(follower, changelog))
        before = table(follower)
        broker.kill()
        clock.advance(seconds=6)
        rig.until(lambda: follower.status().state == "waiting")
        assert table(follower) == before
        assert (follower.status().lag_seconds or 0) > 0
        broker.start()
        receipt = changelog.put(revenue(2))
        rig.until(lambda: (follower.status().as_of or {}).get(0, 0) > receipt.offset)
        assert table(follower) == changelog.table()
        rig.stop()


def test_a_view_can_be_defined_before_its_topic(
    rig: Rig, new_changelog: Callable[..., Changelog], client: Client
) -> None:
    changelog = new_changelog()
    view: Any = make_view(new_name())
    client.admin.views.define(view)
    follower = rig.follower(view)
    rig.until(lambda: follower.status().state == "waiting")
    assert "does not exist" in follower.status().reason
    client.admin.topics.create(view.topic, partitions=1, replicas=1)
    later = Changelog(client, view)
    later.put(revenue(1))
    rig.until(lambda: is_caught_up(follower, later))
    assert table(follower) == later.table()
    client.admin.views.drop(view.name)
    client.admin.topics.delete(view.topic)
    assert changelog.table() == []
