"""Where the pipelines of this folder run: the log, the Spark and the state that the flags name."""

from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.session import Session
from headwater.errors import NotSupported

if TYPE_CHECKING:
    from headwater.client import Client
    from headwater.streams.run.surroundings import Surroundings

STATE = Path(".headwater") / "pipelines"
LOCAL_SPARK = "local[*]"


def surroundings(
    session: Session, client: "Client", *, trigger: str = "0 seconds", keep: bool = False
) -> "Surroundings":
    require_spark()
    from headwater.streams.run.surroundings import Surroundings  # noqa: PLC0415

    profile = session.chosen_profile()
    return Surroundings(
        bootstrap=client.connection.address.bootstrap,
        state=(Path(profile.state) if profile.state else STATE).resolve(),
        master=profile.spark or LOCAL_SPARK,
        spark_conf=profile.spark_conf,
        kafka_options={name: str(value) for name, value in profile.options.items()},
        trigger_interval=trigger,
        on_change="keep" if keep else "refuse",
    )


def require_spark() -> None:
    from importlib.util import find_spec  # noqa: PLC0415

    if find_spec("pyspark") is None:
        raise NotSupported(
            "pipelines need Spark, which is not installed",
            hint="pip install 'headwater[spark]'",
        )
