"""Why an address cannot be listened on, in one sentence."""

import errno
import os

from headwater.errors import Unavailable


def cannot(doing: str, setting: str, address: str, error: OSError) -> Unavailable:
    """The error to raise; asyncio's words repeat the address, and those of a resolver have no number."""
    number = error.errno or 0
    reason = os.strerror(number) if number > 0 else error.strerror or str(error)
    is_taken = number == errno.EADDRINUSE
    why = "is another broker running there?" if is_taken else "is it an address of this machine?"
    return Unavailable(
        f"cannot {doing} on {address}: {reason.lower()}", hint=f"{why} choose another --{setting}"
    )
