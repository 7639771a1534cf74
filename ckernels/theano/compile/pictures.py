"""theano.d3viz: pictures of graphs as one HTML file, drawn by K.draw."""

from ...api.draw import draw
from ..base.names import absent_of as _absent_of
from .printing import drawable


def d3viz(fct, outfile, copy_deps=True, *args, **kwargs):
    """Write a picture of a function or of variables to an HTML file that needs no network.

    copy_deps is accepted: nothing lies beside the file.
    """
    draw(drawable(fct), outfile if str(outfile).endswith((".html", ".htm")) else f"{outfile}.html")


__getattr__ = _absent_of("theano.d3viz")
