"""Mutants that no test can see, with the reason: what they change saves work or decides nothing.

{file: {what build_tools/mutants.py says of the change: why it decides nothing}}
"""

EQUIVALENT = {
    "ckernels/autodiff/scan_saved.py": {
        "never `if node.op.kind == 'reduce'`": (
            "What a sum costs decides only whether its result is stored or summed again, to the "
            "same bits."
        ),
    },
    "ckernels/rewrite/scan/prune.py": {
        "without `or not read`": (
            "A scan that an earlier change took out of the graph would be trimmed for nothing."
        ),
    },
    "ckernels/src/attention/scores.c": {
        "`<=` for `<` in `return w->fill > -INFINITY && most - w->fill < (w->d->dtype ? 750 : "
        "110);`, column 49": "exp(-750) is 0 in double precision, exp(-110) in single.",
    },
}
