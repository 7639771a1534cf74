"""Turns results into lines for the terminal and RESULTS.md: target, ratio, pass or behind.

Only arithmetic on what run.py measured. Reasons and next ideas for what is behind are written by
people, in notes.ini, one section per case.
"""

import configparser

from benchmarks.workload import NEAR, OURS, PEERS, SETS, Target

HEAD = """# ckernels beside its peers

Written by `python benchmarks/run.py`. Medians over interleaved rounds of the least disturbed of
five timings; every peer in a process of its own for each case, with the same number of threads;
each gets arrays of its own kind and returns a fresh result; results are compared with NumPy's in
number, shape and value before anything is timed and again afterwards. Turns during which other
processes used more than 0.15 cores are repeated up to twice. NumPy reuses temporaries (`out=`),
PyTensor trusts its inputs, torch and JAX keep their own tensors, torch.compile gets forward and
backward in one graph. A limit is a hand-written C loop for the same traffic (gcc -O3 -ffast-math,
OpenMP, buffers allocated beforehand) or a bare BLAS call. A row slower than any peer is behind,
whatever its target. "Disturbed": other processes were busy in more than a third of the turns even
so; a thread barrier then costs milliseconds, and the figure is to be taken again.

Memory: a result is dropped before the next call unless a table says otherwise. ckernels then gets
the same pages back, from its pool of freed buffers (512 MB, on huge pages; see the flag `pool` in
[configuration](../docs/guide/configuration.md)), where a library without such a pool takes fresh
pages from the system and pays a fault for each. "Last eight results kept" shows the same calls
while eight older results stay alive, so that nine buffers take turns.
"""


def show(value, unit="s"):
    """A time in the unit that gives two to four digits before the point."""
    if value is None:
        return "-"
    if unit == "MB":
        return f"{value:.1f} MB" if value < 100 else f"{value:.0f} MB"
    for factor, name in ((1e6, "us"), (1e3, "ms")):
        if value * factor < 1000:
            digits = 2 if value * factor < 10 else 1 if value * factor < 100 else 0
            return f"{value * factor:.{digits}f} {name}"
    return f"{value:.2f} s"


def best_peer(record):
    """(name, seconds) of the fastest peer, or (None, None)."""
    found = {n: t for n, t in record["seconds"].items() if n in PEERS}
    name = min(found, key=found.get, default=None)
    return name, found.get(name)


def judge(record):
    """[(text of the target, what was reached as text, passed or None)]."""
    seconds = record["seconds"]
    ours = seconds.get(OURS)
    verdicts = []
    for against, ratio, *text in record["targets"]:
        if against == "at most":
            text = f"at most {show(ratio, record.get('unit', 's'))}"
            reached = show(ours, record.get("unit", "s"))
            verdicts.append((text, reached, None if ours is None else ours <= ratio))
            continue
        target = Target(against, ratio, *text)
        if against == "kernels":
            count = record["stats"].get(OURS, {}).get("kernels")
            verdicts.append((str(target), str(count or "-"), count and count <= ratio))
            continue
        if against == "won":
            verdicts.append((str(target), *won(record, ratio)))
            continue
        other = best_peer(record)[1] if against == "peers" else seconds.get(against)
        reached = other / ours if ours and other else None
        text = "-" if reached is None else f"{reached:.2f}x"
        if reached is not None and against == "limit" and not target.text:
            text = f"{reached:.0%}"
        verdicts.append((str(target), text, None if reached is None else reached >= ratio))
    return verdicts + parity(record, verdicts)


def won(record, ratio):
    """(what was reached as text, passed or None): so many times the best peer, or ahead of it and
    near the limit. Where a workload has no peer or no limit the other one decides."""
    ours, limit = record["seconds"].get(OURS), record["seconds"].get("limit")
    taken = best_peer(record)[1]
    if not ours or not (taken or limit):
        return "-", None
    ahead, near = taken and taken / ours, limit and limit / ours
    if ahead and ahead >= ratio:
        return f"{ahead:.2f}x", True
    parts = ([f"{ahead:.2f}x"] if ahead else []) + ([f"{near:.0%}"] if near else [])
    return ", ".join(parts), bool((ahead or 1) >= 1 and near and near >= NEAR)


def parity(record, verdicts):
    """[(text, reached, False)] where a peer is faster and no target said so; else nothing."""
    ours, taken = record["seconds"].get(OURS), best_peer(record)[1]
    if not ours or not taken or ours <= taken or record.get("unit", "s") != "s":
        return []
    if any(passed is False for _, _, passed in verdicts):
        return []
    return [(str(Target("peers", 1)), f"{taken / ours:.2f}x", False)]


def verdict(passed, record):
    text = {None: "not measured", True: "pass", False: "**behind**"}[passed]
    doubtful = record.get("disturbed", 0) > record.get("turns", 0) / 3
    return text + (" (disturbed)" if doubtful and passed is not None else "")


def line(record):
    """One line for the terminal."""
    unit = record.get("unit", "s")
    peer, taken = best_peer(record)
    parts = [f"{record['case']:34s} ckernels {show(record['seconds'].get(OURS), unit):>9s}"]
    parts.append(f"best peer {show(taken, unit):>9s} {peer or '':14s}")
    if record["seconds"].get("limit"):
        parts.append(f"limit {show(record['seconds']['limit'], unit):>9s}")
    parts += [f"[{t}: {r} {verdict(p, record).replace('*', '')}]" for t, r, p in judge(record)]
    parts += [f"{n}: {text}" for n, text in record["errors"].items()]
    return "  ".join(parts)


def summary(results):
    passed = [p for record in with_sums(results["cases"]) for _, _, p in judge(record)]
    return (
        f"{passed.count(True)} targets reached, {passed.count(False)} behind, "
        f"{passed.count(None)} not measured"
    )


def put(cases, record):
    """Adds a record, or replaces the one of the same case."""
    names = [r["case"] for r in cases]
    if record["case"] in names:
        cases[names.index(record["case"])] = record
    else:
        cases.append(record)


def updated(old, new):
    """`old` results as the start of a run that takes some of its cases again."""
    rounds = [int(n) for r in (old, new) for n in str(r["machine"]["rounds"]).split(" to ")]
    some = f"{min(rounds)} to {max(rounds)}" if len(set(rounds)) > 1 else rounds[0]
    return {
        "machine": {**new["machine"], "rounds": some},
        "versions": {**old["versions"], **new["versions"]},
        "missing": {**old["missing"], **new["missing"]},
        "cases": list(old["cases"]),
    }


def with_sums(cases):
    """`cases`, and after them a record for each set: the time of all its cases together."""
    sums = []
    for name, targets in SETS.items():
        records = [r for r in cases if r.get("set") == name]
        if len(records) > 1:
            common = set.intersection(*(set(r["seconds"]) for r in records))
            ordered = [n for n in records[0]["seconds"] if n in common]
            sums.append(
                {
                    "case": name,
                    "seconds": {n: sum(r["seconds"][n] for r in records) for n in ordered},
                    "targets": [list(t) for t in targets],
                    "turns": sum(r["turns"] for r in records),
                    "disturbed": sum(r["disturbed"] for r in records),
                    "stats": {},
                    "errors": {},
                }
            )
    return [*cases, *sums]


def table(rows):
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines) + "\n"


def targets_table(results):
    rows = [["case", "target", "reached", "", "ckernels", "best peer", "limit"]]
    for record in with_sums(results["cases"]):
        unit = record.get("unit", "s")
        peer, taken = best_peer(record)
        times = [
            show(record["seconds"].get(OURS), unit),
            f"{show(taken, unit)} {peer or ''}".strip(),
            show(record["seconds"].get("limit"), unit),
        ]
        for i, (text, reached, passed) in enumerate(judge(record) or [("-", "-", None)]):
            mark = verdict(passed, record) if text != "-" else ""
            first = i == 0
            rows.append(
                [record["case"] if first else "", text, reached, mark]
                + (times if first else ["", "", ""])
            )
    return table(rows)


def peers_table(records, what="seconds"):
    names = list(dict.fromkeys(n for r in records for n in r[what]))
    rows = [["case", *names]]
    for record in records:
        cells = [show(record[what].get(n), record.get("unit", "s")) for n in names]
        rows.append([record["case"], *cells])
    return table(rows)


def rates_table(records):
    """Samples per second of the cases that count samples."""
    names = list(dict.fromkeys(n for r in records for n in r["seconds"]))
    rows = [["case", *names]]
    for record in records:
        seconds = [record["seconds"].get(n) for n in names]
        rows.append(
            [record["case"], *(f"{record['samples'] / s:,.0f}" if s else "-" for s in seconds)]
        )
    return table(rows)


def behind(results, notes):
    """A paragraph for each target that was not reached."""
    lines = []
    for record in with_sums(results["cases"]):
        for text, reached, passed in judge(record):
            if passed is not False:
                continue
            note = notes[record["case"]] if notes.has_section(record["case"]) else {}
            lines.append(
                f"- **{record['case']}**: {reached}, target {text}. "
                f"Reason: {note.get('reason', 'not yet looked into')}. "
                f"Next: {note.get('next', 'profile it')}."
            )
    return "\n".join(lines) + "\n" if lines else "Nothing.\n"


def markdown(results, notes_path):
    notes = configparser.ConfigParser(interpolation=None)
    notes.read(notes_path)
    machine = results["machine"]
    parts = [HEAD, "![How many times faster than the best peer, by family](results.svg)\n"]
    turns = sum(r.get("turns", 0) for r in results["cases"])
    disturbed = sum(r.get("disturbed", 0) for r in results["cases"])
    parts.append(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads each; Python "
        f"{machine['python']}; {machine['rounds']} rounds"
        f"{' (--quick)' if machine['quick'] else ''}; {machine['date']}. Others "
        f"were busy during {disturbed / max(turns, 1):.0%} of the timings. {summary(results)}.\n"
    )
    parts.append("## Targets\n\n" + targets_table(results))
    parts.append("## What is behind, why, and the next idea\n\n" + behind(results, notes))
    parts.append("## Everybody's time\n\n" + peers_table(with_sums(results["cases"])))
    kept = [r for r in results["cases"] if r.get("kept")]
    if kept:
        parts.append("## Last eight results kept\n\n" + peers_table(kept, "kept"))
    counted = [r for r in results["cases"] if r.get("samples")]
    if counted:
        parts.append("## Samples per second\n\n" + rates_table(counted))
    versions = "\n".join(f"- {name} {version}" for name, version in results["versions"].items())
    if versions:
        parts.append(f"## Versions\n\n{versions}\n")
    if results["missing"]:
        missing = "\n".join(f"- {n}: {why}" for n, why in results["missing"].items())
        parts.append(f"## Missing here\n\n{missing}\n")
    errors = [(r["case"], n, text) for r in results["cases"] for n, text in r["errors"].items()]
    if errors:
        listed = "\n".join(f"- {case}, {name}: {text}" for case, name, text in errors)
        parts.append(f"## Failed or disagreed, so not timed\n\n{listed}\n")
    limits = {r["title"]: r["limit_is"] for r in results["cases"] if r["limit_is"]}
    listed = "\n".join(f"- {title}: {what}" for title, what in limits.items())
    if limits:
        parts.append(f"## What the limits are\n\n{listed}\n")
    return "\n".join(parts)
