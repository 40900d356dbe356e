from hypothesis import given
from hypothesis import strategies as st

from headwater.broker.deadlines import Deadline, Deadlines, Now


def at(seconds: float) -> Now:
    return Now(seconds, 0)


def test_deadline_expires_once_when_its_time_has_come():
    expired: list[float] = []
    deadlines = Deadlines()
    deadlines.set(Deadline(lambda now: expired.append(now.s)), 5)

    for second in (4, 5, 6):
        deadlines.expire_due(at(second))

    assert expired == [5]


def test_moving_a_deadline_later_makes_no_new_entry():
    expired: list[float] = []
    deadlines = Deadlines()
    deadline = Deadline(lambda now: expired.append(now.s))
    for second in range(1, 1000):
        deadlines.set(deadline, second)

    assert len(deadlines._heap) == 1
    deadlines.expire_due(at(998))
    assert expired == []
    deadlines.expire_due(at(999))
    assert expired == [999]


def test_moving_a_deadline_earlier_takes_effect():
    expired: list[float] = []
    deadlines = Deadlines()
    deadline = Deadline(lambda now: expired.append(now.s))
    deadlines.set(deadline, 300)
    deadlines.set(deadline, 10)
    deadlines.expire_due(at(10))
    assert expired == [10]

    deadlines.set(deadline, 305)
    deadlines.expire_due(at(300))
    assert expired == [10]
    deadlines.expire_due(at(305))
    assert expired == [10, 305]


def test_cancelled_deadline_does_not_expire():
    expired: list[float] = []
    deadlines = Deadlines()
    deadline = Deadline(lambda now: expired.append(now.s))
    deadlines.set(deadline, 5)
    deadlines.cancel(deadline)

    deadlines.expire_due(at(10))

    assert expired == []
    assert deadlines.next_s() is None


def test_deadline_cancelled_by_another_that_is_due_too_does_not_expire():
    expired: list[str] = []
    deadlines = Deadlines()
    second = Deadline(lambda _: expired.append("second"))
    first = Deadline(lambda _: deadlines.cancel(second))
    deadlines.set(first, 5)
    deadlines.set(second, 6)

    deadlines.expire_due(at(7))

    assert expired == []


def test_deadline_that_sets_itself_anew_waits_for_the_next_call():
    expired: list[float] = []
    deadlines = Deadlines()

    def again(now: Now) -> None:
        expired.append(now.s)
        deadlines.set(deadline, now.s)

    deadline = Deadline(again)
    deadlines.set(deadline, 5)
    deadlines.expire_due(at(5))

    assert expired == [5]


def test_is_told_when_the_next_deadline_comes_sooner():
    told: list[int] = []
    deadlines = Deadlines(on_sooner=lambda: told.append(1))
    deadlines.set(Deadline(lambda _: None), 10)
    deadlines.set(Deadline(lambda _: None), 20)
    assert len(told) == 1

    deadlines.set(Deadline(lambda _: None), 5)
    assert len(told) == 2


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "cancel", "pass"]),
            st.integers(0, 2),
            st.integers(0, 20),
        )
    )
)
def test_behaves_like_a_deadline_each_with_its_own_alarm(steps: list[tuple[str, int, int]]):
    expired: list[int] = []
    deadlines = Deadlines()
    each = [Deadline(lambda _, name=name: expired.append(name)) for name in range(3)]
    model: dict[int, int] = {}
    now = 0
    for step, name, amount in steps:
        expired.clear()
        if step == "set":
            deadlines.set(each[name], now + 1 + amount)
            model[name] = now + 1 + amount
        elif step == "cancel":
            deadlines.cancel(each[name])
            model.pop(name, None)
        else:
            now += amount
            due = {name for name, at_s in model.items() if at_s <= now}
            deadlines.expire_due(at(now))
            assert sorted(expired) == sorted(due)
            model = {name: at_s for name, at_s in model.items() if name not in due}
        next_s = deadlines.next_s()
        assert not model or (next_s is not None and next_s <= min(model.values()))
