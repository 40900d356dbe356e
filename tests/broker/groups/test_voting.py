from headwater.broker.groups.voting import Ballot, Protocols


def ballot_of(*voters: Protocols) -> Ballot:
    ballot = Ballot()
    for each in voters:
        ballot.add(each)
    return ballot


def named(*names: str) -> Protocols:
    return tuple((name, b"") for name in names)


def test_protocol_that_most_members_want_wins():
    voters = [named("range", "sticky"), named("sticky", "range"), named("sticky", "range")]

    assert ballot_of(*voters).elect(voters) == "sticky"


def test_protocol_that_not_all_members_know_cannot_win():
    voters = [named("new", "range"), named("new", "range"), named("range")]

    assert ballot_of(*voters).elect(voters) == "range"


def test_common_protocol_is_found_only_if_all_know_it():
    ballot = ballot_of(named("range", "sticky"), named("range"))

    assert ballot.has_common(["sticky", "range"], 2)
    assert not ballot.has_common(["sticky"], 2)


def test_removed_voter_no_longer_counts():
    ballot = ballot_of(named("range", "sticky"), named("range"))
    ballot.remove(named("range"))

    assert ballot.has_common(["sticky"], 1)
    assert ballot._known_by == {"range": 1, "sticky": 1}
