"""Asks the worker of this container how it is: ends with 0 if well, with 1 and the reasons if not.

`python healthcheck.py` asks whether it is alive (`/healthz`); `python healthcheck.py /readyz` whether it takes matches.
The image has no curl, and needs none.
"""

import os
import sys
from http.client import HTTPConnection, HTTPException

_TIMEOUT_S = 3.0


def main(path: str = "/healthz") -> int:
    """Ask once; print what the worker answers."""
    host = os.environ.get("RATING_HTTP_HOST") or "127.0.0.1"
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where the worker listens
    connection = HTTPConnection(here, int(os.environ.get("RATING_HTTP_PORT") or 9464), timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        text, well = f"no answer: {error!r}", False
    else:
        well = answer.status == 200  # noqa: PLR2004 - OK
    finally:
        connection.close()
    sys.stdout.write(f"{text}\n")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
