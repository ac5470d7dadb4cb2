"""TypeScript's diagnostics: the Korean catalogue against the messages in the compiler's own code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from models.build.archives import Archive, find

MESSAGE = re.compile(r'diag\(\d+, \d+ /\*[^*]*\*/, "([^"]+)", "((?:[^"\\]|\\.)*)"')


def read(archives: Sequence[Archive]) -> Iterator[tuple[str, str]]:
    for archive in archives:
        catalogue = find(archive, "/ko/diagnosticMessages.generated.json")
        code = find(archive, "lib/typescript.js")
        if catalogue is None or code is None:
            raise FileNotFoundError("the Korean diagnostics of TypeScript")
        korean: dict[str, str] = json.loads(archive.read(catalogue))
        for message in MESSAGE.finditer(archive.read(code).decode("utf-8")):
            if message[1] in korean:
                yield json.loads(f'"{message[2]}"'), korean[message[1]]
