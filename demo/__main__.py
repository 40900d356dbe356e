"""`make demo`: a shop, from its producers to its served views; broker and Spark are killed on the way.

Ends with a table, and with exit code 1 unless every view and topic equals SQL over the same events.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from demo.processes import run_headwater
from demo.screen import Screen
from demo.story import Story
from demo.verdict import show


def main() -> int:
    # Whoever stops the demo stops what it has started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width: numbers must not be cut
    began_s = time.monotonic()
    is_staying = os.environ.get("SERVE", "") not in ("", "0")
    with ExitStack() as closing:
        directory = Path(
            closing.enter_context(tempfile.TemporaryDirectory(prefix="headwater-demo-"))
        )
        screen = closing.enter_context(Screen(console, began_s))
        made = run_headwater(directory, "init", "shop")
        screen.say(f"headwater init shop: {len(made['files'])} files")
        story = Story(directory / "shop", screen, closing)
        try:
            found = story.tell()
            if not is_staying:
                screen.stop()
            is_equal = show(console, found)
            console.print(
                "[green]equal: nothing lost, nothing counted twice, through two kills"
                if is_equal
                else "[red]not equal: this is a bug, please report it with the table above"
            )
            console.print(f"{time.monotonic() - began_s:.0f} s in all")
            if is_staying:
                console.print(story.go_on(), highlight=False, markup=False)
                threading.Event().wait()
        except KeyboardInterrupt:
            console.print("stopping")
            return 0 if is_staying else 130
        except (RuntimeError, TimeoutError) as error:
            console.print(f"[red]{error}", highlight=False)
            return 1
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
