"""What Keras's layers and SavedModels ask of a backend: nothing, and a refusal in words."""


class Layer:
    """The layer mixin: nothing is asked of it."""


class ExportArchive:
    """SavedModels are TensorFlow's; `ckernels.export` writes C."""

    def track(self, resource):
        raise NotImplementedError("the ckernels backend does not write SavedModels")

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        raise NotImplementedError("the ckernels backend does not write SavedModels")
