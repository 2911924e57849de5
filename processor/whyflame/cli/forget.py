"""`whyflame forget`: a session or a user, removed for good."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whyflame.cli.tables import number_of
from whyflame.cli.target import add_target, data_dir, load_config, remote

if TYPE_CHECKING:
    import argparse

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "forget",
        help="remove a session or a user for good",
        description="Removes spans, what was found in them, marks, export payloads that may hold "
        "them, and what the journal and the dead letters have; then writes the database anew, so "
        "that no byte stays behind. A running server answers no questions while it does so, and "
        "goes on receiving. What was exported to other systems stays there.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--session", metavar="S", help="all traces of this session")
    which.add_argument(
        "--user", metavar="U", help="all sessions of this user (the id as it was sent, or its hash)"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    add_target(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do it in the store, or ask the server and wait."""
    if args.data_dir:
        from whyflame.app.forget import ForgetRequest, forget_one

        request = ForgetRequest(args.tenant, args.session, args.user)
        done = forget_one(data_dir(args), load_config(args), request)
    else:
        done = remote(args).forget(args.session, args.user)
    if args.format == "json":
        print(json.dumps(done))
        return 0
    print(
        f"forgot {number_of(done['traces'], 'trace')}, {number_of(done['spans'], 'span')}, "
        f"{number_of(done['payloads'], 'payload')} of the outbox, "
        f"{number_of(done['requests'], 'journalled request')}, "
        f"{number_of(done['dead_letters'], 'dead letter')}"
    )
    if done["unsent_operations"]:
        print(
            f"{done['unsent_operations']:,} operations of other sessions were in payloads that had "
            "to go, and will be missing in the exporters' backends"
        )
    return 0
