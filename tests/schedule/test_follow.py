"""What may run on rows, as far as the graph decides it: questions to a Portion of a scan."""

from types import SimpleNamespace

import pytest

from ckernels.base.config import config
from ckernels.plan.scan_by_rows import PART as WITH_MEMORY
from ckernels.schedule import follow
from ckernels.schedule.group import Group
from ckernels.schedule.reasons import why_not


def of_scan(until=False):
    return follow.Portion(SimpleNamespace(attrs={"until": until}))


def test_a_scan_that_only_its_steps_end_may_run_in_parts():
    assert why_not(of_scan(), follow.PART) is None


def test_a_condition_of_the_whole_batch_ends_all_of_it():
    assert why_not(of_scan(until=True), follow.PART) is follow.ENDS


def test_one_thread_takes_the_whole_batch():
    with config.change(openmp=False):
        assert why_not(of_scan(), follow.PART) is follow.ONE_THREAD
        assert why_not(of_scan(until=True), follow.PART) is follow.ENDS  # the first one counts


def test_what_the_graph_decides_is_asked_before_memory():
    assert WITH_MEMORY[: len(follow.PART)] == follow.PART
    assert len(set(WITH_MEMORY)) == len(WITH_MEMORY) > len(follow.PART)


def test_questions_are_asked_until_one_has_a_reason():
    asked = []

    def question(name, reason):
        return lambda join: asked.append((name, join)) or reason

    questions = question("a", None), question("b", follow.EMPTY), question("c", follow.LARGE)
    assert why_not("join", questions) is follow.EMPTY
    assert asked == [("a", "join"), ("b", "join")]
    assert why_not("join", questions[:1]) is None and why_not("join", ()) is None


# ---- loops behind a product ----------------------------------------------------------------------


def of_rows(amap=(0, 1), views=("transpose",), **parts):
    """What joins a loop over (8, 6) to a product that it reads so."""
    product = source = SimpleNamespace(op=SimpleNamespace(name="matmul", kind="gemm"))
    for name in views:
        source = SimpleNamespace(op=SimpleNamespace(name=name), inputs=[source])
    group = Group((8, 6), parts.pop("reduced", ()))
    vars(group).update(parts)
    return SimpleNamespace(node=product, amap=amap, group=group, ways={amap: source})


@pytest.mark.parametrize(
    "join, reason",
    [
        (of_rows(views=()), None),
        (of_rows(), None),
        (of_rows(views=(), reduced=(1,)), None),
        (of_rows(views=(), reduced=(0,)), "whose rows this loop adds up"),
        (of_rows(reduced=(0,)), None),  # a turned product: memory decides
        (of_rows(partial=True), "a reduction in chunks"),
        (of_rows(domain=[8, 6, 4]), "not over its elements"),
        (of_rows(amap=(0, None)), "not over its elements"),
        (of_rows(amap=(0, None), domain=[8, 1]), None),
    ],
)
def test_the_loop_runs_over_the_product(join, reason):
    found = follow.runs_over_it(join)
    assert found is None if reason is None else reason in found.text


def test_the_loop_reads_the_product_once():
    assert follow.reads_it_once(of_rows()) is None
    assert follow.reads_it_once(of_rows(views=("slice",))) is not None
    assert follow.reads_it_once(of_rows(amap=(0, 0))) is not None
    twice = of_rows()
    twice.ways = {(0, 1): twice.node, (1, 0): twice.node}
    assert follow.reads_it_once(twice) is not None
