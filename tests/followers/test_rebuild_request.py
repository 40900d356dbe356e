"""A request to build a view again is met once, and never forgotten for an earlier one."""

from headwater.followers.rebuild_request import RebuildRequest


def test_a_request_holds_until_it_is_fulfilled() -> None:
    request = RebuildRequest()
    assert request.take() == ("", False)
    request.make("it is damaged")
    assert request.take() == ("it is damaged", True)
    assert request.take() == ("it is damaged", False), "the build that has begun goes on"
    request.fulfil()
    assert request.take() == ("", False)


def test_a_request_that_comes_while_an_earlier_one_is_fulfilled_is_not_forgotten() -> None:
    request = RebuildRequest()
    request.make("first")
    request.take()
    request.make("second")
    request.fulfil()
    assert request.take() == ("second", True)


def test_a_build_that_was_interrupted_does_not_hide_a_request() -> None:
    request = RebuildRequest()
    request.make("somebody asked for it")
    request.carry_on("it was being built")
    assert request.take() == ("somebody asked for it", True)
    request.fulfil()
    request.carry_on("it was being built")
    assert request.take() == ("it was being built", False)
