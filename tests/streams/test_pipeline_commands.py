"""`headwater pipeline` as a person types it, in a folder of its own."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.client import Client
from streams.folder import PIPELINE, Folder


class ShopFolder(Folder):
    """A folder with a pipeline of its own."""

    def __init__(self, path: Path, client: Client, topic: str) -> None:
        super().__init__(path, client)
        self.pipeline = f"shop-{topic}"
        self.write(PIPELINE.format(name=self.pipeline, topic=topic))


@pytest.fixture
def folder(tmp_path: Path, client: Client, topic: str) -> ShopFolder:
    return ShopFolder(tmp_path, client, topic)


def test_a_pipeline_is_checked_run_shown_paused_and_reset(
    folder: ShopFolder, client: Client, topic: str
) -> None:
    client.send(topic, {"id": 1, "total": 2.5})
    query, output = f"{folder.pipeline}.totals", f"{folder.pipeline}.totals"
    (checked,) = folder.json("check")
    assert (checked["reads"], checked["writes"]) == ([topic], output)
    assert folder.json("graph") == [{"pipeline": folder.pipeline, "from": "orders", "to": "totals"}]
    (ran,) = folder.json("run", "--once")
    assert (ran["query"], ran["state"], ran["rows"]) == (query, "done", 1)
    assert query in [each["query"] for each in folder.json("list")]
    (described,) = folder.json("describe", folder.pipeline)
    assert (described["reads"], described["error"]) == ({"orders": topic}, None)
    assert folder.json("pause", query) == [{"query": query, "paused": True}]
    assert folder.json("resume", query) == [{"query": query, "paused": False}]
    (forgotten,) = folder.json("reset", query, "--yes")
    assert forgotten["topic"] == output
    assert output not in client.admin.topics.names()
    assert not list((folder.path / ".headwater" / "pipelines").glob("*/totals*"))


def test_pipelines_are_drawn_joined_by_their_topics(folder: ShopFolder) -> None:
    folder.write(
        "import headwater as hw\n"
        "a, b = hw.Pipeline('a'), hw.Pipeline('b')\n"
        "a.topic('orders', schema='id LONG')\n"
        "a.table(name='copied')(lambda orders: orders)\n"
        "b.topic('a.copied', schema='id LONG')\n"
        "b.table(name='large')(lambda spark: spark.readStream.table('copied'))\n"
    )
    assert folder.json("graph") == [
        {"pipeline": "a", "from": "orders", "to": "copied"},
        {"pipeline": "b", "from": "copied", "to": "large"},
        {"pipeline": "b", "from": "a.copied", "to": "copied"},
    ]
    drawn = folder("graph", "--mermaid").stdout.splitlines()
    assert drawn[1:] == [
        "    a.orders --> a.copied",
        "    b.copied --> b.large",
        "    a.copied --> b.copied",
    ]


@pytest.mark.long
def test_a_file_that_needs_spark_to_be_read_gets_it(folder: ShopFolder) -> None:
    folder.write(
        PIPELINE.format(name=folder.pipeline, topic="orders")
        + "\nfrom pyspark.sql import functions as F\ntwice = F.udf(lambda n: 2 * n, 'long')\n"
    )
    assert folder.json("graph") == [{"pipeline": folder.pipeline, "from": "orders", "to": "totals"}]


@pytest.mark.long
def test_a_failed_run_says_so_in_a_sentence_and_shows_no_java(folder: ShopFolder) -> None:
    folder.write(PIPELINE.format(name=folder.pipeline, topic="nowhere"))
    done = folder("run", "--once")
    assert done.returncode == 1
    assert "topic 'nowhere' does not exist" in done.stderr
    assert "\tat org.apache.spark" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_run_whose_spark_dies_ends_with_a_sentence(folder: ShopFolder) -> None:
    with folder.running() as run:
        for line in run.stderr:
            if line.startswith(f"{folder.pipeline}.totals running"):
                break
        (java,) = children_of(run.pid, b"org.apache.spark")
        os.kill(java, signal.SIGKILL)
        said = run.stderr.read()
        assert run.wait() == 4, said
    assert "error: the process of Spark has died" in said
    (described,) = folder.json("describe", folder.pipeline)
    assert (described["state"], described["error"]) == ("failed", "the process of Spark has died")


@pytest.mark.long
def test_ctrl_c_in_the_middle_of_a_batch_is_no_error(
    folder: ShopFolder, client: Client, topic: str
) -> None:
    query = f"{folder.pipeline}.totals"
    client.send(topic, {"id": 0, "total": 1.0})
    with folder.running() as run, fed(client, topic):
        for line in run.stderr:
            if line.startswith(f"{query} running"):
                break
        with client.consumer(query) as changes:
            next(iter(changes))  # from now on there is always a batch under way
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        assert (run.wait(), said) == (0, f"{query} stopped\n")


@pytest.mark.long
def test_who_ends_the_command_and_its_spark_at_once_gets_no_traceback(folder: ShopFolder) -> None:
    """As timeout(1) and systemd do: they signal every process that the command has started."""
    query = f"{folder.pipeline}.totals"
    with folder.running(start_new_session=True) as run:
        for line in run.stderr:
            if line.startswith(f"{query} running"):
                break
        os.killpg(run.pid, signal.SIGTERM)
        said = run.stderr.read()
        assert (run.wait(), said) == (0, f"{query} stopped\n")
    (described,) = folder.json("describe", folder.pipeline)
    assert (described["state"], described["error"]) == ("stopped", None)


@contextmanager
def fed(client: Client, topic: str) -> Iterator[None]:
    """Records come as long as this lasts."""
    enough = threading.Event()

    def feed() -> None:
        with client.producer() as producer:
            while not enough.wait(0.001):
                producer.send(topic, {"id": 1, "total": 1.0})

    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        yield
    finally:
        enough.set()
        feeding.join()


def children_of(parent: int, words: bytes) -> list[int]:
    """The children of a process with these words in their command line."""
    pids = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(each) for each in pids if words in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("import headwater as hw\nhw.Pipeline('a b')\n", 2, "shop.py:2"),
        ("x = 1\n", 3, "there is no pipeline in pipelines/shop.py"),
        (
            "import headwater as hw\np = hw.Pipeline('p')\n@p.table\ndef t(nothing): ...\n",
            2,
            "pipelines/shop.py:3: 't' reads 'nothing', which does not exist",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["graph", "check", "run"])
def test_a_mistake_in_the_file_is_one_sentence_with_and_without_a_broker(
    folder: ShopFolder, verb: str, content: str, code: int, words: str
) -> None:
    folder.write(content)
    folder.bootstrap = "127.0.0.1:1"
    done = folder(verb)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_query_is_not_found(folder: ShopFolder) -> None:
    done = folder("describe", "nothing")
    assert done.returncode == 3
    assert "no pipeline or query 'nothing' has run here" in done.stderr
