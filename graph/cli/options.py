"""Options that several commands have, written once."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Thread = Annotated[str | None, typer.Option("--thread", metavar="ID", help="Go on with this conversation.")]
AsUser = Annotated[str | None, typer.Option("--as", metavar="USER", help="Who asks; default: COUNTERSIGN_USER.")]
Supersede = Annotated[bool, typer.Option("--supersede", help="Withdraw what still waits in the thread.")]
Approved = Annotated[str, typer.Argument(metavar="APPROVAL", help="Its id, or the beginning of it.")]
By = Annotated[str, typer.Option("--by", metavar="WHO", help="Who decides.")]
Digest = Annotated[
    str | None, typer.Option("--digest", help="Of the preview that you saw; another one on record decides nothing.")
]
