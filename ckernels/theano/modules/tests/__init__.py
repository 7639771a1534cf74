"""theano.tests: unittest_tools, and the Op PdbBreakpoint."""
