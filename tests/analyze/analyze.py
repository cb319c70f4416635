#!/usr/bin/env python3
"""Runs gcc -fanalyzer, clang-tidy, clang's analyser and cppcheck over source files, and compares the findings with
explained ones.

    tests/analyze/analyze.py BUILD [--jobs N] [--tool NAME] [--part] FILE ... -- FLAG ...

FLAGs are those of a compilation. --tool names one of gcc, clang-tidy, clang-analyzer and cppcheck. --part: these are not all files, so
that an explanation without a finding is no error. Outputs of the tools are kept in BUILD/analyze under a hash of the
command and the preprocessed file, so that only files that changed are analysed again.

The exit code is 1 if a finding has no explanation in explained.txt, or an explanation no finding. Entries of that file
are separated by empty lines, and each ends with a reason. No entry holds the number of a line.

    TOOL CHECK FILE FUNCTION        one finding, or equal ones of a function; FUNCTION is - outside of functions
        the text of the line
        reason
    all TOOL CHECK PATTERN [LINE]   findings of a check in files that match PATTERN, as in a shell, in lines that match
        reason                      LINE; without LINE in all lines; the pattern * means all files
    skip TOOL PATTERN               files that a tool does not analyse
        reason
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
EXPLAINED = "tests/analyze/explained.txt"
FACTS = "tests/analyze/facts.h"
# Files that define what FACTS replaces, or a function of a system header that it includes.
UNAWARE = ("base/mem.c", "base/status.c", "trunks/vit/xcit.c")
TIDY_CHECKS = "-*,bugprone-*,cert-*,concurrency-*"
# clang-tidy runs clang's analyser, too. It takes most of the time, and less than a third of that with a third of the usual
# bound on the states of a function.
ANALYZER = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000"]
SECONDS = 600  # for one file and one tool

Finding = collections.namedtuple("Finding", "tool check file function text line message")
Entry = collections.namedtuple("Entry", "kind tool check file function text line")


# ---- explanations ----

def read_explained(path):
    """Reads the entries of a file. Ends the program with a message if one is incomplete."""
    entries, block, start = [], [], 0
    for number, line in enumerate(open(path).read().split("\n") + [""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            start = start if block else number
            block.append(line)
        elif block:
            entries.append(read_entry(path, block, start))
            block = []
    return entries


def read_entry(path, block, line):
    head, body = block[0].split(), [" ".join(b.split()) for b in block[1:]]
    if head[0] == "skip" and len(head) == 3 and body:
        return Entry("skip", head[1], "", head[2], "", "", line)
    if head[0] == "all" and len(head) >= 4 and body:
        return Entry("all", *head[1:4], "", " ".join(head[4:]) or "*", line)
    if head[0] in TOOLS and len(head) == 4 and len(body) > 1:
        return Entry("one", *head, body[0], line)
    sys.exit(f"{path}:{line}: an entry is a head, the text of a line for one finding, and a reason")


def explains(entry, finding):
    if entry.kind == "skip" or (entry.tool, entry.check) != (finding.tool, finding.check):
        return False
    if entry.kind == "all":
        return fnmatch.fnmatchcase(finding.file, entry.file) and fnmatch.fnmatchcase(finding.text, entry.text)
    return (entry.file, entry.function, entry.text) == (finding.file, finding.function, finding.text)


# ---- places ----

def inside(file):
    return not os.path.relpath(os.path.join(TREE, file), TREE).startswith("..")


def function_at(lines, line):
    """Returns the name of the function around a line (from 1), or "-": bodies begin and end in the first column."""
    for i in range(line - 1, -1, -1):
        text = lines[i]
        if i < line - 1 and text.startswith("}"):
            return "-"
        found = re.match(r"[A-Za-z_][^;=]*?(\w+)\((?!\()", text)
        if found and not text.startswith(("#", "typedef ")):
            return found.group(1)
    return "-"


def place(tool, check, file, line, message):
    """Makes a finding from what a tool reports: the path inside the tree, the function and the text of the line."""
    file = os.path.relpath(os.path.join(TREE, file), TREE)
    try:
        lines = open(os.path.join(TREE, file), errors="replace").read().split("\n")
    except OSError:
        lines = []
    text = " ".join(lines[line - 1].split()) if 0 < line <= len(lines) else ""
    return Finding(tool, check, file, function_at(lines, min(line, len(lines))), text, line, message)


# ---- tools ----
# Each tool has a command for a file and a reader of its output, which gives (check, file, line, message) for each finding.
# The check "error" means that the tool could not analyse the file.

def facts(file):
    return [] if file in UNAWARE else ["-include", FACTS]


def gcc_command(cc, flags, file):
    return [*cc, *flags, *facts(file), "-fanalyzer", "-fdiagnostics-format=json", "-S", "-o", "/dev/null", file]


def gcc_findings(said, trouble):
    for line in trouble.splitlines():
        for item in json.loads(line) if line.startswith("[") else []:
            at = item["locations"][0].get("caret", {}) if item["locations"] else {}
            check = "error" if item["kind"] == "error" else item.get("option", "")
            if check == "error" or check.startswith("-Wanalyzer"):
                yield check, at.get("file", ""), at.get("line", 0), item["message"]


def tidy_command(cc, flags, file, checks=TIDY_CHECKS, more=()):
    return ["clang-tidy-14", "--quiet", f"--checks={checks}", "--header-filter=.*", file, "--", *flags, *facts(file),
            "-Wno-everything", *more]


def analyzer_command(cc, flags, file):
    return tidy_command(cc, flags, file, "-*,clang-analyzer-*", ANALYZER)


def tidy_findings(said, trouble):
    for line in said.splitlines():
        match = re.match(r"(\S+?):(\d+):\d+: (?:warning|error): (.*) \[([^\]]+)\]$", line)
        if match:
            # A check has up to three names; a finding is known by the first that is not CERT's.
            names = sorted(match.group(4).split(","), key=lambda name: (name.startswith("cert-"), name))
            check = "error" if names[0] == "clang-diagnostic-error" else names[0]
            yield check.removeprefix("clang-analyzer-"), match.group(1), int(match.group(2)), match.group(3)


def cppcheck_command(cc, flags, file):
    include = [] if file in UNAWARE else [f"--include={FACTS}"]
    return ["cppcheck", "--quiet", "--std=c11", "--enable=warning,portability", "--library=gnu", "--max-configs=1",
            "-D__GNUC__=12", "-D__x86_64__=1", "-D__SSE2__=1", "-D__linux__=1",
            "--template={file}\t{line}\t{id}\t{message}", *(f for f in flags if f.startswith(("-D", "-I"))), *include, file]


def cppcheck_findings(said, trouble):
    for line in trouble.splitlines():
        parts = line.split("\t")
        if len(parts) == 4:
            check = "error" if parts[2] in ("syntaxError", "internalAstError", "internalError") else parts[2]
            yield check, parts[0], int(parts[1]), parts[3]


TOOLS = {"gcc": (gcc_command, gcc_findings), "clang-tidy": (tidy_command, tidy_findings),
         "clang-analyzer": (analyzer_command, tidy_findings),
         "cppcheck": (cppcheck_command, cppcheck_findings)}


def run(command):
    """Runs a command in the tree. Returns (exit code, stdout, stderr)."""
    done = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def version_of(tool, cc):
    program = {"gcc": cc[0], "cppcheck": "cppcheck"}.get(tool, "clang-tidy-14")
    return run([program, "--version"])[1]


def flags_of(file, flags):
    """Adds the flags of an instruction set: a file that is compiled once for each is analysed in its plain form."""
    isa = "plain" if file.endswith("_simd.c") else "emulated" if file.endswith("_amx.c") else None
    return [*flags, f"-DSR_ISA={isa}", f"-DSR_ISA_{isa}=1"] if isa else flags


def analyse(job):
    """Runs one tool on one file, or takes the kept output. Returns (tool, findings)."""
    tool, cc, flags, file, store, version = job
    command_of, findings_of = TOOLS[tool]
    flags = flags_of(file, flags)
    command = command_of(cc, flags, file)
    preprocessed = run([*cc, *flags, *facts(file), "-E", file])[1]
    key = hashlib.sha256("\0".join([version, *command, preprocessed]).encode()).hexdigest()
    kept = os.path.join(store, key[:2], key)
    fresh = not os.path.exists(kept)
    try:
        code, said, trouble = run(command) if fresh else json.load(open(kept))
    except subprocess.TimeoutExpired:
        return tool, [("error", file, 0, f"it is not done after {SECONDS} s")]
    found = [(f[0], f[1] or file, *f[2:]) for f in findings_of(said, trouble) if f[0] == "error" or inside(f[1])]
    if code != 0 and not found:
        found.append(("error", file, 0, f"{command[0]} ends with exit code {code}: {(trouble or said).strip()[-300:]}"))
    if fresh and not any(f[0] == "error" for f in found):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(f"{kept}.{os.getpid()}.{threading.get_ident()}", "w") as f:
            json.dump([code, said, trouble], f)
        os.rename(f.name, kept)
    return tool, found


# ---- the whole ----

def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--part", action="store_true")
    parser.add_argument("files", nargs="+")
    at = sys.argv.index("--", 1) if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:at])
    # Warnings are those of a build, and OpenMP's directives hide the loops after them from the analysers.
    flags = [f for f in sys.argv[at + 1:] if not f.startswith("-W") and f != "-fopenmp"]

    entries = read_explained(os.path.join(TREE, EXPLAINED))
    tools = [args.tool] if args.tool else list(TOOLS)
    cc, store = ["gcc"], os.path.join(args.build, "analyze")
    skips = [e for e in entries if e.kind == "skip"]
    versions = {tool: version_of(tool, cc) for tool in tools}
    jobs = [(tool, cc, flags, file, store, versions[tool]) for tool in tools for file in args.files
            if not any(e.tool == tool and fnmatch.fnmatchcase(file, e.file) for e in skips)]
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for n, (tool, found) in enumerate(pool.map(analyse, jobs), 1):
            findings.update(place(tool, *f) for f in found)
            if sys.stderr.isatty():
                print(f"\ranalyze: {n} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)

    needed, open_findings, counts = set(), [], collections.Counter()
    for f in sorted(findings, key=lambda f: (f.file, f.line, f.tool, f.check, f.message)):
        reasons = [e for e in entries if explains(e, f)]
        needed.update(reasons)
        counts[f.tool, bool(reasons)] += 1
        if not reasons:
            open_findings.append(f)
    for f in open_findings:
        print(f"{f.file}:{f.line}: {f.message} [{f.tool} {f.check} {f.file} {f.function}]\n    {f.text}")
    stale = [e for e in entries if e.kind != "skip" and e.tool in tools and e not in needed and not args.part]
    stale += [e for e in skips if not args.part and not fnmatch.filter(args.files, e.file)]
    for e in stale:
        print(f"{EXPLAINED}:{e.line}: no finding has this explanation; remove it")
    for tool in tools:
        files = sum(1 for job in jobs if job[0] == tool)
        print(f"analyze: {tool}: {files} files, {counts[tool, True]} findings explained, {counts[tool, False]} open")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"analyze: {(used.ru_utime + used.ru_stime) / 60:.1f} minutes of one core")
    sys.exit(1 if open_findings or stale else 0)


if __name__ == "__main__":
    main()
