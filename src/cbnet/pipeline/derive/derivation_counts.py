"""Counts of a derivation, beside those of the paper [2014 §4.2.1]."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DerivationCounts:
    """The counts of one derivation; None where the paper does not give one."""

    app: str
    unit: str  # of input: bookmarks, posts …
    product: str  # subscriptions or offers
    read: int | None = None
    users_read: int | None = None
    tags_read: int | None = None
    kept: int | None = None  # units from which something was derived
    derived: int | None = None
    users: int | None = None  # that have at least one descriptor
    tags: int | None = None  # of all derived descriptors together

    def rows(self) -> list[tuple[str, float | None]]:
        """Return the counts and their ratios, each with its name."""
        unit, product = self.unit, self.product
        return [
            (f"{unit} read", self.read),
            ("  of users", self.users_read),
            ("  tags of each", _ratio(self.tags_read, self.read)),
            (f"{unit} kept", self.kept),
            (f"  share of the {unit}", _ratio(self.kept, self.read)),
            (f"{product} derived", self.derived),
            ("  of users", self.users),
            ("  share of the users", _ratio(self.users, self.users_read)),
            ("  for each user", _ratio(self.derived, self.users)),
            (f"  for each of the {unit}", _ratio(self.derived, self.read)),
            ("  tags of each", _ratio(self.tags, self.derived)),
        ]


# The numbers of §4.2.1; its "about 132 million" is taken as exact.
PAPER = {
    "web": DerivationCounts(
        "web", "bookmarks", "subscriptions",
        read=132_000_000, users_read=950_000, tags_read=420_000_000, derived=123_248_896, users=922_651,
    ),
    "blog": DerivationCounts(
        "blog", "posts", "subscriptions",
        read=3_215_171, users_read=100_649, kept=178_189, users=59_185,
    ),
    "video": DerivationCounts("video", "videos", "offers", read=10_351, users_read=782),
    "social": DerivationCounts("social", "tweets", "subscriptions", read=16_000_000, derived=446_370, users=349_753),
}  # fmt: skip


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
