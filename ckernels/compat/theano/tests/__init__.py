"""theano.tests: unittest_tools."""
