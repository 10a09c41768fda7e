"""Certificates for tests: of two authorities, for any names, valid or expired."""

from datetime import UTC, datetime

import trustme

from cbnet.network import Tls

PAST = datetime(2020, 1, 1, tzinfo=UTC)


class Authority:
    """A certificate authority that writes into a folder."""

    def __init__(self, folder, name):
        self._authority = trustme.CA()
        self._folder = folder
        self._name = name
        self.file = folder / f"{name}.pem"
        self._authority.cert_pem.write_to_path(self.file)

    def issue(self, *names, is_expired=False):
        """Issue a certificate and return the file with it and its key."""
        options = {"not_after": PAST} if is_expired else {}
        certificate = self._authority.issue_cert(*names, **options)
        path = self._folder / f"{self._name}-{'-'.join(names)}{'-old' if is_expired else ''}.pem"
        certificate.private_key_and_cert_chain_pem.write_to_path(path)
        return path

    def tls(self, *names, trusts=None, is_expired=False):
        """Return the TLS options of one side, with a certificate if there are names."""
        return Tls((trusts or self).file, self.issue(*names, is_expired=is_expired) if names else None)
