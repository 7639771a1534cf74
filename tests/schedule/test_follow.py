"""What may run on rows, as far as the graph decides it: questions to a Portion of a scan."""

from types import SimpleNamespace

from ckernels.base.config import config
from ckernels.plan.scan_by_rows import PART as WITH_MEMORY
from ckernels.schedule import follow
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
