"""Run cases in processes that may hang or die, count how they end, write down what failed."""

import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, takewhile
from multiprocessing import current_process
from pathlib import Path

from convexfs.batch.workers import pool
from convexfs.errors import RunError

from .attack import Attack, Failure, Hung, PeakMemory, Verdict, generator, one_line

#: A case over this much processor time hangs; so does one over so much time on the wall, which
#: is longer because a busy machine is no fault of the case.
HANG_CPU_SECONDS, HANG_SECONDS = 20.0, 120.0
#: No case may take more of the machine than this beyond what a worker holds at its start.
ADDRESS_SPACE = 6 * 2**30
#: Reproducers written of one cause; the others are only counted.
KEPT_OF_ONE_CAUSE = 3
#: What a failure of an attack itself is called.
OWN_FAULT = "this script"


@dataclass(frozen=True)
class Ticket:
    """A case that is not made yet."""

    attack: str
    seed: int
    number: int


@dataclass
class Counts:
    """What was seen so far."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    failures: dict[str, Counter[Failure]] = field(default_factory=dict)
    tallies: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return sum(counter.total() for counter in self.outcomes.values())

    @property
    def failed(self) -> int:
        return sum(counter.total() for counter in self.failures.values())

    def add(self, attack: str, verdict: Verdict) -> None:
        self.outcomes.setdefault(attack, Counter())[verdict.outcome] += 1
        self.failures.setdefault(attack, Counter()).update(verdict.failures)
        self.tallies.setdefault(attack, Counter()).update(verdict.tally)
        self.megabytes[attack] = max(self.megabytes.get(attack, 0.0), verdict.megabytes)


def schedule(
    attacks: Mapping[str, Attack], seed: int, cases: int | None, first: int = 0
) -> Iterator[Ticket]:
    """Yield cases of all attacks in turn, each as often as its share asks for.

    `first` leaves out as many cases as were tried before.
    """
    given = dict.fromkeys(attacks, 0)
    for turn in count():
        if cases is not None and turn == first + cases:
            return
        name = min(attacks, key=lambda name: (given[name] + 1) / attacks[name].share)
        if turn >= first:
            yield Ticket(name, seed, given[name])
        given[name] += 1


def until(deadline: float, tickets: Iterator[Ticket]) -> Iterator[Ticket]:
    """The tickets that are taken before a moment of ``time.monotonic``."""
    return takewhile(lambda ticket: time.monotonic() < deadline, tickets)


def verdicts(
    attacks: Mapping[str, Attack], tickets: Iterator[Ticket]
) -> Iterator[tuple[Ticket, Verdict]]:
    """Try every ticket in a process that can be lost without losing the others."""
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    work = partial(_tried, attacks)
    with _one_temporary_folder():
        for attack in attacks.values():
            attack.warm()
        ends = pool.run(tickets, work, jobs=jobs, time_limit=HANG_SECONDS, setup=_be_careful)
        for ended in ends:
            yield ended.task, _with_losses(ended)


@contextmanager
def _one_temporary_folder() -> Iterator[None]:
    """Have all temporary files in one folder, so that those of lost processes go too."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as folder:
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _tried(attacks: Mapping[str, Attack], ticket: Ticket) -> Verdict:
    attack = attacks[ticket.attack]
    case = attack.make(generator(ticket.seed, ticket.attack, ticket.number))
    signal.setitimer(signal.ITIMER_PROF, HANG_CPU_SECONDS)
    try:
        with PeakMemory() as memory:
            verdict = attack.judge(case)
        return replace(verdict, megabytes=memory.grown)
    except Hung:
        late = Failure("hang", f"over {HANG_CPU_SECONDS:g} s of processor time")
        return Verdict("hung", (late,))
    except RunError as error:  # the pool would take it for its own, and stop
        return Verdict("broken", (Failure(OWN_FAULT, one_line(error)),))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _hang(*_: object) -> None:
    raise Hung


def _be_careful() -> None:
    """Be the setup of a worker: leave the machine alone, and be allowed processes of its own."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        # Linux then ends this process, not another, if memory runs out after all.
        Path("/proc/self/oom_score_adj").write_text("1000")
    signal.signal(signal.SIGPROF, _hang)
    # A daemon may have no children, but a fit in two processes is one of the cases.
    current_process()._config["daemon"] = False  # type: ignore[attr-defined]


def _with_losses(ended: pool.Outcome[Ticket]) -> Verdict:
    """The verdict of a case, with the hangs and deaths that only the pool saw."""
    verdict = ended.value
    lost = [attempt for attempt in ended.attempts if attempt.ended == pool.DIED]
    if ended.status == pool.TIMEOUT:
        return Verdict("hung", (Failure("hang", f"over {HANG_SECONDS:g} s"),))
    if lost:
        return Verdict("died", (Failure("crash", lost[-1].failure),))
    if verdict is None:
        return Verdict("broken", (Failure(OWN_FAULT, one_line(ended.failure)),))
    return verdict


class Reproducers:
    """The folder in which failures are written down, some of every cause."""

    def __init__(self, folder: Path, attacks: Mapping[str, Attack]):
        self._folder, self._attacks = folder, attacks
        self._kept: Counter[tuple[str, Failure]] = Counter()

    def write(self, ticket: Ticket, verdict: Verdict) -> None:
        """Keep the files of a case that failed, with a note of how."""
        self._kept.update((ticket.attack, failure) for failure in verdict.failures)
        kept = [self._kept[ticket.attack, failure] for failure in verdict.failures]
        if min(kept, default=KEPT_OF_ONE_CAUSE + 1) > KEPT_OF_ONE_CAUSE:
            return
        files = {} if verdict.failures[0].kind == OWN_FAULT else self._files(ticket)
        kind = re.sub(r"\W+", "-", verdict.failures[0].kind)
        home = self._folder / f"{ticket.attack}-{ticket.seed}-{ticket.number}-{kind}"
        home.mkdir(parents=True, exist_ok=True)
        notes = "".join(f"{failure.kind}: {failure.cause}\n" for failure in verdict.failures)
        for name, content in {**files, **verdict.evidence, "FAILED.txt": notes.encode()}.items():
            (home / name).write_bytes(content)

    def _files(self, ticket: Ticket) -> Mapping[str, bytes]:
        attack = self._attacks[ticket.attack]
        return attack.reproducer(attack.make(generator(ticket.seed, ticket.attack, ticket.number)))
