"""README.md as what it is made of: the blocks of a section, and the script that they are together."""

from __future__ import annotations

import re

from tests.macros import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks_of(title: str) -> list[tuple[str, str]]:
    """Language and text of the blocks below a heading of the second level."""
    return BLOCK.findall(README.partition(f"\n## {title}\n")[2].partition("\n## ")[0])


def script_of(title: str) -> str:
    """What a reader does: types the shell blocks, and writes the blocks that begin with a file's name."""
    steps = []
    for language, text in blocks_of(title):
        named = re.match(r"# (\S+\.\w+)\n", text)
        if language == "bash":
            steps.append(text)
        elif named:
            steps.append(f"cat > {named[1]} <<'END OF FILE'\n{text}END OF FILE\n")
    return "".join(steps)
