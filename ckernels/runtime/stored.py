"""Plans kept in the compiledir: a process that builds what was built before skips rewriting,
fusion and emission.

The key is the SHA-256 of the graph as the user wrote it (neither names nor the order of creation
matter), with the shapes at hand and all that decides what is made of it. The value holds the
arguments of the C Plan, with kernels named by their keys. What cannot be written down in full has
no key, or is not stored: nothing here is needed for a right result.
"""
import hashlib
import json
import os
from types import SimpleNamespace

import numpy as np

from .. import compiler
from ..compiler import process
from ..config import config
from ..graph.node import Literal, make, new_uid
from ..graph.op import REGISTRY
from ..graph.walk import toposort
from ..plan.instructions import OracleCall

FORMAT = 1
LARGEST = 1 << 20           # bytes of constants that a stored plan may hold
FLAGS = ("optimizer", "openmp_elemwise_minsize", "on_compile_error")
_code = None


class Unknown(Exception):
    """Something in the graph that has no written form."""


# ---- the key --------------------------------------------------------------------------------


def code_version():
    """A digest of the library's own files, by size and time of change: what plans depend on."""
    global _code
    if _code is None:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        found, rooms = [], [root]
        for room in rooms:
            for entry in os.scandir(room):
                if entry.name.endswith((".py", ".in", ".so")):
                    info = entry.stat()
                    found.append((entry.path[len(root):], info.st_size, info.st_mtime_ns))
                elif entry.is_dir() and entry.name != "__pycache__":
                    rooms.append(entry.path)
        _code = hashlib.sha256(repr((FORMAT, sorted(found))).encode()).hexdigest()
    return _code


def settings():
    """All but the graph that decides a plan: the library, the compiler, the flags, the cores."""
    tools = compiler.current_toolchain()
    return [code_version(), tools.identity, tools.macros, *tools.flags, *compiler.own_flags(),
            *(str(config[name]) for name in FLAGS), str(process.usable_cores())]


class Description:
    """Digests of nodes by what they compute: of op, attributes and the digests of the operands.

    Operands of commutative ops are taken in the order of their digests: their own order tells
    which of them was made first in this process.
    """

    def __init__(self):
        self.digests, self.leaves, self.unique = {}, [], {}

    def leaf(self, node, text):
        self.digests[node.uid] = digest_of(text)
        self.leaves.append(node)

    def add(self, roots):
        """The digests of `roots`."""
        for node in toposort(roots):
            if node.uid not in self.digests:
                self.digests[node.uid] = digest_of(self.text(node))
        return [self.digests[n.uid] for n in roots]

    def operands(self, node):
        if not node.op.commutative:
            return node.inputs
        return sorted(node.inputs, key=lambda n: self.digests[n.uid])

    def text(self, node):
        name = node.op.name
        if name in ("placeholder", "variable"):
            raise Unknown(f"{name} from outside")
        attrs = ";".join(f"{k}={self.attribute(k, v)}" for k, v in sorted(node.attrs.items())
                         if k != "name")
        inputs = ",".join([self.digests[i.uid] for i in self.operands(node)])
        return f"{name}({inputs}){attrs}:{node.dtype}"

    def attribute(self, key, value):
        if key == "uid":
            return str(self.unique.setdefault(value, len(self.unique)))
        if value is None or type(value) in (int, str, bool, float):
            return repr(value)
        if type(value) is tuple:
            return f"({','.join([self.attribute('', v) for v in value])})"
        if type(value) is Literal:
            array = value.array
            return f"{array.dtype}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"
        if hasattr(value, "inputs") and hasattr(value, "outputs"):
            return self.body(value)
        raise Unknown(f"attribute {key} of type {type(value).__name__}")

    @staticmethod
    def body(body):
        """The inner program of a loop or a branch: a graph of its own."""
        inner = Description()
        for k, node in enumerate(body.inputs):
            inner.leaf(node, f"input {k}:{node.dtype}{node.shape}")
        return f"{{{inner.add(body.outputs)}}}"

    def order(self, roots):
        """The leaves and all nodes under `roots`, the same for graphs of the same digest."""
        found, done = list(self.leaves), {n.uid for n in self.leaves}
        stack = [(n, False) for n in reversed(roots)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                found.append(node)
            elif node.uid not in done:
                done.add(node.uid)
                stack.append((node, True))
                stack.extend((i, False) for i in reversed(self.operands(node)))
        return found


def digest_of(text):
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def describe(program, arrays):
    """(key, nodes in an order that graphs of one key share); (None, ()) for what has no key."""
    written = Description()
    shapes = program.shapes_of(arrays)
    for k, (node, array) in enumerate(zip(program.inputs, arrays)):
        layout = "" if array.flags.c_contiguous else array.strides
        written.leaf(node, f"input {k}:{node.dtype}{array.shape}{layout}")
    for k, node in enumerate(program.cells):
        written.leaf(node, f"cell {k}:{node.dtype}{shapes.get(node, node.shape)}")
    types = [written.digests[n.uid] for n in program.inputs + program.cells]
    roots = program.outputs + [new for _, new in program.updates]
    try:
        ends = written.add(roots)
    except Unknown:
        return None, ()
    into = [written.digests[v.uid] for v, _ in program.updates]
    rules = [None if part is None else sorted(part) for part in program.rules]
    text = repr([settings(), types, ends, into, rules])
    return hashlib.sha256(text.encode()).hexdigest(), written.order(roots)


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


def pack_call(call, specs):
    """How to make an oracle's callable again: op, attributes, types of the operands."""
    if type(call) is not OracleCall:
        raise Unknown("a callable")
    node = call.node
    return {"op": node.op.name, "inputs": [(i.dtype, i.shape) for i in node.inputs],
            "attrs": {k: pack_value(v) for k, v in node.attrs.items()},
            "values": [i.value.tolist() if i.value is not None and i.value.size <= 64 else None
                       for i in node.inputs],
            "specs": specs}


def unpack_call(packed):
    inputs = []
    for (dtype, shape), value in zip(packed["inputs"], packed["values"]):
        if value is not None:
            array = np.array(value, dtype=dtype).reshape(shape)
            inputs.append(make("constant", (), {"value": Literal(array)}))
        else:
            inputs.append(make("placeholder", (), {
                "uid": new_uid(), "dtype": dtype, "shape": tuple(shape), "name": None}))
    attrs = {k: unpack_value(v) for k, v in packed["attrs"].items()}
    return OracleCall(make(REGISTRY[packed["op"]], inputs, attrs))


def save(key, program, arguments, order):
    """Keep the arguments of a plan under `key`, when all of them can be written down."""
    numbers = {}
    for number, node in enumerate(order):
        numbers.setdefault(node.line, number)
    records = {r.address: r for r in program.kernels.records.values()}
    constants = arguments["constants"]
    if sum(c.nbytes for c in constants) > LARGEST:
        return
    used, places = {}, []
    for row, step in zip(arguments["instrs"], program.steps):
        record = records.get(int(row[2])) if step.kernel is not None else None
        if step.kernel is not None and record is None:
            return
        places.append(-1 if record is None else used.setdefault(record.key, len(used)))
    by_key = {r.key: r for r in records.values()}
    try:
        head = {
            "arena": arguments["arena"], "work": arguments["work"],
            "outputs": arguments["outputs"], "updates": arguments["updates"],
            "calls": [pack_call(c, (i, o)) for c, i, o in arguments["pycalls"]],
            "constants": [(c.dtype.name, c.shape) for c in constants],
            "sizes": [len(arguments["instrs"]), len(arguments["ptrs"]), len(arguments["dims"])],
            "kernels": [describe_kernel(by_key[k]) for k in used], "places": places,
            "steps": [describe_step(s, numbers) for s in program.steps], "nodes": program.nodes}
        text = json.dumps(head, separators=(",", ":")).encode()
    except (Unknown, TypeError):
        return
    parts = [arguments["instrs"], arguments["ptrs"], arguments["dims"], *constants]
    body = b"".join([len(text).to_bytes(8, "little"), text, *(p.tobytes() for p in parts)])
    compiler.keep(key, body)


def describe_kernel(record):
    return [record.name, record.key, record.kernel.form,
            [o.role for o in record.kernel.operands], len(record.text)]


def describe_step(step, numbers):
    return [step.name, step.kind, getattr(step, "depth", 0), step.grain, numbers.get(step.line)]


def load(key, order):
    """What `save` kept, with kernels loaded: a namespace, or None when anything is missing.

    arguments: of the C Plan, with tags from 0; records: of the kernels; steps; nodes.
    """
    body = compiler.kept(key)
    if body is None:
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    head = json.loads(body[8:end])
    build = compiler.fetch([k[1] for k in head["kernels"]])
    if build is None:
        return None
    at = end
    arrays = []
    types = [("int64", (head["sizes"][0], 8)), ("int64", (head["sizes"][1], 3)),
             ("int64", (head["sizes"][2],)), *head["constants"]]
    for dtype, shape in types:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(body, dtype, count, at).reshape(shape)
        at += array.nbytes
        arrays.append(array.copy())         # aligned, which the middle of a file is not
    instrs, ptrs, dims, *constants = arrays
    for row, place in zip(instrs, head["places"]):
        if place >= 0:
            row[2] = build.addresses[place]
    arguments = {
        "instrs": instrs, "ptrs": ptrs, "dims": dims, "arena": head["arena"],
        "constants": constants, "work": head["work"],
        "outputs": [(d, tuple(s)) for d, s in head["outputs"]],
        "updates": [(i, d, tuple(s)) for i, d, s in head["updates"]],
        "pycalls": [(unpack_call(c), *(as_specs(s) for s in c["specs"])) for c in head["calls"]]}
    records = [Record(*k, path, address) for k, path, address in
               zip(head["kernels"], build.paths, build.addresses)]
    steps = [SimpleNamespace(name=name, kind=kind, depth=depth, grain=grain,
                             line=None if number is None else order[number].line)
             for name, kind, depth, grain, number in head["steps"]]
    return SimpleNamespace(arguments=arguments, records=records, steps=steps, nodes=head["nodes"],
                           build=build)


def as_specs(rows):
    return [(slot, dtype, tuple(shape), tuple(strides)) for slot, dtype, shape, strides in rows]


class Record:
    """A kernel of a stored plan, in the form of those just emitted; the entry's note has its C."""

    def __init__(self, name, key, form, roles, length, path, address):
        self.name, self.key, self.path, self.address = name, key, path, address
        self.length = length
        self.kernel = SimpleNamespace(
            form=form, operands=[SimpleNamespace(role=role) for role in roles])

    @property
    def text(self):
        source = compiler.note(self.key).get("source", "")
        return source[len(source) - self.length:]
