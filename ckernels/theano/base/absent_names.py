"""The names of Theano 1.0.5 that are not here: of each module, read from its source.

Only errors read this (names.py). A module that stands for several of Theano's (PLACES there) has
the names of all of them. A name that comes to be here is to go from its list; a test says which.
"""

MODULES = """
_version compile.sandbox gof.callcache gof.cmodule gof.compiledir gof.cutils gof.lazylinker_c
gof.sched gof.unify misc.buildbot_filter misc.burn_gpu misc.check_blas misc.check_duplicate_key
misc.check_multi_gpu misc.cpucount misc.doubleop misc.elemwise_openmp_speedup
misc.elemwise_time_test misc.frozendict misc.gh_api misc.latence_gpu_transfert
misc.ordered_set misc.safe_asarray misc.strutil misc.windows pathparse
sandbox.conv sandbox.fourier sandbox.minimal scan_module.scan_checkpoints
scan_module.scan_opt scan_module.scan_perform_ext tensor.blas_c tensor.blas_headers
tensor.blas_scipy tensor.elemwise_cgen tensor.fourier tensor.inc_code tensor.nnet.opt
tensor.opt_uncanonicalize version
""".split()

NAMES = {
    "modules": """
        disable_log_handler has_handlers logging_default_formatter logging_default_handler
        opt pathparse rpath theano_logger toolbox utils""",
    "modules.compat": """
        DefaultOrderedDict decode_iter decode_with ifilter maybe_add_to_os_environ_pathlist""",
    "modules.compile": """
        AddDestroyHandler AddFeatureOptimizer AliasedMemoryError Constant DUPLICATE
        DisconnectedType NODEFAULT NullType OPT_FAST_COMPILE OPT_FAST_RUN
        OPT_FAST_RUN_STABLE OPT_MERGE OPT_NONE OPT_O2 OPT_O3 OPT_STABILIZE OPT_UNSAFE
        PrintCurrentFunctionGraph ScanProfileStats Supervisor Variable alias_root
        check_equal config convert_function_input exclude fgraph_updated_vars
        get_info_on_inputs gof graph infer_reuse_pattern inline_ofg_expansion
        insert_deepcopy instantiated_default_mode is_same_graph iter_over_pairs
        local_useless ops_with_inner_function orig_function rebuild_collect_shared
        register_checker sandbox std_fgraph view_tree_set""",
    "gradient.builders": """
        Variable gof inline_ofg_expansion ops_with_inner_function optdb orig_function
        rebuild_collect_shared""",
    "compile.function": """
        compat orig_function """,
    "compile.io": """
        SharedVariable gof""",
    "compile.maker": """
        AliasedMemoryError DUPLICATE In NODEFAULT Supervisor SymbolicInput SymbolicOutput
        alias_root check_equal config convert_function_input fgraph_updated_vars
        get_info_on_inputs gof graph infer_reuse_pattern insert_deepcopy is_same_graph
        ops_with_inner_function orig_function register_checker std_fgraph view_op view_tree_set""",
    "compile.mode": """
        AddDestroyHandler AddFeatureOptimizer DataDestroyed Function FunctionMaker
        GpuArrayType NoDuplicateOptWarningFilter OPT_FAST_COMPILE OPT_FAST_RUN
        OPT_FAST_RUN_STABLE OPT_MERGE OPT_NONE OPT_O2 OPT_O3 OPT_STABILIZE OPT_UNSAFE
        OutputGuard PrintCurrentFunctionGraph Supervisor change_flags char_from_number
        check_eq contains_inf contains_nan data_destroyed default_make_thunk
        exclude f_compute f_gpua_absmax f_gpua_max f_gpua_min flatten gof graph
        infer_reuse_pattern instantiated_default_mode link local_useless logger
        ops_with_inner_function pygpu_available raise_with_op std_fgraph utils""",
    "user_ops.ops": """
        Rebroadcast Shape Shape_i SpecifyShape expandable_types gof shape shape_i shape_i_op
        specify_shape""",
    "compile.profiling": """
        ScanProfileStats graph logger print_global_stats register_profiler_printer
        theano_imported_time total_fct_exec_time total_graph_opt_time total_time_linker""",
    "base.config": """
        ContextsParam DeviceParam SUPPORTED_DNN_CONV_ALGO_BWD_DATA
        SUPPORTED_DNN_CONV_ALGO_BWD_FILTER SUPPORTED_DNN_CONV_ALGO_FWD
        SUPPORTED_DNN_CONV_ALGO_RUNTIME SUPPORTED_DNN_CONV_PRECISION THEANO_FLAGS
        THEANO_FLAGS_DICT TheanoConfigParser TheanoConfigWarning TypedParam
        call_subprocess_Popen check_mkl_openmp compiledir_format_dict compiledir_format_keys
        config_files config_files_from_theanorc count cpuCount default_base_compiledir
        default_blas_ldflags default_compiledir default_compiledir_format default_compiledirname
        default_cuda_include default_dnn_base_path default_dnn_bin_path default_dnn_inc_path
        default_dnn_lib_path default_openmp deprecated_gpuarray_sync fetch_val_for_key
        filter_base_compiledir filter_compiledir filter_mode filter_vm_lazy floatX_convert
        gcc_version_str get_config_hash get_cuda_root get_home_dir good_seed_param
        is_valid_check_preallocated_output_param mingw_w64_gcc newp output_subprocess_Popen
        p_out param parse_config_string rc safe_no_dnn_algo_bwd safe_no_dnn_workmem
        safe_no_dnn_workmem_bwd short_platform split_version theano_cfg theano_raw_cfg
        try_blas_flag var warn_cxx warn_default""",
    "modules.gof": """
        CVM CachedConstantError CallCache CheckStackTraceOptimization CodeBlock
        DestroyHandler HideC Loop LoopGC Stack VM
        add_clear_storage apply_policy calculate_reallocate_info callcache cmodule code_gen
        compiledir config cutils failure_code failure_code_init gc_helper get_c_cleanup
        get_c_declare get_c_extract get_c_extract_out get_c_init get_c_sync get_lock
        get_module_cache get_nothing get_persistent_module_cache lazylinker_c
        log_thunk_trace logger map_storage ops_with_inner_function raise_with_op
        release_lock run_cthunk sched streamline struct_gen struct_variable_codeblocks
        thunk_hook undef unify""",
    "graph.fg": """
        CachedConstantError DestroyHandler NullType OrderedSet ProtocolError config
        fast_inplace_check get_variable_trace_string graph toolbox utils""",
    "graph.apply": """
        NoParams OrderedSet config is_same_graph_with_merge""",
    "classes.op": """
        FunctionGraph GCC_compiler apply_meth config debug_assert graph ops_with_inner_function
        simple_meth""",
    "graph.type": """
        CLinkerObject MethodNotDefined Op change_flags graph null_type object2""",
    "base.utils": """
        ABORT ANY_TYPE FAILURE FALL_THROUGH Keyword MetaObject RETRY c_cpp_keywords comm_guard
        config get_variable_trace_string hash_from_file hist memoize simple_types toposort
        type_guard unique""",
    "gradient.functions": """
        DebugMode FAST_RUN ViewOp get_debug_values get_mode gof grad_time mode_not_slow null_type
        tensor utils""",
    "tensor.ifelse": """
        CondMerge TensorType acceptable_ops clone cond_make_inplace
        cond_merge_ifs_false cond_merge_ifs_true cond_merge_random_op cond_remove_identical gof
        ifelse_lift_single_if_through_acceptable_ops opt optdb""",
    "modules.misc": """
        buildbot_filter burn_gpu check_blas check_duplicate_key check_multi_gpu cpucount
        doubleop elemwise_openmp_speedup elemwise_time_test frozendict gh_api
        latence_gpu_transfert ordered_set safe_asarray strutil windows""",
    "compile.pkl_utils": """
        DEFAULT_PROTOCOL PersistentGpuArrayID PersistentNdarrayID PersistentNdarrayLoad
        PersistentSharedVariableID Pickler SharedVariable config load_reduce min_recursion
        zipadd""",
    "compile.printing": """
        DefaultPrinter Function FunctionPrinter IgnorePrinter LeafPrinter Op OperatorPrinter
        PPrinter PatternPrinter PrinterState SharedVariable VALID_ASSOC config debugmode
        default_colorCodes default_printer gof greek leaf_printer position_independent_str
        special use_ascii""",
    "tensor.raise_op": """
        Raise gof""",
    "modules.sandbox": """
        conv fourier minimal""",
    "tensor.rng_mrg": """
        A1p134 A1p72 A2p134 A2p72 M1 M2 MASK12 MASK13 MASK2 MULT2 NORM
        ParamsType TensorType Variable bool_t cast function get_vector_length
        gradient int_t local_optimizer mrg_next_value mrg_random_make_inplace
        mrg_uniform_base multinomial np_int32_vals opt optdb scal shared tensor""",
    "classes.scalar": """
        BinaryBitOp Compositef32 DisconnectedType FixedLogicalComparison FunctionGraph InRange
        LogicalComparison NumpyAutocaster ScalarSharedVariable SharedVariable SymPyCCode
        UnaryBitOp as_common_dtype autocast_int builtin_bool builtin_complex builtin_float
        builtin_int composite_f32 config convert div_proxy float_out float_out_nocomplex
        floor_div gof grad_not_implemented grad_undefined handle_cast handle_composite
        imported_scipy_special imported_sympy inclosedrange include_line inopenrange
        int_or_true_div int_out int_out_nocomplex mod_check names pprint printing real_out
        remove round_half_away_from_zero_ round_half_away_from_zero_vec32
        round_half_away_from_zero_vec64 same_out_float_only same_out_min8 same_out_nobool
        same_out_nocomplex sympy_dtype theano_dtype unary_out_lookup upcast_out_min8
        upcast_out_no_complex upcast_out_nobool upgrade_to_float64 utils""",
    "scan.functions": """
        function gof opt safe_new scan_opt scan_perform_ext tensor traverse""",
    "scan.utils": """
        AddFeatureOptimizer Apply DEPRECATED_ARG DisconnectedType In NoOutputFromInplace
        NullType Out PureOp Scan ScanProfileStats Shape_i TensorType Validator
        as_tensor_variable compat compress_outs config expand_empty forced_replace function
        get_scalar_constant_value get_updates_and_outputs gof grad_undefined gradient
        hash_listsDictsTuples infer_shape io_connection_pattern isNaN_or_Inf_or_None
        profile_printer rebuild_collect_shared reconstruct_graph safe_new scalar
        scan_args scan_can_remove_outs scan_utils tensor traverse""",
    "sparse.sp": """
        ColScaleCSC Diag EnsureSortedIndices Remove0 RowScaleCSC SpSum SquareDiagonal gof
        register_specialize sparse tensor theano""",
    "sparse.sp2": """
        AddSSData Cast EliminateZeros HStack MulSDCSC MulSDCSR MulSV MulSVCSR Remove0 SamplingDot
        SamplingDotCSR StructuredAddSV StructuredAddSVCSR VStack add_s_s add_s_s_data gof
        local_mul_s_d local_mul_s_v local_sampling_dot_csr local_structured_add_s_v mul_s_d
        mul_s_d_csc mul_s_d_csr mul_s_s mul_s_v mul_s_v_csr register_specialize sampling_dot_csr
        structured_add_s_v structured_add_s_v_csr structured_monoid tensor theano""",
    "modules.tensor": """
        AdvancedBooleanIndexingError AdvancedIndexingError BaseAdvancedIncSubtensor
        BaseAdvancedSubtensor ComplexError DisconnectedType IntegerDivisionError LoadFromDisk
        MPIRecv MPIRecvWait MPISend MPISendWait MakeSlice MethodNotDefined Nonzero ParamsType
        ShapeError SliceConstant SubtensorPrinter adv_index_broadcastable_pattern
        advanced_boolean_inc_subtensor advanced_boolean_set_subtensor advanced_boolean_subtensor
        advanced_set_subtensor alloc_validate_shape as_index_variable as_int_none_variable
        blas_c blas_headers blas_scipy check_advanced_indexing_dimensions check_and_reject_bool
        check_equal_numpy comm complex_types constructor elemwise_cgen equal_slices float_types
        fourier get_idx_list get_scalar_constant_value_elemwises grad_not_implemented
        grad_undefined hash_from_code hashtype inc_code int32 int32_t int_types irecv isend
        key_to_cmp make_constant make_slice min_informative_str mpi_cmps mpi_enabled mpi_keys
        mpi_send_wait_cmp mpi_send_wait_key mpi_tag_cmp mpi_tag_key numpy_diagonal_return_view
        numpy_scalar opt_uncanonicalize pprint python_all python_any python_complex recv
        register_transfer send setdefault sparse_module_ref transfer""",
    "handles.constants": """
        Apply DisconnectedType Generic Op SliceConstant Type hashtype""",
    "modules.tensor.elemwise": """
        Apply COp DimShufflePrinter DisconnectedType MulWithoutZeros NullType Op OpenMPOp
        ParamsType TensorConstant TensorType TensorVariable as_tensor_variable cgen change_flags
        config frozendict get_scalar_type gof mul_without_zeros pprint scalar""",
    "tensor.extra_ops": """
        DisconnectedType EnumList Generic ParamsType bartlett_ basic disconnected_type
        fill_diagonal_ fill_diagonal_offset_ gof gradient int_t nlinalg scalar tensor""",
    "tensor.fft": """
        DisconnectedType gof""",
    "tensor.indexing": """
        AdvancedBooleanIndexingError AdvancedIndexingError Apply
        BaseAdvancedIncSubtensor BaseAdvancedSubtensor DimShuffle DisconnectedType
        MethodNotDefined NoneConst NoneTypeT NotScalarConstantError Op ParamsType SliceType
        SubtensorPrinter TensorType Type addbroadcast adv_index_broadcastable_pattern
        advanced_boolean_inc_subtensor advanced_boolean_set_subtensor
        advanced_boolean_subtensor advanced_set_subtensor alloc as_index_variable
        check_advanced_indexing_dimensions check_and_reject_bool clip config get_idx_list
        get_scalar_constant_value gof hashtype inc_code make_constant make_slice pprint scal
        sparse_module_ref""",
    "tensor.inplace": """
        elemwise fill_inplace pprint printing scal""",
    "tensor.nlinalg": """
        DimShuffle DisconnectedType Dot Dot22 EighGrad Hint HintsFeature HintsOptimizer
        Optimizer QRFull QRIncomplete hints inv_as_solve is_hint_node is_positive is_psd
        is_symmetric local_det_chol local_log_pow local_log_prod_sqr local_optimizer logger
        no_transpose_symmetric psd_solve_with_chol register_canonicalize register_specialize
        register_stabilize remove_hint_nodes tag_solve_triangular tensor
        transinv_to_invtrans""",
    "modules.tensor.nnet": """
        Apply ConvOp DisconnectedType ScalarSoftsign abstract_conv2d as_tensor_variable
        copy_stack_trace crossentropy_to_crossentropy_with_softmax
        crossentropy_to_crossentropy_with_softmax_with_bias elemwise extra_ops gof
        grad_not_implemented graph_merge_softmax_with_crossentropy_softmax
        local_advanced_indexing_crossentropy_onehot
        local_advanced_indexing_crossentropy_onehot_grad local_argmax_pushdown
        local_logsoftmax local_logsoftmax_grad
        local_softmax_grad_to_crossentropy_with_softmax_grad local_softmax_with_bias
        local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc opt optdb scalar
        scalar_sigmoid scalar_softsign sigmoid_inplace softmax_simplifier subtensor tensor
        values_eq_approx_remove_inf values_eq_approx_remove_nan""",
    "tensor.nnet.abstract_conv": """
        Apply BaseCorr3dMM BaseCorrMM EnumList NotScalarConstantError Op OpenMPOp
        ParamsType TensorType blas blas_header_version blas_headers
        gen_conv_code_unroll_batch_kern get_scalar_constant_value gof imported_scipy_signal
        int64 int8 ldflags patternbroadcast""",
    "tensor.nnet.activations": """
        NotScalarConstantError UltraFastScalarSigmoid config copy_stack_trace elemwise gof
        local_1msigmoid local_exp_over_1_plus_exp local_hard_sigmoid local_inv_1_plus_exp
        local_sigm_times_exp local_ultra_fast_sigmoid log1msigm_to_softplus log1p_neg_sigmoid
        log1pexp_to_softplus logsigm_to_softplus opt pprint printing register_local_1msigmoid
        scalar sigmoid_inplace tensor ultra_fast_scalar_sigmoid ultra_fast_sigmoid_inplace
        values_eq_approx_remove_inf""",
    "tensor.nnet.blocksparse": """
        Apply Op discrete_dtypes grad_undefined""",
    "tensor.nnet.bn": """
        AbstractBatchNormInference AbstractBatchNormTrain Apply
        BNComposite Composite Op TensorType add as_common_dtype bn_groupopt copy_stack_trace
        local_abstract_batch_norm_inference local_abstract_batch_norm_train
        local_abstract_batch_norm_train_grad local_optimizer mul register_specialize_device sub
        true_div""",
    "tensor.nnet.conv3d2d": """
        Apply DiagonalSubtensor DisconnectedType IncDiagonalSubtensor Op TopoOptimizer
        copy_stack_trace diagonal_subtensor inc_diagonal_subtensor
        local_inplace_DiagonalSubtensor tensor""",
    "tensor.nnet.ctc": """
        GCC_compiler config cpu_contiguous ctc_present gof grad_undefined local_ctc_no_grad
        local_optimizer register_canonicalize""",
    "tensor.nnet.neighbours": """
        Apply EnumList Op grad_not_implemented grad_undefined""",
    "rewrites.tensor_opt": """
        ALL_REDUCE AdvancedIncSubtensor AdvancedIncSubtensor1 AdvancedSubtensor1 Alloc
        DimShuffle DisconnectedType Elemwise FusionOptimizer IncSubtensor
        InplaceElemwiseOptimizer MakeVectorPrinter MethodNotDefined Reshape Shape ShapeError
        ShapeFeature ShapeOptimizer Subtensor TopKOp UnShapeOptimizer
        advanced_inc_subtensor1 advanced_subtensor advanced_subtensor1
        apply_local_dimshuffle_lift apply_rebroadcast_opt attempt_distribution basic
        broadcast_like check_for_x_over_absX constant_folding distribute_greedy
        elemwise_max_input_fct encompasses_broadcastable extract_constant fuse_seqopt
        get_clients get_clients2 get_idx_list gof graph inplace_elemwise_optimizer
        is_an_upcast is_dimshuffle_useless is_inverse_pair local_0_dot_x
        local_IncSubtensor_serialize local_abs_lift local_abs_merge local_add_mul_fusion
        local_add_specialize local_adv_sub1_adv_inc_sub1 local_alloc_empty_to_zeros
        local_alloc_unary local_canonicalize_alloc local_cast_cast local_dimshuffle_lift
        local_div_switch_sink local_div_to_inv local_elemwise_alloc local_elemwise_alloc_op
        local_elemwise_fusion local_elemwise_fusion_op local_elemwise_sub_zeros
        local_erf_minus_one local_erf_neg_minus_one local_erf_neg_minus_one2 local_expm1
        local_fill_sink local_fill_to_alloc local_flatten_lift local_func_inv
        local_grad_log_erfc_neg local_greedy_distributor local_incsubtensor_of_zeros
        local_incsubtensor_of_zeros_to_setsubtensor local_inplace_incsubtensor1
        local_inplace_setsubtensor local_intdiv_by_one local_inv_canon local_join_1
        local_join_empty local_join_make_vector local_lift_transpose_through_dot local_log1p
        local_log_add local_log_erfc local_log_sum_exp local_merge_alloc
        local_merge_switch_same_cond local_mul_specialize local_mul_switch_sink
        local_mul_to_sqr local_mul_zero local_neg_div_neg local_neg_neg local_neg_to_mul
        local_one_add_neg_erfc local_one_minus_erf local_one_minus_erf2 local_one_minus_erfc
        local_one_minus_erfc2 local_one_minus_erfc3 local_one_plus_erf
        local_one_plus_neg_erf local_op_of_op local_opt_alloc local_pow_canonicalize
        local_pow_specialize local_pow_specialize_device local_rebroadcast_lift
        local_reduce_broadcastable local_reduce_join local_remove_all_assert
        local_remove_useless_assert local_reshape_chain local_reshape_lift
        local_reshape_to_dimshuffle local_scalar_tensor_scalar local_set_to_inc_subtensor
        local_setsubtensor_of_constants local_shape_to_shape_i local_subtensor_inc_subtensor
        local_subtensor_lift local_subtensor_make_vector local_subtensor_merge
        local_subtensor_of_alloc local_subtensor_of_dot
        local_subtensor_remove_broadcastable_index local_sum_prod_all_to_none
        local_sum_prod_div_dimshuffle local_sum_prod_mul_by_scalar local_sumsqr2dot
        local_tensor_scalar_tensor local_track_shape_i local_upcast_elemwise_constant_inputs
        local_useless_alloc local_useless_composite local_useless_dimshuffle_in_reshape
        local_useless_elemwise local_useless_elemwise_comparison local_useless_fill
        local_useless_inc_subtensor local_useless_inc_subtensor_alloc
        local_useless_rebroadcast local_useless_reduce local_useless_reshape
        local_useless_slice local_useless_split local_useless_subtensor local_useless_switch
        local_useless_tile local_useless_topk local_view_op local_zero_div make_constant
        merge_broadcastables merge_two_slices opt scalar scalarconsts_rest toolbox
        topo_constant_folding values_eq_approx_remove_inf values_eq_approx_remove_inf_nan
        values_eq_approx_remove_nan""",
    "tensor.blas": """
        Apply EquilibriumOptimizer FunctionPrinter GemmOptimizer GemmRelated InconsistencyError
        Op Optimizer ParamsType ReplacementDidntRemovedError SequenceDB blas_header_text
        blas_header_version blas_opt_inplace blas_optdb bool_t check_init_y config debugprint
        fblas have_fblas in2out inherit_stack_trace ldflags local_dimshuffle_lift
        local_dot22_to_dot22scalar local_dot22_to_ger_or_gemv local_dot_to_dot22
        local_gemm_to_gemv local_gemm_to_ger local_inplace_gemm local_inplace_gemv
        local_inplace_ger local_optimizer local_print_as_we_go_along optdb pprint res_is_a
        toolbox utils values_eq_approx_remove_inf_nan view_roots""",
    "tensor.raw_random": """
        choice_helper gof multinomial_helper opt optdb random_integers_helper
        random_make_inplace tensor""",
    "tensor.shared_randomstreams": """
        SharedVariable raw_random shared shared_constructor""",
    "handles.sharedvar": """
        Variable load_shared_variable utils""",
    "tensor.signal.conv": """
        conv tensor""",
    "tensor.signal.pool": """
        Apply DisconnectedType EnumList MaxPoolRop OpenMPOp
        ParamsType PoolingMode_t Variable bool_t gof tensor""",
    "tensor.slinalg": """
        Apply CholeskyGrad EigvalshGrad ExpmGrad Op logger tensor""",
    "tensor.sort": """
        arange grad_undefined mul set_subtensor""",
    "handles.type": """
        Variable hashtype scal values_eq_approx""",
    "tensor.xlogx": """
        Elemwise scalar scalar_xlogx scalar_xlogy0""",
    "scan.updates": """
        logger""",
}  # fmt: skip
