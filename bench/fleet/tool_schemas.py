"""Tools as the OpenAI API wants to hear about them."""

from __future__ import annotations

from typing import Any

SUPPORT = {
    "get_order": ["order_id"],
    "search_policy": ["query"],
    "issue_refund": ["order_id", "amount"],
    "get_customer": ["name"],
    "auth_events": ["user", "page"],
    "reset_factor": ["user"],
    "list_alerts": ["since"],
    "query_metrics": ["query"],
    "open_incident": ["title", "severity"],
}
RESEARCHER = {
    "web_search": ["query"],
    "ask_reader": ["subject", "url"],
    "save_note": ["title"],
}
READER = {"fetch_page": ["url", "page"]}
WRITER = {
    "git_log": ["range"],
    "save_note": ["title"],
    "write_file": ["path", "section"],
    "check_links": ["path"],
    "read_file": ["path"],
    "glossary": ["language"],
}


def schemas(tools: dict[str, list[str]]) -> Any:
    """Function tools whose arguments are not typed."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {"type": "object", "properties": {key: {} for key in keys}},
            },
        }
        for name, keys in tools.items()
    ]
