"""Results as small tables, in a terminal and in notebooks."""
import html


def number(value):
    if value is None:
        return "undefined"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def text(title, rows):
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title] + [f"  {name:<{width}}  {number(value)}" for name, value in rows])


def page(title, rows):
    cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(number(value))}</td></tr>"
                    for name, value in rows)
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


class Shown:
    """A result that is shown as a table with a title and rows (name, value)."""

    def _title(self):
        raise NotImplementedError

    def _rows(self):
        raise NotImplementedError

    def __repr__(self):
        return text(self._title(), self._rows())

    def _repr_html_(self):
        return page(self._title(), self._rows())
