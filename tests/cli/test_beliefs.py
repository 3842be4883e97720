import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]
Told = Callable[..., dict[str, Any]]
ADA = ("--principal", "user:ada")
ATLAS = ("--scope", "project:atlas")
CACHE = ("add", "Redis caches our pages", "--type", "decision", "--name", "page_cache", *ATLAS, *ADA)


@pytest.fixture(autouse=True)
def nobody_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSS_PRINCIPAL", raising=False)


@pytest.fixture
def told(pssi: Run) -> Told:
    """What a command that succeeds prints with --json."""

    def run(*args: object) -> dict[str, Any]:
        result = pssi("beliefs", *args, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


@pytest.fixture
def cache(told: Told) -> str:
    return told(*CACHE, "--alias", "redis", "--why", "Suggest Redis.")["belief"]["id"]


def error(run: Result, code: int = 1) -> dict[str, str]:
    assert run.exit_code == code, run.output
    return json.loads(run.stdout)["error"]


def table(run: Result) -> list[list[str]]:
    assert run.exit_code == 0, run.output
    return [line.split() for line in run.stdout.splitlines()]


# --- adding


def test_add_keeps_all_that_was_given(told: Told) -> None:
    given = told(
        *("add", "The gateway needs the ledger", "--type", "relation", "--name", "gateway ledger"),
        *("--relation-type", "depends_on", "--participant", "gateway", "--participant", "ledger"),
        *("--scope", "domain:code", *ATLAS, "--alias", "gateway link", "--replaces", "old link"),
        *("--why", "Start the ledger first.", "--pin", "--confidence", 0.5, "--source", "assistant", *ADA),
    )
    belief = given["belief"]
    assert (given["outcome"], given["similar"], given["asks_why"]) == ("created", [], False)
    assert belief["participants"] == ["gateway", "ledger"]
    assert belief["scopes"] == ["domain:code", "project:atlas"]
    assert set(belief["aliases"]) == {"gateway link", "old link"}
    assert (belief["pinned"], belief["confidence"], belief["provenance"]["source"]) == (True, 0.5, "assistant")
    assert belief["epistemic_status"] == "inferred"


def test_add_says_the_outcome_and_asks_why(pssi: Run, told: Told, cache: str) -> None:
    assert told(*CACHE)["outcome"] == "reinforced"
    waits = pssi("beliefs", "add", "Nothing caches them", *CACHE[2:], "--source", "assistant")
    assert waits.stdout.startswith("contradicted ")
    assert f"waits beside {cache[:8]}" in waits.stdout
    assert waits.stderr == ""
    settled = pssi("beliefs", "add", "Valkey caches our pages", *CACHE[2:])
    assert settled.stdout.startswith("superseded ")
    assert len(settled.stderr.splitlines()) == 1
    assert settled.stderr.startswith("Why does it matter")
    assert told("add", "Varnish caches our pages", *CACHE[2:])["asks_why"]
    assert not told("add", "KeyDB does", *CACHE[2:], "--why", "Suggest KeyDB.")["asks_why"]


def test_add_names_what_says_the_same(pssi: Run, cache: str) -> None:
    run = pssi("beliefs", "add", "our pages Redis caches", *CACHE[2:5], "other_name", *ATLAS, *ADA)
    assert run.stdout.startswith("created ")
    assert cache[:8] in run.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--type": "fact"}, ("--type", "open_question")),
        ({"--scope": "atlas"}, ("--scope", "project:x")),
        ({"--scope": "user:ada"}, ("--scope", "user:universal")),
        ({"--scope": "project:{name}"}, ("--scope", "template")),
        ({"--scope": None}, ("--scope",)),
        ({"--name": " "}, ("--name", "blank")),
        ({"--source": "rumour"}, ("--source", "assistant")),
        ({"--confidence": "2"}, ("--confidence",)),
        ({"--type": "relation"}, ("relation_type", "participants")),
        ({"--principal": None}, ("--principal",)),
    ],
)
def test_add_refuses_and_names_the_option(pssi: Run, change: dict[str, str | None], said: tuple[str, ...]) -> None:
    options = {"--type": "entity", "--name": "kit", "--scope": "project:atlas", "--principal": "user:ada"} | change
    given = [part for option in options.items() if option[1] is not None for part in option]
    message = error(pssi("beliefs", "add", "Kit 9", *given, "--json"), 2)["message"]
    assert all(part in message for part in said)


@pytest.mark.parametrize(
    ("principal", "kind"),
    [("ada", "InvalidInput"), ("org:ada", "InvalidInput"), ("user:", "MissingIdentity"), ("user: ada", "InvalidInput")],
)
def test_principal_of_another_form(pssi: Run, principal: str, kind: str) -> None:
    assert error(pssi("beliefs", "list", "--principal", principal, "--json"))["type"] == kind


def test_principal_may_come_from_the_environment(
    pssi: Run, told: Told, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSS_PRINCIPAL", "user:ada")
    assert told("list")["beliefs"][0]["id"] == cache
    assert told("list", "--principal", "user:bob")["beliefs"] == []


def test_one_place_at_a_time(pssi: Run, told: Told, cache: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert told("list", *ADA, "--home", elsewhere)["beliefs"] == []
    url = f"sqlite:///{tmp_path / 'home' / 'beliefs.db'}"
    assert told("list", *ADA, "--url", url)["beliefs"][0]["id"] == cache
    both = pssi("beliefs", "list", *ADA, "--url", url, "--home", elsewhere, "--json")
    assert "--home" in error(both, 2)["message"]


# --- finding


def test_search_and_explain(pssi: Run, told: Told, cache: str) -> None:
    told("add", "Tabs, not spaces", "--type", "preference", "--name", "indentation", *ATLAS, *ADA)
    hits = told("search", "is redis still right?", *ATLAS, *ADA)["hits"]
    assert [hit["belief"]["id"] for hit in hits] == [cache]
    assert hits[0]["score"] > 0
    assert "redis" in " ".join(hits[0]["names"])
    assert (hits[0]["via"], hits[0]["contested_by"]) == (None, [])

    head, row = table(pssi("beliefs", "search", "redis?", *ATLAS, *ADA, "-k", 1))
    assert head[:3] == ["id", "type", "name"]
    assert row[:3] == [cache[:8], "decision", "page_cache"]
    assert [one["returned"] for one in told("explain", "redis?", *ATLAS, *ADA)["explanations"]] == [True, False]
    (one,) = told("explain", "redis?", "--scope", "domain:code", *ADA, "--id", cache[:6])["explanations"]
    assert not one["returned"]
    assert "project:atlas" in one["reason"]
    assert "no" in table(pssi("beliefs", "explain", "redis?", "--scope", "domain:code", *ADA))[1]


@pytest.mark.usefixtures("cache")
def test_a_search_that_finds_nothing_says_so(pssi: Run, told: Told) -> None:
    assert told("search", "what is for lunch?", *ATLAS, *ADA) == {"hits": []}
    run = pssi("beliefs", "search", "what is for lunch?", *ATLAS, *ADA)
    assert (run.exit_code, len(run.stdout.splitlines())) == (0, 1)
    assert "no belief" in run.stdout
    assert error(pssi("beliefs", "search", "redis", *ADA, "--json"), 2)["message"].count("--scope")


def test_a_contested_belief_says_by_what(pssi: Run, told: Told, cache: str) -> None:
    other = told("add", "Nothing caches them", *CACHE[2:], "--source", "tool")["belief"]["id"]
    (hit,) = told("search", "redis", *ATLAS, *ADA)["hits"]
    assert hit["contested_by"] == [other]
    assert other[:8] in pssi("beliefs", "search", "redis", *ATLAS, *ADA).stdout


def test_list_page_by_page(pssi: Run, told: Told) -> None:
    ids = [
        told("add", f"Kit {n}", *("--type", "entity", "--name", f"k{n}"), *ATLAS, *ADA)["belief"]["id"] for n in "123"
    ]
    told("retract", ids[1], *ADA)
    first = told("list", *ADA, "--limit", 2, "--all")
    assert ([one["id"] for one in first["beliefs"]], first["after"]) == (ids[:2], ids[1])
    last = told("list", *ADA, "--limit", 2, "--all", "--after", first["after"][:8])
    assert ([one["id"] for one in last["beliefs"]], last["after"]) == (ids[2:], None)
    assert f"--after {ids[0]}" in pssi("beliefs", "list", *ADA, "--limit", 1).stderr
    assert [one["id"] for one in told("list", *ADA)["beliefs"]] == [ids[0], ids[2]]
    assert [one["id"] for one in told("list", *ADA, "--past")["beliefs"]] == [ids[1]]
    assert "retracted" in table(pssi("beliefs", "list", *ADA, "--past"))[1]
    assert told("list", *ADA, "--scope", "project:other")["beliefs"] == []
    assert pssi("beliefs", "list", *ADA, "--scope", "project:other").stdout == "no beliefs\n"
    assert "--past" in error(pssi("beliefs", "list", *ADA, "--past", "--all", "--json"), 2)["message"]


def test_ids_may_be_shortened_as_far_as_they_are_one(pssi: Run, told: Told, cache: str, tmp_path: Path) -> None:
    assert told("history", cache[:6], *ADA)["changes"][0]["belief"]["id"] == cache
    for shown, kind, said in ((cache[:5], "InvalidInput", "6 characters"), ("0" * 32, "BeliefNotFound", "no belief")):
        failed = error(pssi("beliefs", "history", shown, *ADA, "--json"))
        assert failed["type"] == kind
        assert said in failed["message"]
    assert error(pssi("beliefs", "history", cache, "--principal", "user:bob", "--json"))["type"] == "BeliefNotFound"

    told("add", "Kit 9", "--type", "entity", "--name", "kit", *ATLAS, *ADA)
    exported = pssi("beliefs", "export", *ADA).stdout
    for number, one in enumerate(told("list", *ADA)["beliefs"]):
        exported = exported.replace(one["id"], f"abcdef{number}")
    (tmp_path / "twins.jsonl").write_text(exported, encoding="utf-8")
    told("import", tmp_path / "twins.jsonl", "--principal", "user:bob")
    ambiguous = error(pssi("beliefs", "history", "abcdef", "--principal", "user:bob", "--json"))
    assert "2 ids begin with" in ambiguous["message"]
    assert told("history", "abcdef1", "--principal", "user:bob")["changes"][0]["belief"]["canonical_name"] == "kit"


# --- changing


def test_supersede_keeps_name_scopes_and_history(pssi: Run, told: Told, cache: str) -> None:
    result = told("supersede", cache[:8], "Valkey caches our pages", "--alias", "valkey", *ADA)
    belief = result["belief"]
    assert (result["outcome"], result["asks_why"]) == ("superseded", True)
    assert (belief["canonical_name"], belief["scopes"], belief["version"]) == ("page_cache", ["project:atlas"], 2)
    assert {"redis", "valkey"} <= set(belief["aliases"])
    assert [change["verb"] for change in told("history", cache, *ADA)["changes"]] == ["put", "supersede", "put"]
    rows = table(pssi("beliefs", "history", belief["id"], *ADA))
    assert [row[2] for row in rows[1:]] == ["put", "supersede", "put"]
    assert error(pssi("beliefs", "supersede", cache, "x", *ADA, "--json"))["type"] == "BeliefConflict"
    assert "--why" in error(pssi("beliefs", "supersede", belief["id"], "x", "--why", " ", *ADA, "--json"), 2)["message"]


def test_supersede_a_relation_by_another_name(told: Told) -> None:
    relation = ("--type", "relation", "--relation-type", "needs", "--participant", "a", "--participant", "b")
    old = told("add", "a needs b", *relation, "--name", "a b", *ATLAS, *ADA)["belief"]
    new = told("supersede", old["id"], "a needs b no more", "--name", "a and b", *ADA)["belief"]
    assert (new["canonical_name"], new["participants"]) == ("a and b", ["a", "b"])


def test_correct_pin_and_retract(pssi: Run, told: Told, cache: str) -> None:
    corrected = told("correct", cache, "--why", "Ask first.", "--scope", "domain:code", *ADA)["belief"]
    assert (corrected["why_it_matters"], corrected["scopes"]) == ("Ask first.", ["domain:code"])
    assert (corrected["content"], corrected["aliases"]) == ("Redis caches our pages", ["redis"])
    assert "something to change" in error(pssi("beliefs", "correct", cache, *ADA, "--json"))["message"]
    assert "--name" in error(pssi("beliefs", "correct", cache, "--name", "", *ADA, "--json"), 2)["message"]

    assert told("pin", cache, *ADA)["belief"]["pinned"]
    assert "pinned" in pssi("beliefs", "list", *ADA).stdout
    assert pssi("beliefs", "pin", cache, "--off", *ADA).stdout.startswith(f"unpinned {cache[:8]}  page_cache: ")
    assert not told("list", *ADA)["beliefs"][0]["pinned"]

    assert pssi("beliefs", "retract", cache, *ADA).stdout.startswith("retracted ")
    assert told("list", *ADA)["beliefs"] == []
    assert "retracted" in pssi("beliefs", "history", cache, *ADA).stdout


def test_resolve_a_contradiction_either_way(pssi: Run, told: Told, cache: str) -> None:
    tool = (*CACHE[2:], "--source", "tool")
    dropped = told("add", "Nothing caches them", *tool)["belief"]["id"]
    assert told("resolve", dropped, "--reject", *ADA)["belief"]["id"] == cache
    taken = told("add", "Squid caches them", *tool)["belief"]["id"]
    assert "--answer" in error(pssi("beliefs", "resolve", taken, "--answer", "x", *ADA, "--json"), 2)["message"]
    assert pssi("beliefs", "resolve", taken, *ADA).stdout.startswith(f"holds {taken[:8]}  page_cache: Squid")
    assert error(pssi("beliefs", "resolve", taken, *ADA, "--json"))["type"] == "InvalidInput"


def test_resolve_a_question_with_what_was_decided(pssi: Run, told: Told) -> None:
    asked = told("add", "Which queue?", "--type", "open_question", "--name", "queue", *ATLAS, *ADA)["belief"]["id"]
    assert "--reject" in error(pssi("beliefs", "resolve", asked, "--reject", *ADA, "--json"), 2)["message"]
    assert told("resolve", asked, "--answer", "NATS is our queue", *ADA)["belief"]["resolved_at"]
    (decided,) = told("list", *ADA)["beliefs"]
    assert (decided["type"], decided["canonical_name"]) == ("decision", "queue")
    assert (decided["content"], decided["scopes"]) == ("NATS is our queue", ["project:atlas"])


def test_erase_asks_and_leaves_no_byte(pssi: Run, told: Told, cache: str, tmp_path: Path) -> None:
    told("supersede", cache, "Valkey caches our pages", *ADA)
    refused = pssi("beliefs", "erase", cache, *ADA, input="n\n")
    assert refused.exit_code == 1
    assert "page_cache" in refused.stderr
    assert "--yes" in error(pssi("beliefs", "erase", cache, *ADA, "--json", input="y\n"), 2)["message"]
    assert len(told("list", "--all", *ADA)["beliefs"]) == 2

    assert "erased 2 beliefs: complete\n" in pssi("beliefs", "erase", cache, *ADA, input="y\n").stdout
    assert told("list", "--all", *ADA)["beliefs"] == []
    assert all(b"caches our pages" not in path.read_bytes() for path in (tmp_path / "home").iterdir())
    assert error(pssi("beliefs", "erase", cache, "--yes", *ADA, "--json"))["type"] == "BeliefNotFound"
    again = told(*CACHE)["belief"]["id"]
    assert told("erase", again, "--yes", *ADA) == {"id": again, "beliefs": 1, "status": "complete"}


# --- whose they are


def test_a_team_needs_an_actor_with_a_right(pssi: Run, told: Told) -> None:
    team = ("--principal", "team:core")
    assert error(pssi("beliefs", "list", *team, "--json"))["type"] == "AccessDenied"
    ada, bob = ("--actor", "user:ada"), ("--actor", "user:bob")
    assert told("grant", "user:ada", "admin", *team, *ada) == {
        "team": "team:core",
        "user": "user:ada",
        "right": "admin",
    }
    added = told("add", "Kit 9", "--type", "entity", "--name", "kit", *ATLAS, *team, *ada)["belief"]["id"]
    assert error(pssi("beliefs", "list", *team, *bob, "--json"))["type"] == "AccessDenied"
    assert "user:bob may read" in pssi("beliefs", "grant", "user:bob", "read", *team, *ada).stdout
    assert told("list", *team, *bob)["beliefs"][0]["id"] == added
    assert error(pssi("beliefs", "retract", added, *team, *bob, "--json"))["type"] == "AccessDenied"
    told("grant", "user:bob", "none", *team, *ada)
    assert error(pssi("beliefs", "list", *team, *bob, "--json"))["type"] == "AccessDenied"
    assert error(pssi("beliefs", "list", *ADA, *bob, "--json"))["type"] == "AccessDenied"
    assert "--actor" in error(pssi("beliefs", "grant", "user:bob", "read", *team, "--json"), 2)["message"]
    assert "own" in error(pssi("beliefs", "grant", "user:bob", "own", *team, *ada, "--json"), 2)["message"]


# --- taking them elsewhere


@pytest.mark.usefixtures("cache")
def test_export_and_import_give_back_the_same(pssi: Run, told: Told, tmp_path: Path) -> None:
    told("add", "Zoë’s pages\x9b are cached", *CACHE[2:])
    out, copy = tmp_path / "ada.jsonl", ("--principal", "user:copy")
    assert told("export", *ADA, "--out", out) == {"path": str(out), "beliefs": 2}
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    shown = pssi("beliefs", "export", *ADA).stdout
    assert shown.isascii()
    assert [*map(json.loads, shown.splitlines())] == [
        *map(json.loads, out.read_text(encoding="utf-8").split("\n")[:-1])
    ]

    assert told("import", out, *copy) == {"imported": 2}
    assert told("import", out, *copy) == {"imported": 0}
    assert told("list", "--all", *copy) == told("list", "--all", *ADA)
    assert "wrote 2 beliefs" in pssi("beliefs", "export", *copy, "--out", tmp_path / "copy.jsonl").stderr
    assert (tmp_path / "copy.jsonl").read_bytes() == out.read_bytes()
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".jsonl", ".jsonl"]


def test_import_over_what_was_changed(pssi: Run, told: Told, cache: str, tmp_path: Path) -> None:
    out = tmp_path / "ada.jsonl"
    told("export", *ADA, "--out", out)
    told("correct", cache, "--content", "Nothing does", *ADA)
    assert error(pssi("beliefs", "import", out, *ADA, "--json"))["type"] == "BeliefConflict"
    assert told("import", out, "--on-conflict", "skip", *ADA) == {"imported": 0}
    assert told("list", *ADA)["beliefs"][0]["content"] == "Nothing does"
    assert pssi("beliefs", "import", out, "--on-conflict", "replace", *ADA).stdout == "1 imported\n"
    assert told("list", *ADA)["beliefs"][0]["content"] == "Redis caches our pages"


def test_import_of_what_cannot_be_read(pssi: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text("[]", encoding="utf-8")
    for options, code, said in (
        ((path,), 1, "no export of beliefs"),
        ((path, *ATLAS), 2, "--scope"),
        ((path, "--from", "mem0"), 2, "--scope"),
        ((path, "--from", "zep"), 2, "--from"),
        ((tmp_path / "nowhere", "--from", "mem0", *ATLAS), 1, "cannot be read"),
    ):
        assert said in error(pssi("beliefs", "import", *options, *ADA, "--json"), code)["message"]
    for text, said in (("[{", "no JSON"), ('[{"text": "x"}]', "under 'memory'"), ('[{"memory": "a\\u0000"}]', "NUL")):
        path.write_text(text, encoding="utf-8")
        run = pssi("beliefs", "import", path, "--from", "mem0", *ATLAS, *ADA, "--json")
        assert said in error(run)["message"]
    assert json.loads(pssi("beliefs", "list", "--all", *ADA, "--json").stdout)["beliefs"] == []


def test_export_to_where_nothing_can_be_written(pssi: Run, cache: str, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere" / "ada.jsonl", tmp_path / "home"):
        failed = error(pssi("beliefs", "export", *ADA, "--out", place, "--json"))
        assert f"{place} cannot be written" in failed["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert "--out" in error(pssi("beliefs", "export", *ADA, "--json"), 2)["message"]


def test_memories_of_mem0_are_put_one_by_one(pssi: Run, told: Told, tmp_path: Path) -> None:
    memories = [
        {"id": "m1", "memory": "Prefers short answers", "user_id": "ada"},
        {"id": "m2", "memory": "Works on the Heron renderer", "user_id": "ada"},
        {"id": "m3", "memory": "Works on the Heron renderer", "user_id": "ada"},
    ]
    path = tmp_path / "memories.json"
    path.write_text(json.dumps({"results": memories}), encoding="utf-8")
    importing = ("import", path, "--from", "mem0", *ATLAS, *ADA)
    assert told(*importing) == {"created": 2, "reinforced": 1}
    first = told("list", *ADA)["beliefs"][0]
    assert (first["type"], first["epistemic_status"], first["content"]) == (
        *("preference", "exploratory"),
        "Prefers short answers",
    )
    assert pssi("beliefs", *importing).stdout == "3 reinforced\n"
    path.write_text("[]", encoding="utf-8")
    assert pssi("beliefs", *importing).stdout == "nothing to import\n"


def test_a_memory_that_two_beliefs_claim_is_refused_alone(pssi: Run, told: Told, tmp_path: Path) -> None:
    for scope in ("project:a", "project:b"):
        told("add", f"Heron of {scope}", "--type", "entity", "--name", "heron renders tiles", "--scope", scope, *ADA)
    path = tmp_path / "memories.json"
    path.write_text('[{"memory": "Heron renders tiles"}, {"memory": "Kestrel packs crates"}]', encoding="utf-8")
    run = pssi("beliefs", "import", path, "--from", "mem0", "--scope", "project:a", "--scope", "project:b", *ADA)
    assert run.stdout == "1 refused, 1 created\n"
    assert "heron_renders_tiles" in run.stderr


# --- showing them


def test_what_was_stored_is_shown_and_not_obeyed(pssi: Run, told: Told) -> None:
    evil = "[red]\x1b[31mkit[/red] \x07\n\x1b]0;title\x07 \u202e[link=x]9[/]"
    name = "[bold]kit\x1b[2J"
    asked = told("add", evil, "--type", "entity", "--name", name, "--alias", "\x1b[1mbox", *ATLAS, *ADA)["belief"]
    assert asked["content"] == evil
    shown = [
        pssi("beliefs", *command, *ADA)
        for command in (
            ("list",),
            ("search", "\x1b[1mbox", *ATLAS),
            ("explain", "box", *ATLAS),
            ("history", asked["id"]),
            ("pin", asked["id"]),
            ("add", evil, "--type", "entity", "--name", name, *ATLAS),
            ("supersede", asked["id"], f"{evil} more"),
        )
    ]
    shown.append(pssi("beliefs", "erase", asked["id"], *ADA, input="n\n"))
    for run in shown:
        assert run.exception is None or isinstance(run.exception, SystemExit)
        assert not [char for char in run.output if not char.isprintable() and char != "\n"]
        assert "[bold]kit\\x1b[2J" in "".join(run.output.split("\n"))
    assert "[red]\\x1b[31mkit[/red] \\x07" in shown[0].stdout
