"""The page at `/`: the newest flame graph, with links to the other views."""

from __future__ import annotations

from html import escape
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from whyflame.errors import NothingMatched

if TYPE_CHECKING:
    from whyflame.serve.questions import ProfileRequest, Questions

__all__ = ["render_page"]

VIEWS = ("tokens", "cost", "time", "operations", "errors")
STACKS = {
    "agent > task > evidence": "",
    "goal > task > evidence": "root,path,leaf",
    "outcome > agent > task": "outcome,agent,path",
    "model > agent > task": "model,agent,path",
    "agent > task > token kind": "agent,path,token_kind",
}

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>whyflame: $view</title>
<style>
:root { color-scheme: light dark; --ink: #1d2329; --quiet: #5d6873; --line: #d9dee3; --paper: #fbfcfd; --accent: #9a4a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaee; --quiet: #9aa5b0; --line: #333c45; --paper: #14181c; --accent: #f0a35e; } }
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
header { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: baseline; padding: .9rem 1.4rem; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.05rem; margin: 0; letter-spacing: .01em; }
nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem; }
a { color: var(--quiet); text-decoration: none; padding: .1rem 0; border-bottom: 2px solid transparent; }
a:hover, a:focus-visible { color: var(--ink); }
a[aria-current] { color: var(--accent); border-color: var(--accent); }
main { padding: 1rem 1.4rem; }
main svg { width: 100%; height: auto; }
.empty { max-width: 44rem; margin: 4rem auto; }
.empty h2 { font-size: 1.3rem; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
</style>
</head>
<body>
<header><h1>whyflame</h1><nav aria-label="Width">$views</nav><nav aria-label="Hierarchy">$stacks</nav></header>
<main>$content</main>
</body>
</html>
""")

_EMPTY = """<div class="empty">
<h2>Nothing to show yet</h2>
<p>No settled operation matches. A run appears here when it has been quiet for half a minute.</p>
<p>Point the OTLP exporter of an instrumented agent at this collector:</p>
<pre>OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317
OTEL_EXPORTER_OTLP_PROTOCOL=grpc</pre>
<p>or try it with bundled agent runs: <code>whyflame demo</code></p>
</div>"""


def render_page(questions: Questions, request: ProfileRequest) -> str:
    """HTML of one flame graph, or of what to do when there is none."""
    try:
        content = questions.profile(request, "svg").decode()
        content = content[content.find("<svg") :]
    except NothingMatched:
        content = _EMPTY
    stack = ",".join(request.stack)
    return _PAGE.substitute(
        view=escape(request.view),
        views="".join(_link(name, name == request.view, view=name, stack=stack) for name in VIEWS),
        stacks="".join(
            _link(title, fields == stack, view=request.view, stack=fields)
            for title, fields in STACKS.items()
        ),
        content=content,
    )


def _link(title: str, current: bool, **query: str) -> str:  # noqa: FBT001
    target = urlencode({name: value for name, value in query.items() if value})
    mark = ' aria-current="page"' if current else ""
    return f'<a href="/?{escape(target)}"{mark}>{escape(title)}</a>'
