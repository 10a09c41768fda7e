"""Draw docs/images/demo.svg, the picture of the README: the beginning and the end of `cbnet demo`.

It needs Spark, and takes about a minute.
"""

import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import MONOKAI

from cbnet import Message, Table
from cbnet.cli.demo.demo import result_grid, run_small_pipeline, show_trace
from cbnet.cli.demo.example import MESSAGES, RECEIVERS, show_messages, show_reasons, show_receivers
from cbnet.cli.demo.network import run_small_network

console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, highlight=False)
table = Table.build(RECEIVERS)
messages = [Message.from_dict(members) for members in MESSAGES]
show_receivers(table, messages, console)
show_messages(table, messages[:6], console)
show_reasons(table, messages, console)
with TemporaryDirectory() as folder:
    run_small_pipeline(Path(folder))
    run = run_small_network(Path(folder) / "live")
assert run.result.is_exact, "the machine is too busy: messages were missed"
routers, links = len(run.plan.graph), run.plan.graph.edge_count
console.print(f"[bold]A small Internet, live[/]: {routers} routers, {links} links, {run.filters:,} filters\n")
show_trace(run, console)
console.print(result_grid(run))
picture = console.export_svg(title="cbnet demo", theme=MONOKAI)
picture = re.sub(r"<!--.*?-->\s*", "", picture, flags=re.DOTALL)
picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # no fonts from elsewhere
(Path(__file__).parent / "demo.svg").write_text(picture.replace("Fira Code", "DejaVu Sans Mono"))
