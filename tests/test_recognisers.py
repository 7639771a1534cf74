"""What recognises a form outside of the rules of ckernels/rewrite has near misses too: inputs that
almost fit, by their values. The rules' own are in tests/rewrite/rules.

A file recognises something if one of its functions says "Whether ...". Its tests of near misses
stand here, or the reason why a wrong answer of its functions can be no wrong number.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("plan", "schedule", "codegen", "jit", "numpy", "theano/rewrites")
NEAR = {
    "plan/bands.py": ("plan/test_bands.py", "test_sums_of_other_rows_than_the_band",
                      "test_each_condition_is_asked_for"),
    "plan/epilogue.py": ("plan/test_epilogue.py", "test_what_almost_walks_them_does_not"),
    "codegen/indexed.py": ("plan/lowerings/test_indexed.py", "test_counts_in_tables"),
    "plan/lowerings/indexed.py": ("codegen/test_indexed.py", "test_out_of_range_with_empty_rows"),
    "plan/lowerings/movement.py": ("plan/lowerings/test_movement.py",
                                   "test_another_place_or_order_is_not_the_same"),
    "plan/lowerings/sparse.py": (
        "plan/lowerings/test_sparse.py",
        "test_matrices_of_no_rows_and_of_other_rows_are_left_to_numpy"),
    "plan/native.py": ("src/image/test_planes.py", "test_what_is_almost_a_maximum_of_fours"),
    "plan/orders.py": ("plan/test_orders.py", "test_near_misses_lie_in_c_order",
                       "test_small_operands_do_not_decide"),
    "plan/partial.py": ("plan/test_partial.py", "test_near_misses"),
    "plan/scan.py": ("plan/test_scan.py", "test_states_that_are_views_inputs_or_constants",
                     "test_a_state_handed_on_and_one_shared_by_two"),
    "plan/scan_by_rows.py": ("plan/test_scan_by_rows.py", "test_what_a_part_needs",
                             "test_one_row_less_than_two_parts", "test_rows_that_meet",
                             "test_steps_that_are_no_loop_nests"),
    "plan/scan_in_kernel.py": ("plan/test_scan_in_kernel.py", "test_steps_that_are_no_short_loops"),
    "plan/scan_of_elements.py": ("plan/test_scan_of_elements.py",
                                 "test_near_misses_are_looked_at_one_by_one",
                                 "test_jumps_are_followed_where_steps_are_no_vectors",
                                 "test_near_misses_of_an_element_that_stays"),
    "plan/scan_terms.py": ("plan/test_scan_terms.py",
                           "test_a_sum_at_times_keeps_its_sign_and_bits"),
    "plan/spans.py": ("plan/test_spans.py", "test_what_is_not_known", "test_indices_that_exist"),
    "plan/taken_over.py": ("plan/test_taken_over.py", "test_memory_of_two_arguments",
                           "test_what_fails_half_way_leaves_what_numpy_leaves",
                           "test_nothing_reads_what_is_overwritten"),
    "plan/stores.py": ("plan/test_stores.py", "test_near_misses",
                       "test_states_that_change_places_are_not_stored_in_place"),
    "schedule/parameters.py": ("schedule/test_parameters.py",
                               "test_loops_that_differ_in_more_than_numbers"),
    "schedule/fuse.py": ("schedule/test_fuse.py", "test_no_cycle_through_a_product",
                         "test_no_cycle_through_another_group",
                         "test_no_cycle_through_a_scalar_computed_twice"),
    "schedule/gathers.py": ("schedule/test_gathers.py", "test_has_a_kernel_of_its_own"),
    "schedule/group.py": ("schedule/test_gathers.py",
                          "test_two_loops_that_see_a_table_alike_and_at_indices_stay_apart"),
    "schedule/legal.py": ("schedule/test_fuse.py",
                          "test_a_sum_over_rows_of_a_product_is_no_epilogue",
                          "test_values_do_not_join_loops_that_never_run"),
    "schedule/policy.py": ("schedule/test_fuse.py",
                           "test_a_group_too_wide_for_the_prefetchers_is_cut",
                           "test_dear_broadcast_producers_are_computed_once"),
    "schedule/horizontal.py": ("schedule/test_horizontal.py",
                             "test_what_is_shared_straight_and_turned"),
    "schedule/units.py": ("schedule/test_fuse_partition.py", "test_below_knows_what_reaches_what"),
    "codegen/forms/contraction.py": ("codegen/forms/test_contraction.py", "test_near_misses"),
    "codegen/forms/nest.py": ("codegen/forms/test_short.py", "test_near_misses"),
    "codegen/forms/columns.py": ("codegen/forms/test_loops.py", "test_near_misses"),
    "codegen/forms/row_loops.py": ("codegen/forms/test_loops.py", "test_near_misses"),
    "codegen/forms/rows.py": ("codegen/forms/test_rows.py",
                              "test_rows_in_cache_short_ones_and_very_long_ones_do_not",
                              "test_only_dear_loops_and_extremes_take_the_rest_as_a_vector",
                              "test_loops_that_sum_as_well_go_on_to_the_end"),
    "codegen/ir.py": ("codegen/test_ir.py", "test_what_check_finds"),
    "codegen/laid.py": ("codegen/test_laid.py",
                        "test_rows_that_lie_apart_are_short_read_and_in_no_bundles"),
    "codegen/lower.py": ("codegen/test_lower.py",
                         "test_few_rows_of_bytes_and_rows_that_are_stored_stay_rows",
                         "test_other_short_rows_go_side_by_side"),
    "codegen/passes.py": ("codegen/test_passes.py", "test_exponentials_of_what_is_never_positive",
                          "test_almost_a_softmax", "test_almost_a_place",
                          "test_almost_below_a_maximum", "test_a_top_that_is_no_maximum",
                          "test_almost_a_quotient_by_a_root_per_row",
                          "test_limits_of_integers_are_left_to_their_own_extrema"),
    "codegen/tidy.py": ("codegen/test_emit.py", "test_tidy"),
    "jit/branches.py": ("jit/test_branches.py",
                        "test_a_number_pinned_on_a_later_path_is_part_of_the_trace"),
    "jit/overlaps.py": ("jit/test_overlaps.py", "test_what_is_no_part",
                        "test_arrays_that_share_no_element"),
    "jit/expression/build.py": ("jit/expression/test_build.py",
                                "test_large_powers_within_bounds_are_computed",
                                "test_integers_beyond_64_bits_are_refused"),
    "jit/function.py": ("jit/test_branches.py", "test_loops_over_slices_that_have_masks_are_traced",
                        "test_a_gradient_of_such_a_loop_is_traced"),
    "jit/flow.py": ("jit/test_flow.py", "test_what_a_turn_asks_in_python",
                    "test_slices_between_elements_are_numpys"),
    "jit/growing.py": ("jit/test_growing.py", "test_what_is_more_than_rows"),
    "jit/jumps.py": ("jit/test_jumps.py", "test_jumps_out_of_try_and_with_stay",
                     "test_what_always_returns_is_no_choice"),
    "jit/maybe.py": ("jit/test_maybe.py", "test_a_dtype_that_data_decide_is_numpys"),
    "jit/number.py": ("jit/test_number.py", "test_near_misses"),
    "jit/scipy/parts.py": ("jit/scipy/test_names.py", "test_without_traced_arguments_it_is_scipys"),
    "jit/syntax.py": ("jit/test_syntax.py", "test_what_stays_as_it_is",
                      "test_a_source_that_is_not_the_codes_is_not_used"),
    "jit/trace.py": ("jit/test_trace.py", "test_parts_that_are_cut_at_an_end_are_numpys",
                     "test_parts_whose_place_no_number_of_a_turn_says",
                     "test_slices_of_other_lengths"),
    "jit/turns.py": ("jit/test_flow.py", "test_names_first_bound_in_a_loop_and_after_it",
                     "test_python_ints_of_a_loop"),
    "numpy/arrays.py": ("numpy/test_arrays.py",
                        "test_a_reshape_that_is_a_copy_aliases_nothing",
                        "test_an_element_is_no_view_and_an_ellipsis_makes_one"),
    "theano/rewrites/local_opt.py": ("compat/theano/test_rewrites.py",
                                     "test_constraints_and_constants_in_patterns"),
    "theano/rewrites/opt.py": ("compat/theano/test_rewrites.py",
                               "test_merging_makes_equal_computations_one"),
}  # fmt: skip
NOT_NEEDED = {
    "plan/binder.py": "looks up what schedule/ decided",
    "plan/context.py": "looks up what was decided of places, planes and frames",
    "plan/lowerings/ctc.py": "asks for a dtype: NumPy runs what it refuses",
    "plan/pipeline.py": "asks only whether it pays to plan again for shapes that are known",
    "jit/expression/tree.py": "reads the tokens of a text by Python's grammar",
    "jit/namespace.py": "asks which library a module is of",
    "jit/program.py": "looks up which functions have been looked at",
    "jit/trees.py": "asks whether a container is Python's own",
    "numpy/owner.py": "asks whether an array is of a trace or not",
    "numpy/rows/filling.py": "asks for a whole number: an error says the others",
    "numpy/value.py": "asks for axes of arguments: an error says the others",
}


def recognisers():
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / "ckernels" / room).rglob("*.py")):
            functions = [n for n in ast.walk(ast.parse(path.read_text()))
                         if isinstance(n, ast.FunctionDef)]  # fmt: skip
            asking = [
                n.name for n in functions if (ast.get_docstring(n) or "").startswith("Whether")
            ]
            if asking:
                found[path.relative_to(ROOT / "ckernels").as_posix()] = asking
    return found


def test_every_recogniser_has_near_misses():
    found, listed = recognisers(), {*NEAR, *NOT_NEEDED}
    lost = {file: names for file, names in found.items() if file not in listed}
    assert not lost, (
        f"these recognise something, and no test has inputs that almost fit: {lost}. Write one and "
        "list it in tests/test_recognisers.py"
    )
    assert not listed - set(found), f"nothing there asks any more: {sorted(listed - set(found))}"
    assert not set(NEAR) & set(NOT_NEEDED)


@pytest.mark.parametrize("file", NEAR)
def test_the_tests_of_near_misses_are_there(file):
    path, *names = NEAR[file]
    tree = ast.parse((ROOT / "tests" / path).read_text())
    assert names and set(names) <= {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
