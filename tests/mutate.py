#!/usr/bin/env python3
"""Breaks one line of the program at a time and asks whether the tests notice.

    tests/mutate.py [--seed N] [--count N] [--rooms kernels,losses,...] [--seconds N] [--slice I/N --tree DIR]
    tests/mutate.py --list FILE     breaks chosen places; a line of FILE is FILE<tab>OLD<tab>NEW, or a line that this
                                    script printed about a mutant that SURVIVED, which is judged once more

Works in a copy of the tree below TMPDIR, so that nothing here changes. Each mutant is one changed line that still
compiles to other code. The suites that name the file, its stem or one of its public functions run first to last until
one fails; suites that loop over all operations or losses look at the one that the file holds. With --reach the suites
that run the line are those that `make coverage` counted. A mutant that none of
them notices is printed as SURVIVED, with the suites that ran. The last lines give the share that was noticed, by room,
with Wilson's interval of 95 %. The seed is printed and repeats the choice of places. --slice 2/5 tries the second fifth
of them; --tree DIR keeps the copy for the next slice.
"""
import argparse
import filecmp
import glob
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import coverage  # tests/coverage.py, which leaves no compiled copy next to it

# These suites run whole trainings and could exceed the bound of one mutant without any fault.
LONG = {"examples", "guides", "config_heads", "recipes", "benchmark_configs", "ranks", "kills",
        "every_key", "every_key_learning", "every_key_sections"}
# A suite that runs longer than that with a mutant, in seconds, hangs.
BOUND = 240
# These suites loop over all plugins of a kind.
CONTRACTS = {"op", "op_bf16", "op_errors", "op_hooks", "plan_gradient", "loss", "loss_gradient", "loss_replicas"}
ROOMS = "kernels,losses,trainer,data,measure,pages,base,formats,graph,heads,folder,library"

# One way to break a line: a pattern and what replaces it.
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
         (r" != ", " == "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "),
         (r" && ", " || "), (r" \|\| ", " && "), (r" \+= ", " -= "), (r" -= ", " += "), (r"\b0\b", "1"),
         (r"\b1\b", "2"), (r"\b2\b", "3"), (r"\b1\.0f?\b", "0.5"), (r"\btrue\b", "false"),
         (r"\bfalse\b", "true"), (r" % ", " / "), (r"!(?=[a-z(])", ""), (r"\bSR_MIN\b", "SR_MAX"),
         (r"\bSR_MAX\b", "SR_MIN")]
# Statements that can be left out whole.
STATEMENTS = [r"(SR_TRY\(.*\);)$", r"((?!return)[a-z_]+\(.*\);)$", r"([a-z_>.\[\]-]+ = .*;)$"]


def mutants(line):
    """Returns every way to break the line."""
    found = []
    for pattern, new in SWAPS:
        found += [line[:m.start()] + new + line[m.end():] for m in re.finditer(pattern, line)]
    stripped = line.strip()
    if any(re.match(s, stripped) for s in STATEMENTS):
        found.append(line.replace(stripped, ";"))
    return found


def can_break(line):
    """Tells whether a line is code inside a function; messages and tables of texts are left out."""
    s = line.strip()
    return (line.startswith("    ") and s and '"' not in s and "SR_FAIL" not in s and
            not s.startswith(("//", "#", "*", "/*", "case ", "static const")))


def choose_places(rooms, count, seed):
    """Draws `count` mutants, in turn from each room: (file, line number, new line)."""
    draw = random.Random(seed)
    pools = {}
    for room in rooms:
        files = [f for f in glob.glob(room + "/**/*.c", recursive=True) if not f.endswith("_amx.c")]
        pools[room] = [(f, i) for f in sorted(files) for i, line in enumerate(open(f)) if can_break(line)]
    chosen = []
    while len(chosen) < count:
        f, i = draw.choice(pools[rooms[len(chosen) % len(rooms)]])
        ways = mutants(open(f).read().split("\n")[i])
        if ways:
            chosen.append((f, i, draw.choice(ways)))
    return chosen


def listed_places(path):
    """Reads chosen places. The old text must occur in exactly one line of its file."""
    chosen = []
    for row in open(path):
        printed = re.match(r"SURVIVED (\S+):(\d+): (.*)  \[.*\]$", row)
        if printed:
            chosen.append((printed[1], int(printed[2]) - 1, printed[3]))
            continue
        if not re.search(r"\t.*\t", row) or row.startswith("#"):
            continue
        f, old, new = row.rstrip("\n").split("\t")
        lines = open(f).read().split("\n")
        hits = [i for i, line in enumerate(lines) if old in line]
        if len(hits) != 1:
            sys.exit(f"mutate: {f} has {len(hits)} lines with '{old}'; expected one")
        chosen.append((f, hits[0], lines[hits[0]].replace(old, new)))
    return chosen


def suites_of(file, suites):
    """Returns the suites that may notice a change of the file, those that name it first."""
    stem = os.path.basename(file)[:-2]
    header = file[:-2] + ".h"
    # A file without a header of its own may define functions of another, such as sslrun.h.
    public = set(re.findall(r"\b(sr_\w+)\(", open(header).read()) if os.path.exists(header) else
                 re.findall(r"^[a-zA-Z]\w* \**(sr_\w+)\(", open(file).read(), re.M))
    own = [s for s, text in suites.items() if s == stem or re.search(rf"\b{stem}\b", text)]
    users = [s for s, text in suites.items() if s not in own and any(p + "(" in text for p in public)]
    room = file.split("/")[0]
    broad = {"kernels": ["op", "golden_cases", "plan_gradient"],
             "losses": ["golden_cases", "loss", "loss_gradient", "moving_targets"],
             "trainer": ["train", "resume", "run_folder", "checkpoint"], "data": ["loader", "sampler", "augment"],
             "pages": ["report_verb", "web_verb", "web_requests"], "measure": ["knn", "meter", "linear_verbs"],
             "base": ["file", "text", "yaml"], "formats": ["weights", "checkpoint", "pickle"],
             "graph": ["plan", "graph", "extract"], "heads": ["heads", "model"]}.get(room, [])
    named = f'#include "{header}"'
    rooms = [f for f in glob.glob(room + "/**/*.c", recursive=True) if named in open(f).read()]
    users = [os.path.basename(f)[:-2] for f in rooms if os.path.basename(f)[:-2] in suites][:6] + users
    words = [w for w in stem.split("_") if len(w) > 3]
    kin = [s for s in suites if any(w in s for w in words)]
    order = [s for s in broad if plugins_of(file) and (s in CONTRACTS or s == "golden_cases")] + own + kin[:6] + users[:8] + [b for b in broad if b in suites]
    order = [s for s in dict.fromkeys(order) if s not in LONG]
    return order if stem not in order else [stem] + [s for s in order if s != stem]


def suites_that_run(file, line, suites, reach):
    """Returns the suites that run a line by the counts of `make coverage`, quick ones first, and others that may notice it
    and have no counts yet. None: the line has no counts."""
    if file not in reach:
        reach[file] = coverage.suites_by_line(reach["build"], file)
    if line not in reach[file]:
        return None
    usual, build = suites_of(file, suites), reach["build"]
    counted = coverage.counted_suites(build)
    ran = sorted(reach[file][line] - LONG, key=lambda s: coverage.seconds_of(build, s))
    asked = ran + [s for s in usual if s not in counted]
    return sorted(asked, key=lambda s: s not in usual[:4])


def plugins_of(file):
    """Returns settings by which contract tests look at one plugin: the file's, or up to four that stand on it."""
    plain = re.sub(r"_simd\.c$", ".c", file)  # vector loops belong to the operation next to them
    room = {f: open(f).read() for f in sorted(glob.glob(file.split("/")[0] + "/**/*.[ch]", recursive=True))}
    files, seen = [plain if plain in room else file], set()
    while files:
        found = [{"SR_TEST_" + kind.upper(): name} for f in files
                 for kind, name in re.findall(r"^const Sr\w+ sr_(op|loss)_(\w+) = ", room[f], re.M)]
        if found:
            return found[:4]
        seen.update(files)
        names = [f'#include "{f[:-2]}.h"' for f in files]
        names += [n + "(" for f in files for n in re.findall(r"^[A-Za-z].*?\b(sr_\w+)\(", room[f], re.M)]
        names += [n for f in files for n in re.findall(r"^const \w+ (sr__\w+)", room[f], re.M)]
        files = [f for f in room if f not in seen and any(n in room[f] for n in names)]
    return []


def left_out(folder, names):
    """Names what a copy of the tree does without: history, runs, packages, and builds with sanitizers."""
    of = {".": {".git", "runs", "package"}, "./build": {"asan", "tsan", "static", "clang", "arm64"}}
    return of.get(folder, set()) & set(names)


def bring_up_to_date(tree):
    """Copies files that changed since the tree was made, also those that a killed run left broken, and removes others."""
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE, text=True, check=True)
    names = set(listing.stdout.splitlines())
    for f in glob.glob(tree + "/*/**/*.[ch]", recursive=True):
        name = os.path.relpath(f, tree)
        if name not in names and not name.startswith("build/"):
            os.remove(f)
    for name in sorted(names):
        there = os.path.join(tree, name)
        if os.path.isfile(name) and not (os.path.exists(there) and filecmp.cmp(name, there, shallow=False)):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copyfile(name, there)
            shutil.copymode(name, there)


def run(command, seconds, **options):
    """Runs a command to its end or its bound. Returns the exit code; None: it took too long."""
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                         stdin=subprocess.DEVNULL, **options)
    try:
        return p.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.wait()
        return None


def objects_of(file, tree):
    """Returns the contents of the file's objects, one for each instruction set, by path."""
    stem = os.path.join(tree, "build", file[:-2])
    return {o: open(o, "rb").read() for o in [stem + ".o", *sorted(glob.glob(stem + ".*.o"))] if os.path.exists(o)}


def code_of(objects):
    """Returns what objects hold without the tables of a debugger."""
    codes = []
    for content in objects.values():
        with tempfile.TemporaryDirectory() as tmp:
            old, new = os.path.join(tmp, "old.o"), os.path.join(tmp, "new.o")
            open(old, "wb").write(content)
            subprocess.run(["objcopy", "--strip-debug", old, new], check=True)
            codes.append(open(new, "rb").read())
    return codes


def judge(place, tree, suites, seconds, reach):
    """Builds one mutant and runs its suites. Returns (verdict, words about it)."""
    file, i, new = place
    path = os.path.join(tree, file)
    whole = open(path).read()
    lines = whole.split("\n")
    before = objects_of(file, tree)
    lines[i] = new
    plugins = plugins_of(file)
    try:
        open(path, "w").write("\n".join(lines))
        if run(["make", "-s", "-j2", "mutant", "MUTANT=" + file], 600, cwd=tree) != 0:
            return "no code", "does not compile"
        if code_of(objects_of(file, tree)) == code_of(before):
            return "no code", "gives the same code"
        ran, start = [], time.time()
        chosen = suites_that_run(file, i + 1, suites, reach) if reach else None
        for suite in suites_of(file, suites) if chosen is None else chosen:
            if time.time() - start > seconds:
                break
            ran.append(suite)
            for plugin in plugins if suite in CONTRACTS and plugins else [{}]:
                code = run(["build/run-tests", suite], BOUND, cwd=tree, env=dict(os.environ, **plugin))
                if code is None:
                    return "caught", f"{suite} (takes longer than {BOUND} s)"
                if code != 0:
                    return "caught", suite
        return "SURVIVED", " ".join(ran) or ("no suite names it" if chosen is None else "no suite runs it")
    finally:
        open(path, "w").write(whole)
        for o, content in before.items():  # after the source, so that make does not compile it once more
            open(o, "wb").write(content)


def interval(caught, n):
    """Returns Wilson's interval of 95 % for a share."""
    z, share = 1.96, caught / max(n, 1)
    middle, half = share + z * z / (2 * max(n, 1)), z * math.sqrt(share * (1 - share) / max(n, 1) + z * z / (4 * max(n, 1) ** 2))
    return (middle - half) / (1 + z * z / max(n, 1)), (middle + half) / (1 + z * z / max(n, 1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=300)
    p.add_argument("--rooms", default=ROOMS)
    p.add_argument("--slice", default="1/1", help="2/5: the second fifth of the places")
    p.add_argument("--minutes", type=float, default=1e9, help="no mutant begins after that many minutes")
    p.add_argument("--tree", help="folder of the copy, which is kept; without it a temporary one")
    p.add_argument("--reach", help="a build of `make coverage`, whose counts choose the suites")
    p.add_argument("--list", help="file of chosen places")
    p.add_argument("--seconds", type=float, default=120, help="no suite of a mutant begins after that time")
    o = p.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/..")
    places = listed_places(o.list) if o.list else choose_places(o.rooms.split(","), o.count, o.seed)
    part, parts = map(int, o.slice.split("/"))
    places = places[part - 1::parts]
    suites = {}
    for f in glob.glob("tests/**/*.c", recursive=True):
        text = open(f).read()
        for name in re.findall(r"^SR_TESTS\((\w+),", text, re.M):
            suites[name] = text
    tally, reach = {}, {"build": os.path.abspath(o.reach)} if o.reach else None
    with tempfile.TemporaryDirectory(prefix="sslrun-mutants-") as tmp:
        tree = o.tree or os.path.join(tmp, "tree")
        if not os.path.exists(tree):
            shutil.copytree(".", tree, symlinks=True, ignore=left_out)
        bring_up_to_date(tree)
        if run(["make", "-s", "-j2", "sslrun", "build/run-tests"], 3600, cwd=tree) != 0:
            sys.exit("mutate: the tree does not build")
        print(f"seed {o.seed}" if not o.list else f"places of {o.list}", flush=True)
        end = time.time() + 60 * o.minutes
        for place in places:
            if time.time() > end:
                break
            verdict, words = judge(place, tree, suites, o.seconds, reach)
            print(f"{verdict:8} {place[0]}:{place[1] + 1}: {place[2].strip()}  [{words}]", flush=True)
            if verdict != "no code":
                caught, n = tally.get(place[0].split("/")[0], (0, 0))
                tally[place[0].split("/")[0]] = (caught + (verdict == "caught"), n + 1)
    tally["all"] = tuple(sum(t[k] for t in tally.values()) for k in (0, 1))
    for room, (caught, n) in tally.items():
        low, high = interval(caught, n)
        print(f"{room}: {caught} of {n} noticed, {100 * caught / max(n, 1):.0f} % ({100 * low:.0f} to {100 * high:.0f} %)")


if __name__ == "__main__":
    main()
