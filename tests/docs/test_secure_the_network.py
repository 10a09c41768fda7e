"""The certificates of the how-to on security are trusted."""

import re
import shutil
import subprocess
from pathlib import Path

from cbnet.network import Settings, TcpRouter, Tls, connect_async
from cbnet.network.protocol.addresses import Address
from cbnet.network.security.access import Access, SecurityPolicy
from cbnet.network.transport.event_loop import run

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "secure-the-network.md"


def test_certificates_of_the_page_are_trusted(tmp_path):
    assert shutil.which("openssl"), "this test needs openssl: install the package openssl"
    commands = re.findall(r"^\$ (openssl (?:.*\\\n)*.*)", DOCUMENT.read_text(), flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, capture_output=True)
    authority = tmp_path / "authority.pem"
    shown = Tls(authority, tmp_path / "a.pem", tmp_path / "a.key")

    async def story():
        router = TcpRouter(
            Settings("a"), Address("127.0.0.1", 0), {}, SecurityPolicy(Access(has_certificates=True), shown)
        )
        await router.start()
        try:
            async with await connect_async(str(router.address), tls=Tls(authority)) as client:
                return client.router
        finally:
            await router.stop()

    assert run(story()) == "a"
