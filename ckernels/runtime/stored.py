"""Plans kept in the compiledir: a process that builds what was built before skips rewriting,
fusion and emission.

The key is the SHA-256 of the graph as the user wrote it (names of leaves and the order of creation
do not matter; attributes do, but for those that their op declares inert), of all settings that
change its plan, of the kind of shapes, and of a number, since a graph has a plan for each class of
shapes it met. The value is a Template, which names kernels by their keys. A graph that cannot be
written down in full has no key, and its plans are not stored: results never depend on this file.
"""

import hashlib
import json
import math
import os
from types import SimpleNamespace

import numpy as np

from .. import compiler
from ..base.config import config
from ..base.native import runtime
from ..base.version import VERSION
from ..compiler import process
from ..graph.folding import of_sizes
from ..graph.node import Literal, make, placeholder
from ..graph.op import PACKAGE, REGISTRY, having
from ..graph.sizes import Size
from ..graph.walk import toposort
from ..plan.template import InstructionSummary, OracleCall, Template

FORMAT = 6
CLASSES = 16  # plans that are kept for one graph and kind of shapes
LARGEST = 1 << 23  # bytes of constants that a stored plan may hold
# rooms whose files decide what becomes of a graph; the others make graphs
ENGINE = ("base", "graph", "ops", "autodiff", "rewrite", "schedule", "codegen", "templates",
          "compiler", "plan", "runtime")  # fmt: skip
FLAGS = ("optimizer", "openmp_elemwise_minsize", "on_compile_error")
INERT = having("inert")
_code = {}


class Unknown(Exception):
    """Something in the graph that has no written form."""


# ---- the key --------------------------------------------------------------------------------


def code_version(rooms=ENGINE):
    """A digest of the library's version and of its files by size and time of change: those at the
    top and below some rooms, or below all.

    Plans depend on these files. To digest their content would take 9 ms at each start. The version
    tells releases apart where a packager gives all files one time.
    """
    if rooms not in _code:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        found, folders = [], [root]
        for folder in folders:
            for entry in os.scandir(folder):
                if entry.name.endswith((".py", ".in", ".so")):
                    info = entry.stat()
                    found.append((entry.path[len(root) :], info.st_size, info.st_mtime_ns))
                elif folder != root or rooms is None or entry.name in rooms:
                    if entry.name != "__pycache__" and entry.is_dir():
                        folders.append(entry.path)
        text = repr((FORMAT, VERSION, sorted(found)))
        _code[rooms] = hashlib.sha256(text.encode()).hexdigest()
    return _code[rooms]


def settings():
    """All but the graph that decides a plan: the library, the compiler, the flags, the cores."""
    tools = compiler.current_toolchain()
    return [
        code_version(),
        tools.identity,
        tools.macros,
        *tools.flags,
        *compiler.own_flags(),
        *(str(config[name]) for name in FLAGS),
        str(process.usable_cores()),
    ]


class Description:
    """Digests of nodes by what they compute: of op, attributes and the digests of the operands.

    Operands of commutative ops are taken in the order of their digests: their own order tells
    which of them was made first in this process.
    """

    def __init__(self):
        self.digests, self.nodes, self.unique = {}, {}, {}

    def leaf(self, node, text):
        self.digests[node.uid] = found = digest_of(text)
        self.nodes[found] = node

    def add(self, roots):
        """The digests of `roots`."""
        digests, nodes = self.digests, self.nodes
        for node in toposort(roots):
            if node.uid not in digests:
                digests[node.uid] = found = digest_of(self.text(node))
                nodes[found] = node
        return [digests[n.uid] for n in roots]

    def text(self, node):
        name = node.op.name
        if name in ("placeholder", "variable"):
            raise Unknown(f"{name} from outside")
        package, _, home = node.op.home.partition(".")
        if package != PACKAGE:
            raise Unknown(f"{name}, which {node.op.home} declares")
        attrs = "" if home.partition(".")[0] in ENGINE else f"{code_version(None)};"
        if node.attrs:
            inert = INERT.get(name, ())
            attrs += ";".join(
                [
                    f"{k}={self.attribute(k, v)}"
                    for k, v in sorted(node.attrs.items())
                    if k not in inert
                ]
            )
        inputs = [self.digests[i.uid] for i in node.inputs]
        if node.op.commutative:
            inputs.sort()
        return f"{name}({','.join(inputs)}){attrs}:{node.dtype}"

    def attribute(self, key, value):
        if key == "uid":
            return str(self.unique.setdefault(value, len(self.unique)))
        if value is None or type(value) in (int, str, bool, float):
            return repr(value)
        if type(value) is tuple:
            return f"({','.join([self.attribute('', v) for v in value])})"
        if type(value) is Literal:
            array = value.array
            if array.dtype == object:
                raise Unknown("a constant of sizes")
            content = hashlib.sha256(array.tobytes()).hexdigest()
            return f"{array.dtype}{array.shape}{value.sized}{content}"
        if hasattr(value, "inputs") and hasattr(value, "outputs"):
            return self.body(value)
        raise Unknown(f"attribute {key} of type {type(value).__name__}")

    @staticmethod
    def body(body):
        """The inner program of a scan or a branch: a graph of its own."""
        inner = Description()
        for k, node in enumerate(body.inputs):
            inner.leaf(node, f"input {k}:{node.dtype}{node.shape}")
        return f"{{{inner.add(body.outputs)}}}"

    def order(self):
        """All nodes, in an order that graphs of one digest share."""
        return [self.nodes[digest] for digest in sorted(self.nodes)]


def digest_of(text):
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def describe(program):
    """(key of the graph of a Program, nodes in an order that graphs of one key share); (None, ())
    for what has no key."""
    written = Description()
    for where, nodes in (("input", program.inputs), ("variable", program.cells)):
        for k, node in enumerate(nodes):
            written.leaf(node, f"{where} {k}:{node.dtype}{node.shape}")
    types = [written.digests[n.uid] for n in program.inputs + program.cells]
    roots = program.outputs + [new for _, new in program.updates]
    try:
        ends = written.add(roots)
    except Unknown:
        return None, ()
    into = [written.digests[v.uid] for v, _ in program.updates]
    rules = [None if part is None else sorted(part) for part in program.rules]
    places = [sorted(program.homes.items()), program.asked]
    text = repr([types, ends, into, rules, program.c_order, places])
    return hashlib.sha256(text.encode()).hexdigest(), written.order()


def numbered(key, kind, number, around=None):
    """The key of plan `number` of a graph for one kind of shapes, with the `settings` around it."""
    text = repr((key, around or settings(), kind, number))
    return hashlib.sha256(text.encode()).hexdigest()


# ---- the value --------------------------------------------------------------------------------


def pack_value(value):
    """An attribute as JSON, or Unknown."""
    if value is None or type(value) in (int, str, bool, float):
        return value
    if type(value) is tuple:
        return [pack_value(v) for v in value]
    raise Unknown(type(value).__name__)


def unpack_value(value):
    return tuple(unpack_value(v) for v in value) if type(value) is list else value


def pack_call(call, sides):
    """How to make an oracle's callable again: op, attributes, types of the operands."""
    if type(call) is not OracleCall:
        raise Unknown("a callable")
    node = call.node
    return {
        "op": node.op.name,
        "inputs": [
            (i.dtype, [None if type(d) is Size else d for d in i.shape]) for i in node.inputs
        ],
        "attrs": {k: pack_value(v) for k, v in node.attrs.items()},
        "values": [
            i.value.tolist()
            if i.value is not None and i.value.size <= 64 and not of_sizes(i)
            else None
            for i in node.inputs
        ],
        "sides": [
            [(slot, dtype, pack_rows(a), pack_rows(b)) for slot, dtype, a, b in side]
            for side in sides
        ],
    }


def pack_rows(rows):
    """Rows of the code, or numbers that never change, as JSON that tells which."""
    return {"are": rows} if type(rows) is tuple else rows


def unpack_rows(rows):
    return tuple(rows["are"]) if type(rows) is dict else rows


def unpack_call(packed):
    inputs = []
    for (dtype, shape), value in zip(packed["inputs"], packed["values"]):
        if value is not None:
            array = np.array(value, dtype=dtype).reshape(shape)
            inputs.append(make("constant", (), {"value": Literal(array)}))
        else:
            inputs.append(placeholder(dtype, shape))
    attrs = {k: unpack_value(v) for k, v in packed["attrs"].items()}
    return OracleCall(make(REGISTRY[packed["op"]], inputs, attrs))


TABLES = {"instrs": 8, "ptrs": 3, "dims": None}  # and their widths
ARRAYS = ("sizes", "starts", "below", "slots")  # of the arena


def pieces(found):
    """The arrays of a Template, in the order in which they are stored."""
    yield from (found.code, found.args, found.assumed)
    for name in TABLES:
        yield from (found.tables[name], *found.patches[name])
    yield from (found.arena[name] for name in ARRAYS)
    yield from found.arena["patch"]
    yield from (c for c in found.constants if type(c) is not tuple)


def save(key, program, found, order):
    """Keep a Template under `key`, when all of it can be written down."""
    numbers = {}
    for number, node in enumerate(order):
        numbers.setdefault(node.line, number)
    records = {r.address: r for r in program.kernels.records.values()}
    arrays = list(pieces(found))
    if sum(c.nbytes for c in found.constants if type(c) is not tuple) > LARGEST:
        return
    used, places = {}, []
    for row, instr in zip(found.tables["instrs"], found.instructions):
        record = records.get(int(row[2])) if instr.kernel is not None else None
        if instr.kernel is not None and record is None:
            return
        places.append(-1 if record is None else used.setdefault(record.key, len(used)))
    by_key = {r.key: r for r in records.values()}
    try:
        head = {
            "arrays": [(a.dtype.name, a.shape) for a in arrays],
            "constants": [c if type(c) is tuple else None for c in found.constants],
            "outputs": [(dtype, pack_rows(rows)) for dtype, rows in found.outputs],
            "orders": found.orders,
            "into": found.into and (found.into[0], list(found.into[1].items()), found.into[2]),
            "updates": [(cell, dtype, pack_rows(rows)) for cell, dtype, rows in found.updates],
            "work": found.work,
            "calls": [pack_call(c, sides) for c, *sides in found.calls],
            "assumptions": [
                (text, numbers.get(line), taken) for text, line, taken in found.assumptions
            ],
            "kernels": [describe_kernel(by_key[k]) for k in used],
            "places": places,
            "instructions": [describe_instruction(i, numbers) for i in found.instructions],
            "nodes": found.nodes,
        }
        text = json.dumps(head, separators=(",", ":")).encode()
    except (Unknown, TypeError):
        return
    body = b"".join([len(text).to_bytes(8, "little"), text, *(a.tobytes() for a in arrays)])
    compiler.keep(key, body)


def describe_kernel(record):
    return [
        record.name,
        record.key,
        record.kernel.form,
        [o.role for o in record.kernel.operands],
        record.length,
    ]


def describe_instruction(instr, numbers):
    return [instr.name, instr.kind, instr.depth, instr.grain, numbers.get(instr.line)]


def load(key, kind, symbols, order):
    """(what `save` kept for these shapes, its kernels' records, the Build), all of them None where
    there is none, and under which key a new plan is to be kept."""
    around = settings()
    for number in range(CLASSES):
        at = numbered(key, kind, number, around)
        body = compiler.kept(at)
        if body is None:
            break
        end = 8 + int.from_bytes(body[:8], "little")
        head = json.loads(body[8:end])
        arrays = read_arrays(head["arrays"], body, end)
        if runtime.sizes(*arrays[:3], np.array(symbols, np.int64)) is None:
            continue
        build = compiler.fetch([k[1] for k in head["kernels"]])
        if build is None:
            break
        records = [
            Record(*k, path, address)
            for k, path, address in zip(head["kernels"], build.paths, build.addresses)
        ]
        return restored(head, arrays, build, order), records, build, at
    return None, None, None, at


def read_arrays(types, body, at):
    arrays = []
    for dtype, shape in types:
        count = math.prod(shape)
        array = np.frombuffer(body, dtype, count, at).reshape(shape)
        at += array.nbytes
        arrays.append(array.copy())  # aligned, which the middle of a file is not
    return arrays


def restored(head, arrays, build, order):
    """The Template that `pieces` gave these arrays."""
    arrays = iter(arrays)
    code, args, assumed = (next(arrays) for _ in range(3))
    tables, patches = {}, {}
    for name in TABLES:
        tables[name] = next(arrays)
        patches[name] = next(arrays), next(arrays)
    arena = {name: next(arrays) for name in ARRAYS}
    arena["patch"] = next(arrays), next(arrays)
    for row, place in zip(tables["instrs"], head["places"]):
        if place >= 0:
            row[2] = build.addresses[place]
    lines = [None if number is None else order[number].line for *_, number in head["instructions"]]
    instructions = [
        InstructionSummary(name, kind, depth, grain, line)
        for (name, kind, depth, grain, _), line in zip(head["instructions"], lines)
    ]
    made = Template(
        code,
        args,
        assumed,
        tables,
        patches,
        arena,
        [next(arrays) if c is None else tuple(c) for c in head["constants"]],
        [(dtype, unpack_rows(rows)) for dtype, rows in head["outputs"]],
        [(cell, dtype, unpack_rows(rows)) for cell, dtype, rows in head["updates"]],
        [
            (
                unpack_call(c),
                *(
                    [(slot, dtype, unpack_rows(a), unpack_rows(b)) for slot, dtype, a, b in side]
                    for side in c["sides"]
                ),
            )
            for c in head["calls"]
        ],
        head["work"],
        [
            (text, None if number is None else order[number].line, taken)
            for text, number, taken in head["assumptions"]
        ],
        instructions,
        nodes=head["nodes"],
        orders=[order and tuple(order) for order in head["orders"]],
    )
    if head["into"]:
        first, homes, asked = head["into"]
        made.into = first, dict(homes), asked
    return made


class Record:
    """A kernel of a stored plan, in the form of those just emitted; the entry's note has its C.

    planned_for: arrays, shapes and the least symbol of the call that found the plan.
    """

    def __init__(self, name, key, form, roles, length, path, address):
        self.name, self.key, self.path, self.address = name, key, path, address
        self.length, self.planned_for = length, None
        self.kernel = SimpleNamespace(
            form=form, operands=[SimpleNamespace(role=role) for role in roles]
        )

    @property
    def text(self):
        source = compiler.note(self.key).get("source", "")
        return source[len(source) - self.length :]
