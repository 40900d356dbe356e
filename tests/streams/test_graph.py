"""What is wrong with a pipeline is said before anything runs, with the file and line to mend."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.errors import InvalidRequest, NotFound
from headwater.streams.datasets import Expectation, MaterializedView, Table
from headwater.streams.discovery import find_pipelines
from headwater.streams.pipeline import Pipeline
from headwater.streams.user_files import NeedsSpark

ORDERS = "id LONG, customer LONG, total DOUBLE, at TIMESTAMP"


@pytest.fixture
def shop() -> Pipeline:
    shop = Pipeline("shop")
    shop.topic("shop.orders", schema=ORDERS, event_time="at", watermark="10 minutes")
    return shop


def test_a_decorated_function_stays_a_function(shop: Pipeline) -> None:
    @shop.table
    def doubled(orders: int) -> int:
        return 2 * orders

    @shop.materialized_view(key="id")
    def tripled(orders: int) -> int:
        return 3 * orders

    assert (doubled(21), tripled(2)) == (42, 6)


def test_flows_come_after_what_they_read(shop: Pipeline) -> None:
    @shop.table
    def third(second: object) -> object: ...

    @shop.view
    def second(first: object) -> object: ...

    @shop.table
    def first(orders: object) -> object: ...

    graph = shop.graph()
    assert [each.name for each in graph.flows] == ["first", "second", "third"]
    assert [each.name for each in graph.queries] == ["first", "third"]
    assert set(graph.edges()) == {("orders", "first"), ("first", "second"), ("second", "third")}


def test_topics_and_keys_follow_from_names(shop: Pipeline) -> None:
    @shop.materialized_view(key=["minute", "customer"], expect={"positive": ("total >= 0", "drop")})
    def revenue(orders: object) -> object:
        """Revenue per minute."""

    @shop.table(version=2, partition_cols=["id"])
    def checked(orders: object) -> object: ...

    datasets = shop.graph().datasets
    revenue_view, checked_table = datasets["revenue"], datasets["checked"]
    assert isinstance(revenue_view, MaterializedView)
    assert isinstance(checked_table, Table)
    assert (revenue_view.topic, revenue_view.key) == ("shop.revenue", ("minute", "customer"))
    assert revenue_view.comment == "Revenue per minute."
    assert revenue_view.expectations == (Expectation("positive", "total >= 0", "drop"),)
    assert (checked_table.topic, checked_table.key) == ("shop.checked.v2", ("id",))


def test_a_new_version_has_a_topic_of_its_own_also_under_a_given_name(shop: Pipeline) -> None:
    @shop.table(version=2, topic="finance.checked")
    def checked(orders: object) -> object: ...

    (output,) = shop.graph().outputs
    assert output.topic == "finance.checked.v2"


def test_a_table_may_be_read_again_as_a_topic(shop: Pipeline) -> None:
    shop.topic("shop.checked", name="timed", event_time="at", watermark="1 minute")

    @shop.table
    def counted(timed: object) -> object: ...

    @shop.table
    def checked(orders: object) -> object: ...

    assert [each.name for each in shop.graph().flows] == ["checked", "counted"]


def per_day(orders: object) -> object: ...


def a_missing_input(shop: Pipeline) -> None:
    @shop.table
    def doubled(order: object) -> object: ...


def a_circle(shop: Pipeline) -> None:
    @shop.table
    def chicken(egg: object) -> object: ...

    @shop.table
    def egg(chicken: object) -> object: ...


def two_of_one_name(shop: Pipeline) -> None:
    @shop.table
    def orders(orders: object) -> object: ...


def a_flow_into_nothing(shop: Pipeline) -> None:
    @shop.append_flow(target="everything")
    def more(orders: object) -> object: ...


def a_flow_into_a_view(shop: Pipeline) -> None:
    @shop.materialized_view(key="id")
    def latest(orders: object) -> object: ...

    @shop.append_flow(target="latest")
    def more(orders: object) -> object: ...


def a_table_without_flows(shop: Pipeline) -> None:
    shop.create_streaming_table("everything")


def two_flows_of_one_name(shop: Pipeline) -> None:
    shop.create_streaming_table("everything")
    for _ in range(2):

        @shop.append_flow(target="everything")
        def more(orders: object) -> object: ...


def two_outputs_in_one_topic(shop: Pipeline) -> None:
    @shop.table(topic="all")
    def first(orders: object) -> object: ...

    @shop.materialized_view(key="id", topic="all")
    def second(orders: object) -> object: ...


def an_output_in_the_topic_it_reads(shop: Pipeline) -> None:
    @shop.table(topic="shop.orders")
    def doubled(orders: object) -> object: ...


def an_output_in_a_topic_of_the_log_itself(shop: Pipeline) -> None:
    @shop.table(topic="__consumer_offsets")
    def committed(orders: object) -> object: ...


def a_name_that_no_log_takes(shop: Pipeline) -> None:
    @shop.table
    def umsätze(orders: object) -> object: ...  # noqa: PLC2401


def a_flow_whose_checkpoint_would_be_elsewhere(shop: Pipeline) -> None:
    shop.create_streaming_table("everything")

    @shop.append_flow(target="everything", name="../more")
    def more(orders: object) -> object: ...


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (a_missing_input, ["'doubled' reads 'order'", "did you mean 'orders'?"]),
        (a_circle, ["chicken", "egg", "goes in a circle"]),
        (two_of_one_name, ["two datasets 'orders'"]),
        (a_flow_into_nothing, ["'everything', which does not exist", "create_streaming_table"]),
        (a_flow_into_a_view, ["'latest', which is a materialized view"]),
        (a_table_without_flows, ["no flow fills table 'everything'"]),
        (two_flows_of_one_name, ["two flows 'more'"]),
        (two_outputs_in_one_topic, ["'second' would write the topic 'all'", "'first' writes"]),
        (an_output_in_the_topic_it_reads, ["orders -> doubled", "goes in a circle"]),
        (
            an_output_in_a_topic_of_the_log_itself,
            ["'committed' would write the topic '__consumer_offsets', which is the log's own"],
        ),
        (a_name_that_no_log_takes, ["'shop.umsätze' of 'umsätze' is not a name for a topic"]),
        (a_flow_whose_checkpoint_would_be_elsewhere, ["'../more' is not a name for a flow"]),
    ],
)
def test_a_mistake_is_named_with_its_place(
    shop: Pipeline, mistake: Callable[[Pipeline], None], words: list[str]
) -> None:
    mistake(shop)
    with pytest.raises(InvalidRequest) as refusal:
        shop.graph()
    message = str(refusal.value)
    assert all(word in message for word in words), message
    assert "test_graph.py:" in message


def test_a_pipeline_without_queries_is_refused(shop: Pipeline) -> None:
    with pytest.raises(InvalidRequest, match="'shop' has nothing to run"):
        shop.graph()


def test_a_pipeline_of_views_alone_is_refused_and_does_not_wait_for_ever(shop: Pipeline) -> None:
    shop.view(name="seen")(per_day)
    with pytest.raises(
        InvalidRequest, match=r"test_graph\.py:\d+: pipeline 'shop' has nothing to run"
    ):
        shop.graph()


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda _: Pipeline("a b"), "not a name for a pipeline"),
        (lambda _: Pipeline("日本"), "not a name for a pipeline"),
        (lambda _: Pipeline(".."), "not a name for a pipeline"),
        (lambda shop: shop.table(version=0)(per_day), "'per_day' cannot have the version 0"),
        (
            lambda shop: shop.materialized_view(output_mode="complete")(per_day),
            "'per_day' cannot have the output mode 'complete'",
        ),
        (
            lambda shop: shop.table(expect={"r": ("true", "drop", "all")})(per_day),
            "'r' at .* no pair",
        ),
        (lambda shop: shop.table(expect=["total > 0"])(per_day), "rules at .* have no names"),
        (lambda shop: shop.table(expect={"r": True})(per_day), "'r' at .* no pair"),
        (lambda shop: shop.table(keys="id")(per_day), "cannot be told 'keys' .*mean 'key'"),
        (lambda shop: shop.materialized_view(colour=1)(per_day), "'colour' .*it takes: name, "),
        (lambda shop: shop.topic("orders", watermark="1 minute"), "no event time"),
        (lambda shop: shop.topic("shop.2026"), "cannot be the name of a parameter"),
        (
            lambda shop: shop.materialized_view(key="id", expect={"r": ("true", "explode")})(print),
            "no action 'explode'",
        ),
    ],
)
def test_a_wrong_declaration_is_refused_at_once(
    shop: Pipeline, declare: Callable[[Pipeline], object], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        declare(shop)


def test_an_unknown_query_is_named_with_the_nearest(shop: Pipeline) -> None:
    @shop.table
    def revenue(orders: object) -> object: ...

    with pytest.raises(NotFound, match="did you mean 'revenue'"):
        shop.graph().flow("revenu")


def test_pipelines_are_found_in_the_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "shop_a.py").write_text('import headwater as hw\nshop = hw.Pipeline("shop")\n')
    (tmp_path / "shop_b.py").write_text('import headwater as hw\nother = hw.Pipeline("other")\n')
    assert [each.name for each in find_pipelines(tmp_path)] == ["shop", "other"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no pipeline in"),
        ("import headwater as hw\nx = 1 / 0\n", "broken.py:2: ZeroDivisionError"),
        ("def (", "broken.py:1: SyntaxError"),
        ("import sys\nsys.exit(3)\n", "broken.py:2: the file ends the program that reads it"),
        ("x = 1\nimport helper_of_broken\n", "helper_of_broken.py:3: SyntaxError: invalid syntax$"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, content: str, words: str
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(content)
    (tmp_path / "helper_of_broken.py").write_text("x = 1\n\ndef (:\n")
    with pytest.raises((InvalidRequest, NotFound), match=words):
        find_pipelines(file)


def test_a_file_that_is_no_python_and_a_folder_without_any_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a program")
    with pytest.raises(InvalidRequest, match=r"notes\.txt is not a file of Python"):
        find_pipelines(tmp_path / "notes.txt")
    with pytest.raises(NotFound, match=f"there is no file of Python in {tmp_path} "):
        find_pipelines(tmp_path)


def test_files_of_a_folder_that_have_nothing_to_do_with_pipelines_are_not_run(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.py").write_text("import os\nraise ValueError\n")
    with pytest.raises(NotFound, match=f"there is no pipeline in {tmp_path} "):
        find_pipelines(tmp_path)
    (tmp_path / "of_the_shop.py").write_text('import headwater as hw\nshop = hw.Pipeline("shop")\n')
    (tmp_path / "steps.py").write_text(
        "def declare(it, name):\n    it.table(name=name)(lambda: None)\n"
    )
    (tmp_path / "zz_more.py").write_text(
        "from of_the_shop import shop\nfrom steps import declare\ndeclare(shop, 'a')\n"
    )
    (tmp_path / "zz_still_more.py").write_text(
        "import os, of_the_shop, steps as s\ns.declare(of_the_shop.shop, 'b')\n"
    )
    (pipeline,) = find_pipelines(tmp_path)
    assert [each.name for each in pipeline.graph().queries] == ["a", "b"]


def test_a_file_may_have_the_name_of_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "headwater.py").write_text('import headwater as hw\nshop = hw.Pipeline("shop")\n')
    assert [each.name for each in find_pipelines(tmp_path)] == ["shop"]


def test_a_file_for_sparks_own_pipelines_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "sales.py").write_text(
        "from pyspark import pipelines as dp\n"
        "@dp.table\n"
        "def orders():\n"
        "    return spark.readStream.table('raw')\n"
        "@dp.materialized_view(table_properties={'headwater.key': 'day, shop'}, comment='sales')\n"
        "def daily():\n"
        "    return spark.read.table('orders')\n"
        "@dp.temporary_view\n"
        "def raw():\n"
        "    return spark.readStream.format('rate').load()\n"
        "dp.create_streaming_table('everything')\n"
        "@dp.append_flow(target='everything')\n"
        "def first():\n"
        "    return spark.readStream.table('raw')\n"
    )
    (pipeline,) = find_pipelines(tmp_path)
    graph = pipeline.graph()
    daily = graph.datasets["daily"]
    assert isinstance(daily, MaterializedView)
    assert (daily.topic, daily.key, daily.comment) == ("sales.daily", ("day", "shop"), "sales")
    assert {each.name: each.target for each in graph.queries} == {
        "orders": "orders",
        "daily": "daily",
        "first": "everything",
    }


SHADOWED = """
import sys
from pathlib import Path
from headwater.streams.discovery import find_pipelines

sys.modules.pop("numbers", None)
find_pipelines(Path(sys.argv[1]))
import numbers
print(numbers.Number.__name__)
"""


def test_a_pipeline_that_spark_itself_would_run_is_read_by_its_specification(
    tmp_path: Path,
) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(
        "name: sales\nstorage: somewhere\nconfiguration: {spark.sql.shuffle.partitions: 1}\n"
        "libraries: [{glob: {include: transformations/**}}]\n"
    )
    nested = tmp_path / "transformations" / "daily"
    nested.mkdir(parents=True)
    (nested / "numbers.py").write_text(
        "from pyspark import pipelines as dp\n"
        "@dp.materialized_view\n"
        "def numbers():\n"
        "    return spark.range(10)\n"
    )
    for path in (tmp_path, tmp_path / "spark-pipeline.yml"):
        (pipeline,) = find_pipelines(path)
        (flow,) = pipeline.graph().queries
        assert (pipeline.name, flow.name) == ("sales", "numbers")
        assert flow.spark_conf == {"spark.sql.shuffle.partitions": "1"}
    found = subprocess.run(
        [sys.executable, "-c", SHADOWED, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert found.stdout == "Number\n", "numbers.py took the place of Python's own module"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "is not YAML"),
        ("storage: here\n", "does not name its pipeline"),
        ("name: a\nstorag: b\n", "unknown field 'storag'"),
        ("name: a\nlibraries: [x]\n", "a library without a glob"),
        ("name: a\nlibraries: 5\n", "a library without a glob"),
        ("name: a\nlibraries: [{glob: {include: /etc/**}}]\n", "does not begin at its folder"),
        ("name: a\nconfiguration: [b]\n", "a configuration that is no mapping"),
        ("name: a\n1: b\nstorag: c\n", "unknown field '1'"),
        ("name: a\nlibraries: [{glob: {include: x/**}}]\n", "names no file that exists"),
    ],
)
def test_a_specification_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, content: str, words: str
) -> None:
    (tmp_path / "spark-pipeline.yml").write_text(content)
    with pytest.raises((InvalidRequest, NotFound), match=words):
        find_pipelines(tmp_path)


NEEDS_SPARK = """
import os
from pyspark import pipelines as dp

@dp.materialized_view
def numbers():
    return spark.range(10)

if os.environ["SPARK_IS_THERE"] == "no":
    raise RuntimeError("[SESSION_OR_CONTEXT_NOT_EXISTS] it should be created first")
"""


@pytest.mark.parametrize("specified", [False, True])
def test_files_that_need_spark_are_read_again_from_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, specified: bool
) -> None:
    if specified:
        (tmp_path / "spark-pipeline.yml").write_text(
            "name: sales\nstorage: x\nlibraries: [{glob: {include: a/**}}]\n"
        )
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "sales.py").write_text(NEEDS_SPARK)
    path = tmp_path if specified else folder
    monkeypatch.setenv("SPARK_IS_THERE", "no")
    with pytest.raises(InvalidRequest, match=r"sales\.py:10: RuntimeError"):
        find_pipelines(path)
    (pipeline,) = find_pipelines(path, lambda: monkeypatch.setenv("SPARK_IS_THERE", "yes"))
    assert [each.name for each in pipeline.graph().queries] == ["numbers"]


@pytest.mark.parametrize("made", ["SparkSession.active()", "SparkSession.builder.getOrCreate()"])
def test_a_file_that_takes_or_makes_a_session_gets_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """One of its own would have neither the master of the profile nor our Python in its workers."""
    (tmp_path / "session_of.py").write_text(
        f"from pyspark.sql import SparkSession\nsession = {made}\n"
    )
    (tmp_path / "sales.py").write_text(
        "import headwater as hw\nfrom session_of import session\nsales = hw.Pipeline(str(session))\n"
    )
    sessions: list[str] = []
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: sessions[0] if sessions else None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda _: sessions[0])
    with pytest.raises(NeedsSpark, match=r"sales\.py:2: "):
        find_pipelines(tmp_path / "sales.py")
    sys.modules.pop("session_of", None)
    (pipeline,) = find_pipelines(tmp_path / "sales.py", lambda: sessions.append("ours"))
    assert pipeline.name == "ours"
    sys.modules.pop("session_of")
