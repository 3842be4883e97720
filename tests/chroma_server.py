"""A Chroma server of a test's own."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb
import pytest


@contextmanager
def chroma_server(place: Path) -> Iterator[Any]:
    """Run a server on a free port of this machine, and yield a client of it; skip where it does not start.

    :param place: Directory for its files.
    """
    chroma = Path(sys.executable).with_name("chroma")
    if not chroma.exists():
        pytest.skip(f"the Chroma server cannot start: there is no {chroma}")
    port = _free_port()
    command = [str(chroma), "run", "--path", str(place), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            said = list[str]()
            if not any(said.append(line) or "server listening" in line for line in process.stdout):
                pytest.skip(f"the Chroma server did not start: {''.join(said)[-500:]}")
            # The server writes a line per request, which has to go somewhere.
            threading.Thread(target=process.stdout.read).start()
            client: Any = chromadb.HttpClient("127.0.0.1", port)
            with client:
                yield client
            for inner in (client, client._admin_client):  # closing leaves their connections open
                inner._server._session.close()
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
