"""Mutants that no test can see, with the reason: what they change saves work or decides nothing.

{file: {what build_tools/mutants.py says of the change: why it decides nothing}}
"""

EQUIVALENT = {
    "ckernels/autodiff/accumulate.py": {
        "without `and i.uid in reach`": (
            "What arrives at a node from which no target is reached is dropped when its turn comes."
        ),
    },
    "ckernels/codegen/lower.py": {
        "`high < 0` is `high <= 0`": (
            "An axis whose stride is never above 0 and may be 0 is the same from its other end."
        ),
        "`n <= ROW_SCRATCH` is `n < ROW_SCRATCH`": (
            "A row that just fits its scratch is computed again, to the same bits."
        ),
    },
    "ckernels/ops/properties.py": {
        "VALUES without `advanced_inc`": (
            "Indices are read as they are, which saves a cast of them to 64 bits."
        ),
        "VALUES without `mask_indices`": (
            "Where `data_decides` misses an op the first call finds out, after one attempt more."
        ),
    },
    "ckernels/plan/lowerings/indexed.py": {
        "never `if how == 'add' and counts(nest)`": (
            "Integers add up to the same in tables and place by place; tables are faster."
        ),
    },
    "ckernels/plan/stores.py": {
        "without `or same`": (
            "A state that all steps leave as it is may lie in its variable too: nobody writes it."
        ),
    },
    "ckernels/rewrite/engine.py": {
        "without `or not chain`": (
            "Without views in between a rule is asked the same question again, to the same answer."
        ),
    },
    "ckernels/src/gemm/gemm.c": {
        "`<=` for `<` in `int few = s->m < FEW_ROWS && s->n >= 2 * MIN_COLS && bytes <= "
        "FEW_BYTES;`, column 19": "The same bits from any grid: it decides how fast they come.",
    },
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
