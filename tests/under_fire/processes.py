"""The driver of the pipeline as a process of its own, and the processes that Spark starts for it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

PIPELINE: Final = Path(__file__).with_name("pipeline.py")
QUERIES: Final = ("revenue", "purchases", "totals")
GONE_WITHIN_S: Final = 60


class Driver:
    """`headwater pipeline run`, in a session of its own: what it starts can be found and ends with it."""

    def __init__(self, folder: Path, bootstrap: str, batch: int) -> None:
        self.folder = folder
        self.log = folder / "driver.log"
        self._batch = batch
        self._process: subprocess.Popen[bytes] | None = None
        scratch = folder / "spark"
        scratch.mkdir(parents=True)
        (folder / "headwater.toml").write_text(
            f'[profiles.fire]\nkafka = "{bootstrap}"\nstate = "{folder / "state"}"\n'
            f'spark_conf = {{ "spark.local.dir" = "{scratch}", '
            f'"spark.driver.extraJavaOptions" = "-Djava.io.tmpdir={scratch}" }}\n'
        )

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "headwater", "pipeline", "run", str(PIPELINE)),
                    *("--profile", "fire"),
                ],
                cwd=self.folder,
                env={**os.environ, "FIRE_BATCH": str(self._batch)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def check(self) -> None:
        """Fail with what it said if it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            lines = self.log.read_text(errors="replace").splitlines()[-30:]
            raise AssertionError("the driver ended by itself:\n" + "\n".join(lines))

    def kill(self, part: str) -> None:
        """SIGKILL of its Python or of its JVM; what is left must end by itself."""
        assert self._process is not None
        victims = (
            [self._process.pid] if part == "python" else self._find(b"org.apache.spark.deploy")
        )
        for each in victims:
            os.kill(each, signal.SIGKILL)
        deadline = time.monotonic() + GONE_WITHIN_S
        while left := self._members():
            self._process.poll()
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(left)} processes outlived their driver ({part} killed)")
            time.sleep(0.05)
        self._process.wait()

    def kill_worker(self, choose: int) -> bool:
        """SIGKILL of one Python worker, if there is one."""
        workers = sorted(self._find(b"pyspark.daemon"))
        if not workers:
            return False
        os.kill(workers[choose % len(workers)], signal.SIGKILL)
        return True

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(GONE_WITHIN_S)

    def close(self) -> None:
        """End whatever is left."""
        for each in self._members():
            os.kill(each, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def read(self) -> int:
        """How many events the slowest query has planned to read so far, by its checkpoint."""
        return min(self._progress(each, "offsets")[1] for each in QUERIES)

    def is_done(self, count: int) -> bool:
        """Whether every query has committed a batch that ends with the last event."""
        return all(
            self._progress(each, "offsets") == (self._progress(each, "commits")[0], count)
            for each in QUERIES
        )

    def _progress(self, query: str, log: str) -> tuple[int, int]:
        """The newest batch in a log of Spark's checkpoint, and the sum of the offsets in it."""
        folder = self.folder / "state" / "fire" / f"{query}.v1" / "spark" / log
        newest = max((int(e.name) for e in folder.glob("[0-9]*") if e.name.isdecimal()), default=-1)
        if newest < 0 or log == "commits":
            return newest, 0
        offsets = json.loads((folder / str(newest)).read_text().splitlines()[2])
        return newest, sum(offsets["fire.events"].values())

    def _find(self, words: bytes) -> list[int]:
        return [pid for pid, command in self._members().items() if words in command]

    def _members(self) -> dict[int, bytes]:
        """The processes of the driver's session, and their command lines."""
        found: dict[int, bytes] = {}
        for each in Path("/proc").iterdir() if self._process is not None else ():
            if each.name.isdecimal():
                try:
                    fields = (each / "stat").read_text().rpartition(")")[2].split()
                    command = (each / "cmdline").read_bytes()
                except OSError:
                    continue
                if int(fields[3]) == self._process.pid and fields[0] != "Z":
                    found[int(each.name)] = command
        return found
