"""Mutants that no test can see, with the reason: what they change saves work or decides nothing.

{file: {what build_tools/mutants.py says of the change: why it decides nothing}}; of changes that
say the same each has its number: "..., 1 of 2".
"""

EQUIVALENT = {
    "ckernels/autodiff/accumulate.py": {
        "without `and i.uid in reach`": (
            "What arrives at a node from which no target is reached is dropped when its turn comes."
        ),
        "never `if not carries(node)`": (
            "Nothing arrives at integers, since ops give them none: it saves looking above them."
        ),
    },
    "ckernels/autodiff/reverse.py": {
        "without `or not carries(user)`": (
            "An op whose result has no gradient gives none to what it reads: it saves building it."
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
    "ckernels/graph/node.py": {
        "never `if found is not None`, 1 of 2": (
            "With the lock the same node is found: it saves inferring its shape again."
        ),
        "never `if isinstance(x, Node)`": (
            "`constant` lets nodes pass too: the question saves most calls a look for an attribute."
        ),
    },
    "ckernels/graph/shapes.py": {
        "never `if len(shapes) == 2`": (
            "Two shapes are the most frequent case: the general way finds the same, more slowly."
        ),
        "without `or type(y) is int and x == y`": (
            "Where this knows no answer the general way finds the same one."
        ),
    },
    "ckernels/graph/sizes.py": {
        "without `or self.step > 0`": (
            "Where places go up, the one behind the last is above 0: it saves a question of sizes."
        ),
        "`b != 0` is `b == 0`": "The same question, of which nobody reads the answer.",
        "without `or max((len(m) for m, _ in terms)) > 4`": (
            "It bounds the work for a bound, which grows as 2 to the number of factors."
        ),
    },
    "ckernels/graph/walk.py": {
        "never `if not inputs`": (
            "A leaf would be put back below a mark and be taken again at once: it saves that."
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
    "ckernels/plan/lowerings/attention.py": {
        "without `or width == 1`": "Rows of one number are copied, which changes none of them.",
        "without `or n == 1`": "A single row is copied, which changes no number of it.",
        "without `or near == 1`": "Rows without gaps are copied, which changes none of them.",
    },
    "ckernels/codegen/indexed.py": {
        "never `if x_run == y_run == 'c'`": "The loop copies what memcpy does, more slowly.",
        "never `if not per_element and nest.far_strides[-1]`": (
            "The pragma tells the compiler what it would find out: rows are vectors either way."
        ),
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
        "never `if node.op.name == op or not (node.op.name in VIEWS or node.op.name in GATHERS)`": (
            "Behind what is no view is the node itself, which is made again to the same node."
        ),
        "never `if not matcher.of(node.op, normal.get(uid))`": (
            "A node that met these rules before meets them again, in vain: it saves that."
        ),
        "without `and pattern.attrs`": (
            "A pattern without attributes fits any node: it saves the call."
        ),
        "without `or not self.left.attrs`": (
            "A pattern without attributes fits any: it saves the call."
        ),
        "without `and self.steps >= self.budget`": (
            "`more` compares them again; to ask it after each step would count nodes too early."
        ),
        "without `or not chain`": (
            "Without views in between a rule is asked the same question again, to the same answer."
        ),
    },
    "ckernels/schedule/horizontal.py": {
        "`missed < NEAR` is `missed <= NEAR`": (
            "One pair of loops more is tried before it is given up to look for others."
        ),
    },
    "ckernels/schedule/legal.py": {
        "without `and None in amap`": (
            "Where no axis is None the next question finds none: the first one is faster."
        ),
    },
    "ckernels/schedule/policy.py": {
        "without `or x.uid in seen`": (
            "What was met is met again, and put into the same set: it saves the way."
        ),
    },
    "ckernels/src/gemm/gemm.c": {
        "`||` for `&&` in `int small = builtin && !s->trans_b && s->m >= s->n && s->n <= "
        "SMALL_COLS`, column 39": "The same bits from any grid: it decides how fast they come.",
        "`||` for `&&` in `g->by_column = g->batch == 1 && s->m < FEW_ROWS && bytes > "
        "FEW_BYTES;`, column 52": "The same bits from any grid: it decides how fast they come.",
        "`>` for `>=` in `if (can_down && (!can_across || small || s->m / down * 2 >= s->n / "
        "across))`, column 65": "The same bits from any grid: it decides how fast they come.",
        "`<=` for `<` in `int few = s->m < FEW_ROWS && s->n >= 2 * MIN_COLS && bytes <= "
        "FEW_BYTES;`, column 19": "The same bits from any grid: it decides how fast they come.",
    },
    "ckernels/autodiff/scan_saved.py": {
        "never `if node.op.kind == 'reduce'`": (
            "What a sum costs decides only whether its result is stored or summed again, to the "
            "same bits."
        ),
    },
    "ckernels/rewrite/onehot.py": {
        "`values.dtype not in dtypes.INTEGERS` is `values.dtype in dtypes.INTEGERS`": (
            "Ones are counted as integers or added as doubles, to the same number."
        ),
        "never `if node.ndim == 1`": (
            "With axes of size 1 in front of it, the same elements are picked along the last one."
        ),
    },
    "ckernels/rewrite/scan/passes.py": {
        "never `if key in tried`": (
            "What changed nothing once changes nothing again: passes depend on the scan alone."
        ),
    },
    "ckernels/rewrite/specialise.py": {
        "never `if node.dtype not in dtypes.COMPUTED`": (
            "Operands and results of other dtypes are cast to what they are: the same node."
        ),
    },
    "ckernels/rewrite/stencils.py": {
        "`node.op.cost > COSTLY` is `node.op.cost >= COSTLY`": (
            "An op that costs just this is computed where it is read or stored, to the same bits."
        ),
    },
    "ckernels/rewrite/views.py": {
        "`abs(n) > EXACT` is `abs(n) >= EXACT`": (
            "At the limit itself arithmetic and NumPy count the same numbers."
        ),
        "without `and surely(node.shape[node.ndim - x.ndim:], x.shape)`": (
            "A broadcast to as many elements repeats none, unless there are none, of any shape."
        ),
        "`line.step < 0` is `line.step <= 0`": ("The line above leaves only steps of 1 and -1."),
    },
    "ckernels/rewrite/scan/join.py": {
        "`len(kept) < len(opened.outs)` is `len(kept) <= len(opened.outs)`": (
            "A result that nobody reads is dropped when all passes are through."
        ),
        "without `or len(spans) < 2`": (
            "The only columns that cover a matrix are the matrix, of which there is no slice."
        ),
    },
    "ckernels/rewrite/scan/prune.py": {
        "without `or key in tried`": (
            "What could drop nothing once can drop nothing again: it depends on the scan alone."
        ),
        "`half is rest` is `half is not rest`": (
            "A slice of no steps shows as much of either part."
        ),
        "without `or not read`": (
            "A scan that an earlier change took out of the graph would be trimmed for nothing."
        ),
    },
    "ckernels/src/attention/scores.c": {
        "`<=` for `<` in `return w->fill > -INFINITY && most - w->fill < (w->d->dtype ? 750 : "
        "110);`, column 49": "exp(-750) is 0 in double precision, exp(-110) in single.",
    },
    "ckernels/src/gemm/builtin.c": {
        "`<` for `<=` in `return b_col == 1 && m <= rows;`, column 27": (
            "B is packed or read where it lies, to the same bits."
        ),
    },
    "ckernels/src/gemm/microkernel.h": {
        "`>=` for `>` in `if (wide > 1)`, column 17": (
            "A second column of sums is added up, which nobody stores."
        ),
    },
    "ckernels/src/image/conv.c": {
        "`<=` for `<` in `while (c->w.bands * c->splits < TASKS / 4 && c->splits * 2 <= "
        "c->groups * c->blocks`, column 34": (
            "Outputs are parted among more tasks, each of them summed as before."
        ),
    },
    "ckernels/src/order/equal.c": {
        "`<=` for `<` in `while (bins < 2 * n)`, column 16": (
            "A table of twice as many bins holds the same."
        ),
    },
    "ckernels/src/plan/classes.c": {
        "never `if` in `if (!symbols)`, column 12": "Only where memory ends are there none.",
    },
    "ckernels/src/plan/plan.c": {
        "never `if` in `if (!f)`, column 8": (
            "No test lets the allocator fail: a MemoryError there, or the end of the process."
        ),
        "`&&` for `||` in `if (!plan->outputs || !plan->updates || !plan->instrs || "
        "!plan->rows || !plan->dims)`, column 73": "Only where memory ends is one of them missing.",
        "`>=` for `>` in `plan->long_run = work > CK_RELEASE_NS;`, column 26": (
            "A call of just that length may keep Python's lock or let it go."
        ),
        "never `if` in `if (!f->arena)`, column 8": "Only where memory ends is there none.",
    },
    "ckernels/src/python/dispatch.c": {
        "never `if` in `if (t != self->last && take_out(self, t)) {`, column 16": (
            "Which trace is asked first decides how soon the right one is found."
        ),
    },
    "ckernels/plan/lowerings/ctc.py": {
        "`like.strides[0] < like.strides[1]` is `like.strides[0] <= like.strides[1]`": (
            "Equal strides are those of one sample or one step, of which both orders are one."
        ),
        "never `if like is not None and out.buffer[0] == 'tmp' and (like.strides[0] < like.strides[1])`": (  # noqa: E501
            "A result that nobody else holds may lie in either order: it follows the operand."
        ),
    },
    "ckernels/plan/lowerings/cumulative.py": {
        "`strides[-1][-1] < abs(y.strides[axis])` is `strides[-1][-1] <= abs(y.strides[axis])`": (
            "Equal strides are those of an axis of one element, which either loop walks."
        ),
    },
    "ckernels/plan/lowerings/mrg.py": {
        "without `or plain`": ("What lies in order is copied, which changes no number of it."),
    },
    "ckernels/plan/lowerings/sparse.py": {
        "`node.shape[-1] <= 1` is `node.shape[-1] < 1`": (
            "Rows of one number are copied, which changes none of them."
        ),
    },
    "ckernels/src/python/arrays.c": {
        "never `if` in `if (!b) {`, column 8": (
            "No test lets the allocator fail: a MemoryError there, or the end of the process."
        ),
    },
    "ckernels/src/python/traces.c": {
        "never `if` in `if (!t)`, column 8": (
            "No test lets the allocator fail: a MemoryError there, or the end of the process."
        ),
    },
    "ckernels/src/plan/sizes.c": {
        "`>` for `>=` in `if (at[i] >= INT64_MAX / 4)`, column 18": (
            "Blocks lie on whole lines of the cache, so none lies at this odd number."
        ),
    },
    "ckernels/plan/binder.py": {
        "without `and root.uid not in plan.layouts`": (
            "A copy that is there already and what it was copied from hold the same numbers."
        ),
        "without `and self.refused`": (
            "Nothing is in an empty set: it saves the key of the kernel."
        ),
    },
    "ckernels/plan/taken_over.py": {
        "without `and all(map(surely, leaf.shape, root.shape))`": (
            "The result is what the argument becomes, and no argument changes its shape."
        ),
    },
    "ckernels/plan/scan_of_elements.py": {
        "without `or len({*late.values()}) < 2`": (
            "The least of integers is the same in whatever order they are compared."
        ),
        "without `and value.kind == 'op'`": "Nothing but an op has this name.",
    },
    "ckernels/plan/native.py": {
        "`len(sizes) > 5` is `len(sizes) >= 5`": (
            "A loop makes the copy that the kernel makes, more slowly."
        ),
        "`s == 0` is `s != 0`": (
            "A loop and the kernel make the same copy, whether something is repeated or not."
        ),
    },
    "ckernels/rewrite/branches.py": {
        "without `or n.value.size > LIGHT`": (
            "A large constant inside of a side is the same array as outside of it."
        ),
    },
    "ckernels/rewrite/parts.py": {
        "without `or node.inputs[0].op.name != node.op.name`": (
            "A single store is one run, which stays: it is found out sooner."
        ),
    },
    "ckernels/rewrite/sums.py": {
        "without `and a.op.name == 'exp'`": (
            "Where there is nothing to do the rules find nothing: it saves asking them."
        ),
    },
    "ckernels/codegen/passes.py": {
        "without `or i in seen`": (
            "What was met is met again, and put into the same set: it saves the way."
        ),
    },
    "ckernels/rewrite/scan/opened.py": {
        "never `if not shapes_known(body)`": (
            "Rewriting changes no value: it would be work for a body that its oracle runs."
        ),
    },
    "ckernels/src/gemm/blas.c": {
        "`&&` for `||` in `if (s.m <= 0 || s.n <= 0)`, column 17": (
            "A result without rows or columns has no element that the built-in gemm would go over."
        ),
    },
    "ckernels/src/image/channels.h": {
        "`>` for `>=` in `const int several = n >= 6 && (op != CK_OF_MAX || t->channels "
        "< 4 * LANES);               \\`, column 30": (
            "Six pixels are taken one after the other: each has sums of its own."
        ),
    },
    "ckernels/src/plan/scan.c": {
        "`>=` for `>` in `int fine = l->part > 0 && l->width > 0 && l->stretch > 0 && "
        "!l->stepped && l->flag < 0;`, column 23": (
            "Rows are cut where there is a part, so that it is not 0 here."
        ),
    },
    "ckernels/src/python/executor.c": {
        "`>` for `>=` in `return PyArray_NBYTES(a) >= LOOSE && whole_steps(a);`, column 29": (
            "An array of just that size is copied, or read as it lies."
        ),
        "`<=` for `<` in `if (*code == CK_OK && plan->late < plan->n_instrs && "
        "settle(fn, plan, frame) < 0)`, column 37": (
            "Where nothing is written in place there is nothing to settle."
        ),
    },
    "ckernels/src/python/function.c": {
        "never `if` in `if (!item)`, column 12": (
            "A list that nobody shortens meanwhile has each of its items."
        ),
    },
    "ckernels/src/python/lookup.c": {
        "`>=` for `>` in `if (plan->arena > fn->peak)`, column 20": (
            "The same number is put in its place again."
        ),
    },
}
