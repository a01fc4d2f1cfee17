"""A scheduler of one machine with Slurm's commands: it kills, warns, requeues and reorders."""

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import until

#: ``sbatch`` and ``scontrol``: they note what they are asked for, line by line.
_SBATCH = """#!/bin/bash
number=$(( $(ls "$FAKE_SLURM"/*.args 2>/dev/null | wc -l) + 1 ))
printf '%s\\n' "$@" > "$FAKE_SLURM/$number.args"
for word in "$@"; do [ -f "$word" ] && cp "$word" "$FAKE_SLURM/$number.sh"; done
echo "$number;cluster"
"""
_SCONTROL = """#!/bin/bash
echo "$2" >> "$FAKE_SLURM/requeued"
"""


@dataclass
class FakeSlurm:
    """A scheduler whose jobs run in processes here, in random order.

    Parameters
    ----------
    folder : path
        Of its commands and of what was submitted.
    seed : int
        Of the order of jobs, and of what happens to them.
    """

    folder: Path
    seed: int = 0
    restarts: dict[int, int] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    preempted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("sbatch", _SBATCH), ("scontrol", _SCONTROL)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.random = random.Random(self.seed)

    def environment(self, **more: str) -> dict[str, str]:
        """Return the variables of a process that finds these commands."""
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        return os.environ | {"PATH": path, "FAKE_SLURM": str(self.folder)} | more

    def submit(self, script: Path) -> None:
        """Run a script that submits jobs."""
        subprocess.run(["bash", script], env=self.environment(), check=True, capture_output=True)

    def run(self, happens: Callable[[int, int, subprocess.Popen], None], at_once: int = 2) -> None:
        """Run the array until no job is left, and then the job that depends on it.

        ``happens`` is called with a job's number, how often it was restarted, and its process;
        it may signal that process, which stands for its whole job. A killed job is requeued, as
        after the failure of a node, and so is one that was preempted.
        """
        script = (self.folder / "1.sh").read_text()
        (count,) = re.findall(r"^#SBATCH --array=1-(\d+)$", script, re.MULTILINE)
        queue = list(range(1, int(count) + 1))
        while queue:
            self.random.shuffle(queue)
            batch, queue = queue[:at_once], queue[at_once:]
            queue += self._run_jobs(batch, int(count), happens)
        words = (self.folder / "2.args").read_text().splitlines()
        assert "--dependency=afterany:1" in words
        (wrapped,) = (word.removeprefix("--wrap=") for word in words if word.startswith("--wrap="))
        subprocess.run(wrapped, shell=True, check=True, capture_output=True)

    def _run_jobs(
        self, numbers: list[int], count: int, happens: Callable[[int, int, subprocess.Popen], None]
    ) -> list[int]:
        """Run some jobs at a time; return those that are to run again."""
        processes = {number: self._start(number, count) for number in numbers}
        for number, process in processes.items():
            happens(number, self.restarts.get(number, 0), process)
        again = []
        for number, process in processes.items():
            until(lambda process=process: process.poll() is not None)
            self.ends.append(process.returncode)
            noted = self.folder / "requeued"
            asked = noted.read_text().split() if noted.exists() else []
            again_by_itself = process.returncode == -signal.SIGKILL or number in self.preempted
            self.preempted.discard(number)
            if again_by_itself or f"1_{number}" in asked:
                again.append(number)
                self.restarts[number] = self.restarts.get(number, 0) + 1
        (self.folder / "requeued").unlink(missing_ok=True)
        return again

    def preempt(self, number: int, process: subprocess.Popen) -> None:
        """Stop a job in favour of another, and requeue it."""
        self.preempted.add(number)
        os.kill(process.pid, signal.SIGTERM)

    def _start(self, number: int, count: int) -> subprocess.Popen:
        variables = {
            "SLURM_ARRAY_JOB_ID": "1",
            "SLURM_ARRAY_TASK_ID": str(number),
            "SLURM_ARRAY_TASK_MIN": "1",
            "SLURM_ARRAY_TASK_MAX": str(count),
            "SLURM_RESTART_COUNT": str(self.restarts.get(number, 0)),
        }
        return subprocess.Popen(
            ["bash", self.folder / "1.sh"],
            env=self.environment(**variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def kill_job(process: subprocess.Popen) -> None:
    """Kill all processes of a job, as the failure of its node does."""
    os.killpg(process.pid, signal.SIGKILL)
