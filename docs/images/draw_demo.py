"""Draw docs/images/demo.svg, the picture of the README: the beginning and the end of `cbnet demo`."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from cbnet import Message, Table
from cbnet.cli.demo.demo import show_messages, show_reasons, show_receivers
from cbnet.cli.demo.story import MESSAGES, RECEIVERS

console = Console(record=True, width=108, file=io.StringIO(), force_terminal=True, highlight=False)
table = Table.build(RECEIVERS)
messages = [Message.from_dict(members) for members in MESSAGES]
show_receivers(table, messages, console)
show_messages(table, messages[:6], console)
show_reasons(table, messages, console)
picture = console.export_svg(title="cbnet demo", theme=MONOKAI)
picture = re.sub(r"<!--.*?-->\s*", "", picture, flags=re.DOTALL)
picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # no fonts from elsewhere
(Path(__file__).parent / "demo.svg").write_text(picture.replace("Fira Code", "DejaVu Sans Mono"))
