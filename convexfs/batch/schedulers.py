"""Array jobs of cluster schedulers: detect the shard of a job, and write a Slurm script."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from convexfs.batch.store.shards import Shard
from convexfs.errors import InputError, check_number

AUTO = "auto"
#: Environment variables of each scheduler: index of the job, first and last index, and step. "" if
#: the scheduler has none.
_VARIABLES = {
    "Slurm": (
        "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
        "SLURM_ARRAY_TASK_STEP",
    ),
    "PBS": ("PBS_ARRAY_INDEX", "", "", ""),
    "Torque": ("PBS_ARRAYID", "", "", ""),
    "SGE": ("SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
    "LSF": ("LSB_JOBINDEX", "", "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP"),
}  # fmt: skip
#: How often a job may be requeued; a task longer than the job's time limit would never end.
MOST_REQUEUES = 100
#: Seconds before the end of its time limit at which a job is stopped, and the shortest limit. Slurm
#: may send the signal a minute early.
WARNING_SECONDS, LEAST_SECONDS = 120, 300
MOST_JOBS = 100_000


def shard_of_job(text: str, environment: Mapping[str, str]) -> Shard:
    """Return the shard of the current array job, from its scheduler's variables; raise if none.

    Parameters
    ----------
    text : str
        ``auto`` takes the number of shards from the scheduler too, which PBS does not report;
        ``auto/64`` states it, and the indices of the array are 1 to 64, or some of these.
    environment : mapping
        The variables of the process.
    """
    scheduler, values = _job(environment)
    index, first, last, step = values
    if index is None:
        raise InputError(
            f"--shard {text}: this is no job of an array; submit one by Slurm, PBS or SGE, or "
            "give the part as --shard 3/8"
        )
    if text != AUTO:
        return Shard.named(f"{index}{text.removeprefix(AUTO)}")
    count = environment.get("SLURM_ARRAY_TASK_COUNT")
    if last is None:
        raise InputError(f"{scheduler} does not report the number of jobs: give --shard auto/N")
    first, step = first or 1, step or 1
    total = (last - first) // step + 1
    if count is not None and count != str(total):
        raise InputError(
            f"--shard auto: the array has {count} jobs with gaps between; give --shard auto/N"
        )
    return Shard.named(f"{(index - first) // step + 1}/{total}")


def _job(environment: Mapping[str, str]) -> tuple[str, list[int | None]]:
    """Return scheduler ("" if none) and [index, first, last, step] of this array job, or Nones."""
    for scheduler, names in _VARIABLES.items():
        found = [environment.get(name, "") for name in names]
        # In jobs that are not arrays, SGE sets "undefined" and LSF sets 0.
        if re.fullmatch(r"\d{1,9}", found[0]) and (scheduler != "LSF" or found[0] != "0"):
            return scheduler, [int(text) if text.isdecimal() else None for text in found]
    return "", [None] * 4


def slurm_script(
    command: Sequence[str],
    files: Sequence[str],
    options: Sequence[str],
    out: Path,
    jobs: int,
    count: int,
    time: str | None = None,
    memory: str | None = None,
) -> str:
    """Return a Slurm script that submits the shards as an array job, then merges them.

    Parameters
    ----------
    command : sequence of str
        How convexfs is started, such as ``python -m convexfs``.
    files, options : sequence of str
        Problem files and options of ``convexfs solve``.
    out : path
        Folder of the whole run; shards go to ``shards/`` and the output of jobs to ``slurm/``.
    jobs, count : int
        Worker processes of a job, and jobs.
    time, memory : str, optional
        Limits of a job in Slurm's words, such as ``01:00:00`` and ``4G``.
    """
    check_number("--slurm", count, 1, MOST_JOBS, whole=True)
    if time is not None and _seconds(time) < LEAST_SECONDS:
        raise InputError(
            f"--time {time}: a job gets the signal to stop {WARNING_SECONDS} s before its end; "
            f"give it at least {LEAST_SECONDS // 60} minutes"
        )
    if memory is not None and not re.fullmatch(r"\d+[KMGT]?", memory):
        raise InputError(f"--mem takes a size as Slurm does, such as 4G, not {memory!r}")
    name = re.sub(r"[^\w.-]", "_", out.name) or "convexfs"
    limits = [f"--time={time}"] * (time is not None) + [f"--mem={memory}"] * (memory is not None)
    directives = [
        f"--job-name={name}", f"--array=1-{count}", *limits, f"--cpus-per-task={jobs}",
        "--requeue", "--open-mode=append", f"--signal=B:USR1@{WARNING_SECONDS}",
        f"--output={_escaped(out)}/slurm/%a.txt",
    ]  # fmt: skip
    start, place = shlex.join(command), shlex.quote(str(out))
    solve = f"{start} solve {shlex.join([*files, *options])} --shard auto/{count}"
    merge = f"{start} merge {place}/shards/* --out {place}"
    return _SCRIPT.format(
        directives="\n".join(f"#SBATCH {each}" for each in directives),
        place=place,
        limits="".join(f" {each}" for each in limits),
        name=name,
        merge=shlex.quote(merge),
        solve=solve,
        jobs=jobs,
        most=MOST_REQUEUES,
    )


def _seconds(time: str) -> int:
    """Convert a Slurm time to seconds: minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""
    if not re.fullmatch(r"\d{1,9}(:\d{1,2}){0,2}|\d{1,4}-\d{1,2}(:\d{1,2}){0,2}", time):
        raise InputError(f"--time takes a time as Slurm does, such as 01:00:00, not {time!r}")
    days, dash, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash or len(parts) == 3:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    else:
        hours, minutes, seconds = (0, *parts, 0)[:3]
    return 86400 * int(days or 0) + 3600 * hours + 60 * minutes + seconds


def _escaped(path: Path) -> str:
    """Escape % in a path for Slurm; raise InputError if it has blanks or quotes."""
    text = str(path)
    if re.search(r"[\s\"'\\]", text):
        raise InputError(f"{text}: Slurm takes no blanks or quotes here; choose another --out")
    return text.replace("%", "%%")


_SCRIPT = """#!/bin/bash
# Save this as job.sh and run `bash job.sh`: it submits the array job, and the merge after it.
# A job that runs out of time stops in order and is requeued; finished tasks are not repeated.
{directives}

out={place}
if [ -z "${{SLURM_ARRAY_TASK_ID:-}}" ]; then
  mkdir -p "$out/slurm" || exit
  job=$(sbatch --parsable "$0") || exit
  sbatch --parsable --dependency="afterany:${{job%%;*}}" --job-name={name}-merge{limits} \\
    --output="$out/slurm/merge.txt" --wrap={merge}
  exit
fi

{solve} \\
  --jobs {jobs} --out "$out/shards/$SLURM_ARRAY_TASK_ID" &
solver=$!
requeue=no
trap 'requeue=yes; kill -USR1 "$solver" 2>/dev/null' USR1  # the time of the job is nearly over
trap 'kill -TERM "$solver" 2>/dev/null' TERM  # cancelled, or preempted: then Slurm requeues it
wait "$solver"
code=$?
while kill -0 "$solver" 2>/dev/null; do  # a signal ended the wait, and the solver is stopping
  wait "$solver"
  code=$?
done
if [ "$code" -gt 128 ]; then
  wait "$solver"
  code=$?
fi
if [ "$requeue" = yes ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {most} ]; then
  case $code in
    75 | 138)  # stopped in order, or by USR1 while it was starting
      scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
      ;;
  esac
fi
exit "$code"
"""
