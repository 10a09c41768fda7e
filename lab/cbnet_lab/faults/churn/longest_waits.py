"""The longest waits of clients that a prober has seen in a phase of the churn trial."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MAX_PING = 0.1  # seconds that a ping may take
MAX_MESSAGE = 0.25  # seconds that a message may take


@dataclass
class LongestWaits:
    """Longest waits, in seconds; what was probed in a phase counts there, even if the answer comes later."""

    ping: float = 0.0
    message: float = 0.0
    connect: float = 0.0
    late: float = 0.0  # that the prober itself was not run by the machine: a bound of the error of the others

    def add(self, other: LongestWaits) -> None:
        """Keep the longer of both waits."""
        self.ping = max(self.ping, other.ping)
        self.message = max(self.message, other.message)
        self.connect = max(self.connect, other.connect)
        self.late = max(self.late, other.late)

    @property
    def is_within_goals(self) -> bool:
        """Whether no ping and no message took longer than it may."""
        return self.ping <= MAX_PING and self.message <= MAX_MESSAGE

    def milliseconds(self) -> dict[str, float]:
        """Return the waits in ms, by name."""
        return {f"{name}_ms": round(1000 * seconds, 1) for name, seconds in asdict(self).items()}
