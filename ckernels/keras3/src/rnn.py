# ruff: noqa: F401
"""`backend.rnn` of Keras's coming layout."""

from ..backend import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn
