#!/usr/bin/env python3
"""Counts which lines and branches the suites reach, in a build with gcov's counters (make coverage).

    tests/coverage.py run BUILD [--minutes N] [SUITE ...]    runs suites one by one, those that have no counts yet
    tests/coverage.py print BUILD [--below N] [--lines FILE] prints the shares by room and the files below N % (90)

Each suite leaves its counts in BUILD/reach/SUITE and how long it ran in BUILD/reach/SUITE/seconds, so that a run can go
on in parts, and tests/mutate.py --reach BUILD knows which suites run a line. A line that several objects hold, one for
each instruction set, is reached if one of them is. A branch counts as two: taken and not taken.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# The rooms of the product; tests, benchmarks and examples have counters, too, but are not counted.
ROOMS = "base formats kernels graph measure trunks heads losses data trainer library folder pages cli".split()


def counted_suites(build):
    """Returns the suites that ran to their end and left counts, sorted by name."""
    return sorted(os.path.basename(os.path.dirname(f)) for f in glob.glob(os.path.join(build, "reach", "*", "seconds")))


def suite_names(build):
    """Reads the suites of a build from its generated list."""
    return re.findall(r"X\(Type, tests, (\w+)\)", open(os.path.join(build, "gen", "tests.def")).read())


def run_suite(build, suite):
    """Runs one suite and keeps its counts. Returns the exit code."""
    place = os.path.join(os.path.abspath(build), "reach", suite)
    shutil.rmtree(place, ignore_errors=True)
    depth = len(os.path.abspath(build).strip("/").split("/"))
    env = dict(os.environ, GCOV_PREFIX=place, GCOV_PREFIX_STRIP=str(depth))
    start = time.time()
    code = subprocess.run([os.path.join(build, "run-tests"), suite], env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    os.makedirs(place, exist_ok=True)
    open(os.path.join(place, "seconds"), "w").write(f"{time.time() - start:.1f}\n")
    return code


def run_suites(build, minutes, suites):
    """Runs the suites that have no counts yet, until the time is over. Returns how many failed."""
    end, failed = time.time() + 60 * minutes, 0
    for suite in suites or suite_names(build):
        if not suites and os.path.exists(os.path.join(build, "reach", suite, "seconds")):
            continue
        if time.time() > end:
            print("coverage: the time is over; the same command goes on")
            break
        if run_suite(build, suite) != 0:
            failed += 1
            print(f"coverage: suite {suite} failed")
    return failed


def gcov_rows(build, data):
    """Reads files of counts, (root, path below it), by gcov. Yields (index in `data`, source, its lines)."""
    with tempfile.TemporaryDirectory() as tmp:
        names = []
        for i, (root, name) in enumerate(data):  # gcov wants the notes of the compiler next to the counts
            folder = os.path.join(tmp, str(i))
            os.makedirs(folder)
            os.symlink(os.path.abspath(os.path.join(root, name)), os.path.join(folder, os.path.basename(name)))
            note = os.path.abspath(os.path.join(build, name[:-5] + ".gcno"))
            if os.path.exists(note):
                os.symlink(note, os.path.join(folder, os.path.basename(note)))
                names.append(os.path.join(folder, os.path.basename(name)))
        for at in range(0, len(names), 100):
            text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *names[at:at + 100]],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            for row in map(json.loads, text.splitlines()):
                for f in row["files"]:
                    yield int(os.path.relpath(row["data_file"], tmp).split("/")[0]), os.path.normpath(f["file"]), f["lines"]


def counts(build, data):
    """Returns {source: {line: (count, [branch counts])}} of the product."""
    found = collections.defaultdict(dict)
    for _, source, lines in gcov_rows(build, data):
        if source.split("/")[0] in ROOMS:
            add_lines(found[source], lines)
    return found


def suites_by_line(build, source):
    """Returns {line: names of the suites that run it} of a source whose lines have counts."""
    stem, data, found = source[:-2], [], {}
    for suite in counted_suites(build):
        root = os.path.join(build, "reach", suite)
        data += [(root, os.path.relpath(f, root)) for f in [os.path.join(root, stem + ".gcda"), *glob.glob(f"{root}/{stem}.*.gcda")]
                 if os.path.exists(f)]
    for i, name, lines in gcov_rows(build, data):
        for line in lines if name == source else []:
            suites = found.setdefault(line["line_number"], set())
            if line["count"] > 0:
                suites.add(os.path.basename(data[i][0]))
    return found


def seconds_of(build, suite):
    """Returns how long a suite ran with counters."""
    return float(open(os.path.join(build, "reach", suite, "seconds")).read())


def add_lines(held, lines):
    """Adds the lines of one object to those of its source."""
    for line in lines:
        n, branches = line["line_number"], [b["count"] for b in line["branches"]]
        count, old = held.get(n, (0, []))
        if len(old) == len(branches):
            branches = [a + b for a, b in zip(old, branches)]
        held[n] = (count + line["count"], branches if len(branches) >= len(old) else old)


def files_of_counts(root):
    """Returns (root, path below it) of each file of counts below a folder."""
    return [(root, os.path.relpath(f, root)) for f in sorted(glob.glob(root + "/**/*.gcda", recursive=True))]


def merged(build, into):
    """Adds the counts of all suites, as gcov-tool does, into one folder, whose path it returns."""
    total = None
    for i, suite in enumerate(counted_suites(build)):
        place = os.path.join(build, "reach", suite)
        if not files_of_counts(place):
            continue
        if total is None:
            total = place
            continue
        out = os.path.join(into, str(i))
        subprocess.run(["gcov-tool", "merge", total, place, "-o", out], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if total.startswith(into):
            shutil.rmtree(total)
        total = out
    return total


def share(pairs):
    """Writes "reached of all, percent" of (reached, all) pairs."""
    a, b = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
    return f"{a:6} of {b:6} {100 * a / max(b, 1):6.1f} %"


def print_shares(build, below, listed):
    """Prints the shares of lines and branches by room, then the files with a smaller share of lines."""
    # In memory where that is possible: the counts of 300 suites are 300,000 small files, minutes of a disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as tmp:
        found = counts(build, files_of_counts(merged(os.path.abspath(build), tmp)))
    rooms = collections.defaultdict(list)
    for source, lines in sorted(found.items()):
        branches = [c for _, b in lines.values() for c in b]
        rooms[source.split("/")[0]].append((source, (sum(c > 0 for c, _ in lines.values()), len(lines)),
                                            (sum(c > 0 for c in branches), len(branches))))
    readers = [f for fs in rooms.values() for f in fs if f[0].startswith(("formats/", "data/readers/"))]
    print("room          lines                      branches")
    for room, files in [*((r, rooms[r]) for r in ROOMS), ("readers", readers), ("all", sum(rooms.values(), []))]:
        print(f"{room:12} {share([f[1] for f in files])}   {share([f[2] for f in files])}")
    for source, (reached, lines), _ in sorted(sum(rooms.values(), []), key=lambda f: f[1][0] - f[1][1]):
        if 100 * reached < below * lines:
            print(f"{source:50} {reached:5} of {lines:5} {100 * reached / lines:6.1f} %")
    if listed:
        with open(listed, "w") as out:
            for source, lines in sorted(found.items()):
                text = open(source).read().split("\n")
                for n, (count, branches) in sorted(lines.items()):
                    if count == 0 or 0 in branches:
                        out.write(f"{'line' if count == 0 else 'branch'} {source}:{n}: {text[n - 1].strip()}\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["run", "print"])
    p.add_argument("build")
    p.add_argument("suites", nargs="*")
    p.add_argument("--minutes", type=float, default=1e9, help="no suite begins after that many minutes")
    p.add_argument("--below", type=float, default=90, help="print files with less than that many percent of lines")
    p.add_argument("--lines", help="file for all lines and branches that no suite reached")
    o = p.parse_args()
    if o.what == "run":
        return run_suites(o.build, o.minutes, o.suites) != 0
    print_shares(o.build, o.below, o.lines)


if __name__ == "__main__":
    sys.exit(main())
