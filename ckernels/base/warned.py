"""Warnings that name the line of the program that asked for what they warn of.

How many functions lie between, doors among them, is nothing that who warns would have to count.
"""

import sys
import warnings

from .errors import line_at


def warn_user(text, category=UserWarning):
    """Warn at the innermost line of the user's program; where there is none, at the caller's."""
    frame, level = sys._getframe(1), 2
    while frame is not None and line_at(frame.f_code, frame.f_lasti) is None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=2 if frame is None else level)
