"""The functions by which a caller watches and stops a computation."""
from . import _isinglass


def stop_function(stop):
    """Returns a function without arguments that returns True once stop= asks to stop; None for
    None.
    """
    if stop is None:
        return None
    function = getattr(stop, "is_set", stop)
    if not callable(function):
        raise _isinglass.Error(f"stop= is {stop!r}; a threading.Event or a function without "
                               "arguments is needed")
    return lambda: bool(function())


def callback_function(callback):
    """Returns the callback; refuses what cannot be called."""
    if callback is not None and not callable(callback):
        raise _isinglass.Error(f"callback= is {callback!r}; a function of a dictionary is needed")
    return callback
