"""Derivation of descriptors from tag sets, with the counts of the same pass.

Rows are shuffled by user, once. Equal sets of a user are then adjacent, as are all rows of a user; flags on the first
of each let Spark count users and descriptors in the pass that writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812, Spark's usual name

from cbnet.pipeline.derive.cleaning import Cleaning, clean_batches
from cbnet.pipeline.schemas import CLEAN, TAGGED
from cbnet.pipeline.spark.observed_counts import ObservedCounts


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


@dataclass(frozen=True)
class Derivation:
    """Descriptors (DESCRIPTORS), and the counts of the first action on them."""

    descriptors: DataFrame
    _counts: DerivationCounts
    _observed: Sequence[ObservedCounts]

    def counts(self) -> DerivationCounts:
        """Return the counts of rows read and kept, and of descriptors derived, by the first action."""
        counts = self._counts
        for observed in self._observed:
            counts = replace(counts, **observed.values())  # type: ignore[arg-type]
        return counts


def clean_rows(tagged: DataFrame, cleaning: Cleaning) -> DataFrame:
    """Return rows of TAGGED with clean tags, and the number of tags before cleaning as `raw_tags`."""
    cleaning.check()
    return tagged.select(*TAGGED.names).mapInArrow(partial(clean_batches, cleaning=cleaning), CLEAN)


def derive_per_row(tagged: DataFrame, cleaning: Cleaning, counts: DerivationCounts, role: str) -> Derivation:
    """Derive a descriptor from each row (TAGGED) that has tags."""
    return derive_by_user(clean_rows(tagged, cleaning), counts, role, cleaning.duplicates)


def derive_by_user(
    rows: DataFrame, counts: DerivationCounts, role: str, duplicates: bool, given: ObservedCounts | None = None
) -> Derivation:
    """Derive a descriptor from each row of user, clean tags and `raw_tags` that has tags.

    With `duplicates`, equal sets of a user give one descriptor. The input counts are those of these rows unless
    they are given.
    """
    empty = F.size("tags") == 0
    # A user is one task, sorted on disk if needed: 6 s of a processor per million rows of one user. The paper's users
    # have 139 bookmarks on average.
    within = Window.partitionBy("user").orderBy(empty, "tags")
    flagged = rows.select(
        "user", "tags", "raw_tags",
        empty.alias("empty"),
        (F.row_number().over(within) == 1).alias("first"),
        F.lag("tags").over(within).eqNullSafe(F.col("tags")).alias("again"),
    )  # fmt: skip
    gives = ~F.col("empty") & ~F.col("again") if duplicates else ~F.col("empty")
    outputs = {
        "derived": F.count_if(gives),
        "users": F.count_if(F.col("first") & ~F.col("empty")),
        "tags": F.sum(F.when(gives, F.size("tags"))),
    }
    inputs = {
        "read": F.count(F.lit(1)),
        "users_read": F.count_if("first"),
        "tags_read": F.sum("raw_tags"),
        "kept": F.count_if(~F.col("empty")),
    }
    observed = ObservedCounts(flagged, **outputs, **(inputs if given is None else {}))
    app = [F.lit(counts.app).alias("app"), F.lit(role).alias("role")]
    descriptors = observed.rows.where(gives).select(*app, "user", "tags")
    return Derivation(descriptors, counts, [observed] if given is None else [given, observed])


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
