"""Attack convexfs for as long as you like: random cases that must end well, or in clear words.

    python -m tests.fuzz [--minutes 10] [--cases N] [--first K] [--seed 1] [--only arrays,files]
                           [--out DIR]

Stops after the minutes or the cases, whichever comes first. ``--first K`` goes on after K cases
of the same seed, so that a long run can be done in parts. Each failure is written into --out
as a folder with all that is needed to see it again, at most three of one cause. Exit code 1 if
anything failed, 0 otherwise; Ctrl-C ends it early, with the counts so far.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.fuzz import arrays, certificates, commands, files, invariances, kills, soundness
from tests.fuzz.attack import Attack
from tests.fuzz.engine import Counts, Reproducers, Ticket, schedule, until, verdicts
from tests.fuzz.tables import counts_table, failures_table, progress_line, tally_table

ATTACKS: dict[str, Attack] = {
    "arrays": arrays.ATTACK,
    "files": files.ATTACK,
    "commands": commands.ATTACK,
    "invariances": invariances.ATTACK,
    "certify": certificates.ATTACK,
    "soundness": soundness.ATTACK,
    "kills": kills.ATTACK,
}
SECONDS_BETWEEN_LINES = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    chosen = {name: ATTACKS[name] for name in arguments.only}
    minutes = arguments.minutes
    if minutes is None and arguments.cases is None:
        minutes = 1.0
    tickets = schedule(chosen, arguments.seed, arguments.cases, arguments.first)
    counts = attack(chosen, tickets, minutes, arguments.out)
    print(counts_table(counts))
    for name, tally in counts.tallies.items():
        if tally:
            print(f"\n{tally_table(name, tally, ATTACKS[name].columns)}")
    if counts.failed:
        print(f"\n{failures_table(counts)}\nreproducers: {arguments.out}")
    return 1 if counts.failed else 0


def attack(
    attacks: Mapping[str, Attack], tickets: Iterator[Ticket], minutes: float | None, out: Path
) -> Counts:
    """Try the tickets until there are no more, time is up, or somebody has seen enough."""
    counts, kept = Counts(), Reproducers(out, attacks)
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    next_line = time.monotonic() + SECONDS_BETWEEN_LINES
    try:
        for ticket, verdict in verdicts(attacks, until(deadline, tickets)):
            counts.add(ticket.attack, verdict)
            if verdict.failures:
                kept.write(ticket, verdict)
            if time.monotonic() > next_line:
                next_line = time.monotonic() + SECONDS_BETWEEN_LINES
                print(progress_line(counts), flush=True)
    except KeyboardInterrupt:
        print("stopped early")
    return counts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--minutes", type=float, metavar="M", help="how long [1, or no limit with --cases]")
    add("--cases", type=int, metavar="N", help="how many cases, of all attacks together")
    add("--first", type=int, default=0, metavar="K", help="cases to leave out [0]")
    add("--seed", type=int, default=1, metavar="S", help="another seed, other cases [1]")
    add("--only", type=_names, default=list(ATTACKS), metavar="A,B", help=", ".join(ATTACKS))
    add("--out", type=Path, default=Path("fuzz-failures"), metavar="DIR", help="[fuzz-failures]")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in ATTACKS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(ATTACKS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
