"""Put sliders around a plain function, so that a reader can move its arguments.

A widget hides what it does, and a page without a kernel has nothing to move. So a lesson calls
the function itself first, then hands the same function to ``explore``. The first call happens at
once: it leaves its result in the book and on the printed page, and an error in it fails the cell
as any error would. Later errors are shown in one line, in the place of the result.

Kind:    plumbing; no chapter explains it
Public:  explore, stages
Imports: compile_stack's page for ``stages``; ipywidgets and IPython where they are installed
"""

from __future__ import annotations

import base64
import contextlib
import functools
import html
import inspect
import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_utils.compile_stack import Explanation

__all__ = ["explore", "stages"]


def explore(function: Callable[..., object], /, **controls: object) -> object:
    """Show a control for each named argument and what the function returns.

    Args:
        function: returns something that a notebook can show: a figure, a table, a number.
        controls: for each argument ``(low, high)`` or ``(low, high, step)`` for a slider, with
            fractions if one of the numbers is a float; a list for a menu; ``True`` or ``False``
            for a box to tick. A default of the function's own is where the control starts.

    Without ipywidgets the function is called once and its result returned.
    """
    start = {name: _start(function, name, control) for name, control in controls.items()}
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return function(**start)
    result = _call(function, start)
    made = {name: _control(name, control, start[name]) for name, control in controls.items()}
    longest = max((len(name) for name in controls), default=0)
    for control in made.values():  # the tracks of all sliders begin below each other
        control.style.description_width = f"{longest}ch"
    return _panel_class()(function, made, result)


def stages(explanation: Explanation) -> object:
    """Show what ``compile_stack.explain`` returned, one stage of the compiler at a time.

    A click on a name shows that stage. Without ipywidgets, in the book and on paper the stages
    stand below each other, each behind a heading that opens.
    """
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return _StaticStages(explanation)
    return _stages_class()(explanation)


class _StaticStages:
    """The stages of an explanation as a page shows them that nothing can be clicked on."""

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def __repr__(self) -> str:
        return str(self._explanation)

    def _repr_html_(self) -> str:
        from course_utils.compile_stack import page

        return page.html_stages(self._explanation)


@functools.cache
def _stages_class() -> type:
    import ipywidgets

    from course_utils.compile_stack import page

    class Stages(ipywidgets.VBox):
        """Names of the stages above the one that was chosen."""

        def __init__(self, explanation: Explanation) -> None:
            self._explanation = explanation
            names = [stage.name for stage in explanation.stages]
            self._names = ipywidgets.ToggleButtons(options=names)
            self._names.style.button_width = "auto"
            self._shown = ipywidgets.HTML()
            super().__init__(children=[self._names, self._shown])
            self._names.observe(self._update, names="value")
            self._update(None)

        def _update(self, _: object) -> None:
            stage = self._explanation.stage(self._names.value)
            title = f"<p>{html.escape(stage.summary)}</p>"
            self._shown.value = title + page.html_stage(self._explanation, stage)

        def __repr__(self) -> str:
            return str(self._explanation)

        def _repr_mimebundle_(self, **kwargs: object) -> dict:
            static = page.html_stages(self._explanation)
            # where no widget can be shown, all stages stand below each other in its place
            bundle = {"text/html": static, **super()._repr_mimebundle_(**kwargs)}
            return {**bundle, "text/plain": repr(self)}

    return Stages


class _Result:
    """What one call returned, in all forms in which a notebook can show it."""

    def __init__(self, value: object, printed: str = "") -> None:
        data, metadata = ({}, {}) if value is None else _formatter().format(value)
        self.data = {kind: _as_json(content) for kind, content in data.items()}
        self.metadata, self.printed = metadata, printed
        _forget_figure(value)

    def as_outputs(self) -> tuple[dict, ...]:
        """Return the result as a notebook stores it."""
        outputs = []
        if self.printed:
            outputs.append({"output_type": "stream", "name": "stdout", "text": self.printed})
        if self.data:
            outputs.append(
                {"output_type": "display_data", "data": self.data, "metadata": self.metadata}
            )
        return tuple(outputs)


def _call(function: Callable[..., object], arguments: dict) -> _Result:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = function(**arguments)
    except Exception:
        print(printed.getvalue(), end="")
        raise
    return _Result(value, printed.getvalue())


def _call_again(function: Callable[..., object], arguments: dict) -> _Result:
    """Call the function after a control was moved; an error becomes one line."""
    try:
        return _call(function, arguments)
    except Exception as error:
        message = str(error).strip().split("\n")[0]
        return _Result(None, f"{type(error).__name__}: {message}\n")


@functools.cache
def _panel_class() -> type:
    import ipywidgets

    class Panel(ipywidgets.VBox):
        """Controls above the result of the function."""

        def __init__(self, function: Callable, controls: dict, first: _Result) -> None:
            # set outright and not captured: the state is whole at once and nothing flickers
            self._output = ipywidgets.Output(outputs=first.as_outputs())
            self._function, self._controls, self._first = function, controls, first
            super().__init__(children=[*controls.values(), self._output])
            for control in controls.values():
                control.observe(self._update, names="value")

        def _update(self, _: object) -> None:
            arguments = {name: control.value for name, control in self._controls.items()}
            self._output.outputs = _call_again(self._function, arguments).as_outputs()

        def __repr__(self) -> str:
            name = getattr(self._function, "__name__", "function")
            shown = ", ".join(f"{key}={control.value!r}" for key, control in self._controls.items())
            return f"{name}({shown}), with controls in a running notebook"

        def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict, dict]:
            data = super()._repr_mimebundle_(**kwargs)
            first = self._first.data
            text = repr(self)
            if not any(kind.startswith("image/") for kind in first):
                text += f"\n{first.get('text/plain', '')}"
            # where no widget can be shown, the first result stands in its place
            return {**first, **data, "text/plain": text.strip()}, self._first.metadata

    return Panel


def _start(function: Callable[..., object], name: str, control: object) -> object:
    """Return where a control starts: the function's own default, else the first value."""
    default = _default(function, name)
    if isinstance(control, bool):
        return control
    if isinstance(control, list) and control:
        values = [choice[1] if isinstance(choice, tuple) else choice for choice in control]
        return next((value for value in values if value == default), values[0])
    if isinstance(control, tuple) and len(control) in (2, 3):
        low, high = control[:2]
        inside = isinstance(default, (int, float)) and low <= default <= high
        start = default if inside else low
        return float(start) if _has_fractions(control) else start
    raise ValueError(
        f"{name} needs (low, high), (low, high, step), a list, True or False, not {control!r}"
    )


def _default(function: Callable[..., object], name: str) -> object:
    try:
        parameter = inspect.signature(function).parameters.get(name)
    except ValueError:  # functions written in C may have no signature
        return None
    return None if parameter is None else parameter.default


def _has_fractions(control: tuple) -> bool:
    return any(isinstance(number, float) for number in control)


def _control(name: str, control: object, start: object) -> object:
    import ipywidgets

    look = {"description": name.replace("_", " ")}
    if isinstance(control, bool):
        return ipywidgets.Checkbox(value=start, indent=False, **look)
    if isinstance(control, list):
        return ipywidgets.Dropdown(options=control, value=start, **look)
    low, high, *step = control
    # while a slider is dragged nothing runs: a drawing takes longer than a pixel
    slider = {"min": low, "max": high, "value": start, "continuous_update": False, **look}
    if _has_fractions(control):
        step = step[0] if step else (high - low) / 20
        return ipywidgets.FloatSlider(step=step, readout_format=".4g", **slider)
    return ipywidgets.IntSlider(step=step[0] if step else 1, **slider)


def _formatter() -> object:
    from IPython.core.formatters import DisplayFormatter
    from IPython.core.interactiveshell import InteractiveShell

    if InteractiveShell.initialized():
        return InteractiveShell.instance().display_formatter
    return DisplayFormatter()


def _as_json(content: object) -> object:
    # a widget's state travels as JSON, which has no bytes
    return base64.b64encode(content).decode() if isinstance(content, bytes) else content


def _forget_figure(value: object) -> None:
    """Close a figure of pyplot's, which would show itself once more at the end of the cell."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and isinstance(value, pyplot.Figure):
        pyplot.close(value)
