"""Which beliefs a query finds, in what order, and why others are not found. Numbers are public bug reports."""

import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from pss_integrations.beliefs.index import Match, NameMatch, ScopeIndex, search_indexes, why_not
from pss_integrations.beliefs.schema import Belief

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def belief(
    name: str,
    aliases: Sequence[str] = (),
    content: str = "It holds.",
    *,
    belief_id: str | None = None,
    scopes: Sequence[str] = ("domain:code",),
    why: str | None = None,
) -> Belief:
    return Belief(
        id=belief_id or name,
        type="entity",
        canonical_name=name,
        aliases=tuple(aliases),
        content=content,
        why_it_matters=why,
        scopes=tuple(scopes),
        last_reinforced_at=NOW,
        created_at=NOW,
        updated_at=NOW,
    )


def index_of(*beliefs: Belief) -> ScopeIndex:
    index = ScopeIndex()
    for one in beliefs:
        index.put(one)
    return index


def find(index: ScopeIndex, query: str) -> list[Match]:
    return search_indexes([index], query)


def ids(index: ScopeIndex, query: str) -> list[str]:
    return [match.belief_id for match in find(index, query)]


def finds(name: str, query: str) -> bool:
    return bool(ids(index_of(belief("unrelated topic", [name], belief_id="b")), query))


# -- admission: whole names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("k8s", "what's my k8s deploy story?"),
        ("kube", "how does Kube schedule pods?"),
        ("redis_cache", "is the Redis-cache warm"),
        ("point of view", "who has the point of view here"),
        ("auth_service_depends_on_redis", "does auth service depends on Redis hold?"),
        ("error handling", "ugh so like I was wondering about error handling because it bugs me"),
        ("try-catch", "use try/catch everywhere?"),
        ("composition over inheritance", "Composition over inheritance: our pattern?"),
        ("ReactJS", "REACTJS component patterns"),
        ("Fly.io", "or go with Fly.io."),
        ("pipe", "with our pipe() pattern"),
        ("Redis", "Redis's eviction"),
        ("chapter 7", "rules for Chapter 7"),
        ("Codey", "why is Codey not replying"),  # 56
        ("main", "main"),  # 55
        ("foo", "`foo`"),  # 55
        ("install.sh", "install.sh | bash"),  # 55
        ("2026-03-14", "what was on 2026-03-14?"),  # 53
        ("us-east-1", "move it to us-east-1, please"),  # 53
        ("OC-41252", "status of oc-41252"),  # 53
        ("数据库", "我们的数据库在哪里"),  # 52
        ("データベース", "新しいデータベースを使う"),  # 52
        ("쿠버네티스", "쿠버네티스를 배포"),  # 52
        ("база данных", "какая у нас база данных?"),  # 52
        ("قاعدة البيانات", "أين قاعدة البيانات؟"),  # 52
        ("ฐานข้อมูล", "เราใช้ฐานข้อมูลอะไร"),  # 52
        ("naïve", "a NAÏVE approach"),  # 64
        ("café", unicodedata.normalize("NFD", "at the Café")),  # 64
        ("ＡＷＳ", "our aws bill"),  # 64
        ("İstanbul", "the istanbul office"),  # 47
        ("שלום", "\u200fשלום\u200f"),  # 64
    ],
)
def test_a_name_is_found_as_a_whole_however_it_is_joined_and_written(name: str, query: str) -> None:
    assert finds(name, query)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("error handling", "error: cannot handle it"),
        ("error handling", "handling error"),
        ("chapter 7", "the next chapter"),
        ("Redis", "rediscover it"),
        ("数据库", "数据在哪里"),
        ("数据库", "今天天气很好"),
        ("node", "node.js"),
        ("cafe", "café"),
    ],
)
def test_parts_of_a_name_do_not_match(name: str, query: str) -> None:
    assert not finds(name, query)


IDENTIFIERS = ["C++", "C#", "F#", ".NET", "node.js", "v1.2", "us-east-1", "k8s", "R", "Go", "gpt-4o", "RFC-9110", "C"]


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_an_identifier_finds_exactly_its_belief(name: str) -> None:  # 46
    index = index_of(*(belief(f"topic {number}", [one], belief_id=one) for number, one in enumerate(IDENTIFIERS)))
    assert ids(index, name) == [name]
    assert ids(index, f"Should we keep {name} for this?") == [name]


def test_identifiers_side_by_side_are_all_found() -> None:  # 47
    names = ["v1.2", "us-east-1", "C++", "C#", "R", "node.js", "IT"]
    index = index_of(*(belief(f"topic {number}", [one], belief_id=one) for number, one in enumerate(names)))
    assert sorted(ids(index, "v1.2 us-east-1 C++ C# R node.js IT")) == sorted(names)


@pytest.mark.parametrize(
    ("name", "query", "found"),
    [
        ("R", "is R fast", True),
        ("R", "what R-squared is good", False),
        ("Go", "rewrite it in Go", True),
        ("Go", "shall we go to lunch", False),
        ("Go", "go?", True),
        ("Go", "what is the go-to library", False),
        ("IT", "is it done", False),
        ("Make", "make it so", False),
        ("Make", "the Make target", True),
        ("TS", "since ts catches it", True),
        ("ts", "since TS catches it", True),
        ("Make", "Make a list", False),
        ("Make", "First the list. Make it short", False),
        ("Make", "make: Make or Bazel", True),
        ("Next", "Next, explain the plan", False),
        ("On-call", "who is on call this week?", True),
        ("Follow-up", "a follow-up", True),
        ("X", "solve for x", False),
        ("X", "is X fast", True),
        ("R", "r u there?", False),
        ("C", "c sharp", False),
        ("team", "write to team@acme.com", False),
        ("Kim", "mail kim.lee@acme.com", False),
        ("テスト", "コンテスト", False),
        ("テスト", "負荷テストを書く", True),
        ("C", "C++ or C#", False),
        ("Redis", "a Redis-backed queue", True),
    ],
)
def test_short_and_everyday_names_have_to_be_meant(name: str, query: str, found: bool) -> None:
    assert finds(name, query) == found


def test_a_longer_name_does_not_hide_a_shorter_one() -> None:
    index = index_of(belief("auth"), belief("auth service"), belief("service mesh"))
    assert set(ids(index, "the auth service")) == {"auth", "auth service"}


def test_a_shared_alias_finds_each_belief_that_has_it() -> None:
    index = index_of(*(belief(f"topic {number}", ["Redis"]) for number in range(30)))
    assert ids(index, "redis") == sorted(f"topic {number}" for number in range(30))


def test_neither_content_nor_why_it_matters_admits() -> None:
    index = index_of(belief("frontend", content="React, not Vue.", why="Never suggest Vue."))
    assert find(index, "Vue component architecture") == []


def test_a_named_belief_comes_whatever_it_says() -> None:  # 65
    index = index_of(belief("MySQL", content="We never use it."), belief("b", content="MySQL is what we love to use"))
    assert ids(index, "Do we love to use MySQL?") == ["MySQL"]


# -- admission: names written otherwise ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("GPT-4", "is gpt4 worth it"),
        ("GPT4", "is gpt-4 worth it"),
        ("iPhone 15", "my iphone15"),
        ("email", "send an e-mail"),
        ("e-mail", "the email list"),
        ("oncall", "the on-call list"),
        ("On-call", "the oncall list"),
        ("login", "the log in page"),
        ("getUserById", "why is get user by id slow"),
        ("Python", "in python3 or later"),
        ("Python", "on python3.12"),
        ("Redis", "Redis7 is out"),
        ("C++", "since C++20"),
        ("Spring Boot", "on spring boot3"),
        ("policy", "which policies"),
        ("policies", "which policy"),
        ("deploy policy", "our deploy policies"),
        ("follow-up", "two follow-ups"),
        ("KPI", "our KPIs, please"),
        ("KPI", "our kpis"),
        ("KPIs", "the kpi"),
        ("DLQ", "are the DLQs full"),
        ("branch", "old branches"),
        ("class", "big classes"),
        ("cookie", "no cookies"),
    ],
)
def test_a_name_is_found_joined_or_apart_in_the_plural_and_with_a_version(name: str, query: str) -> None:
    found = find(index_of(belief("unrelated topic", [name], belief_id="b")), query)
    assert [(match.name, match.edits) for hit in found for match in hit.names] == [(name, 0)]


@pytest.mark.parametrize(
    ("name", "query", "reason"),
    [
        ("Redis", "redi set", "the final s belongs to the name"),
        ("Lotus", "the lotu page", "the final s belongs to the name"),
        ("Doe", "does it run", "everyday words"),
        ("other", "the others", "everyday words"),
        ("setup", "set up a call", "everyday words"),
        ("Redis", "red is my color", "side by side"),
    ],
)
def test_what_only_looks_like_a_variant_is_said(name: str, query: str, reason: str) -> None:
    one = belief(name)
    assert find(index_of(one), query) == []
    assert reason in why_not(one, query)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("GPT-4", "gpt-40 or gpt40"),
        ("room 10-5", "room 105"),
        ("class", "clas"),
        ("R&D", "RDS"),
        ("EC", "EC2"),
        ("Redis", "red is7"),
        ("news", "what is new"),
        ("iPhone 4", "an iphone 4s"),
        ("apart", "a part of it"),
        ("news", "new s3"),
    ],
)
def test_what_means_something_else_is_no_variant(name: str, query: str) -> None:
    assert not finds(name, query)


def test_a_variant_of_one_name_that_is_another_name_is_the_other() -> None:
    policy, policies = belief("policy"), belief("policies")
    assert ids(index_of(policy), "which policies") == ["policy"]
    assert ids(index_of(policy, policies), "which policies") == ["policies"]
    assert [match.belief_id for match in search_indexes([index_of(policy), index_of(policies)], "policy")] == ["policy"]
    assert "another belief" in why_not(policy, "which policies")


def test_the_name_itself_goes_before_its_variants() -> None:
    assert find(index_of(belief("policy")), "policies or policy")[0].names == (NameMatch("policy", "policy", 0),)


# -- admission: misspelled names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("typescript", "typsecript compilation"),
        ("mongo", "mongod"),
        ("error handling", "eror handling patterns"),
        ("error handling", "errorhandling"),
        ("monorepo", "our mono repo"),
        ("node.js", "node js or nodejs"),
        ("GitHub Actions", "the github action"),
        ("chapter 7", "chaptr 7"),
        ("a very long name of a decision about the cache", "a very long name of a decision about the cahce"),
        ("使用 mongo 数据", "使用 mongod 数据"),
        ("redis", "rediss"),
        ("redis", "resdi or reids"),
        ("kafka", "kaka"),
        ("kubernetes", "kubernates"),
        ("error logging", "error loging"),
    ],
)
def test_one_edit_is_forgiven(name: str, query: str) -> None:
    assert finds(name, query)


@pytest.mark.parametrize(
    ("name", "query", "reason"),
    [
        ("mongo", "mango", "the first two characters differ"),
        ("typescript", "tyepsrcipt", "two edits away"),
        ("jest", "jst", "too short for edits"),
        ("k9s", "k8s", "digits differ"),
        ("chapter 7", "chapter 8", "digits differ"),
        ("v1.2.3", "v1.2.4", "digits differ"),
        ("gpt-4", "gpt-4o", "digits differ"),
        ("数据仓库", "数据文库", "script without spaces"),
        ("others", "the other one", "everyday words"),
        ("Scala", "scale it", "none may be wrong"),
        ("Black", "block it", "none may be wrong"),
        ("Flask", "flash it", "none may be wrong"),
        ("Spark", "spare some", "none may be wrong"),
        ("Scrum", "scrub it", "none may be wrong"),
        ("React", "out of reach", "none may be wrong"),
        ("Redis", "he redid it", "none may be wrong"),
        ("Docker", "it docked", "the ending of a verb"),
        ("Stripe", "it is striped", "the ending of a verb"),
        ("insight", "the plan in sight", "side by side"),
        ("R", "R-squared", "inside a compound"),
        ("Go", "where to go", "spelled like the name"),
        ("kubernetes", "our database", "no name or alias occurs"),
        ("kubernetes", " ?! 🔥", "the query holds no words"),
        ("!!!", "!!!", "its names hold no words"),
    ],
)
def test_what_is_not_forgiven_is_said(name: str, query: str, reason: str) -> None:
    one = belief(name)
    assert find(index_of(one), query) == []
    assert reason in why_not(one, query)


def test_the_nearest_name_is_the_reason() -> None:
    one = belief("mongo", ["typescript"])
    reason = why_not(one, "mango and tyepsrcipt")
    assert "'mango' is not 'mongo': one edit away" in reason


def test_another_name_is_no_misspelling() -> None:
    mongo, mongod = belief("mongo", ["document store"]), belief("mongod")
    assert ids(index_of(mongo), "restart mongod") == ["mongo"]
    assert ids(index_of(mongo, mongod), "restart mongod") == ["mongod"]
    assert [match.belief_id for match in search_indexes([index_of(mongo), index_of(mongod)], "mongod")] == ["mongod"]
    assert "another belief" in why_not(mongo, "restart mongod")


def test_words_within_another_name_are_no_misspelling() -> None:
    mongo, monorepo = belief("mongo"), belief("monorepo")
    assert ids(index_of(mongo), "our mono repo") == ["mongo"]
    assert ids(index_of(mongo, monorepo), "our mono repo") == ["monorepo"]
    assert ids(index_of(mongo, monorepo), "our mono repo, a mono") == ["mongo", "monorepo"]
    assert ids(index_of(mongo, belief("mono repo tools")), "the mono repo tools") == ["mono repo tools"]


def test_a_belief_may_have_names_that_are_one_edit_apart() -> None:
    index = index_of(belief("exceptions", ["exception"]))
    names = find(index, "when should I throw exceptions")[0].names
    assert names == (NameMatch("exceptions", "exceptions", 0), NameMatch("exception", "exceptions", 0))


def test_a_match_says_which_words_are_which_name() -> None:
    index = index_of(belief("error_handling", ["try-catch", "数据库", "unasked"]))
    match = find(index, "Eror-Handling with Try/Catch in 我们的数据库")[0]
    assert match.names == (
        NameMatch("error_handling", "Eror Handling", 1),
        NameMatch("try-catch", "Try Catch", 0),
        NameMatch("数据库", "数据库", 0),
    )
    assert [str(name) for name in match.names[:2]] == [
        "'error_handling' matches 'Eror Handling', one edit away",
        "'try-catch' matches 'Try Catch'",
    ]


# -- nothing to find -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "  ", "???", "the of and", "🔥", "👩‍💻", "QQQQ_NOPE", "42", "`' OR 1=1 --"])
def test_a_query_that_names_nothing_finds_nothing(query: str) -> None:  # 49, 58, 59
    assert find(ScopeIndex(), query) == []
    assert find(index_of(belief("redis", ["cache"], why="It is the one.")), query) == []
    assert search_indexes([], query) == []


def test_names_without_words_are_held_and_never_found() -> None:  # 62
    index = index_of(belief("!!!", ["🔥"], content="!!!"), belief("redis", content="???"))
    assert len(index) == 2
    assert find(index, "!!! 🔥") == []
    assert ids(index, "redis !!!") == ["redis"]
    index.remove("!!!")
    assert len(index) == 1


def test_a_name_and_an_alias_with_one_key_are_one_match() -> None:
    index = index_of(belief("github_actions", ["GitHub Actions", "github-actions"]))
    assert [match.names for match in find(index, "GitHub Actions")] == [
        (NameMatch("github_actions", "GitHub Actions", 0),)
    ]
    index.remove("github_actions")
    assert (len(index), find(index, "GitHub Actions")) == (0, [])


def test_a_query_of_a_thousand_words_is_searched_to_its_end() -> None:
    index = index_of(belief("redis"), belief("error handling"))
    assert set(ids(index, "lorem ipsum " * 500 + "redis, eror handling")) == {"redis", "error handling"}


# -- put and remove ------------------------------------------------------------------------------------------


def test_put_replaces_and_remove_forgets() -> None:
    index = index_of(belief("old name", ["redis"], belief_id="b"))
    index.put(belief("new name", ["kafka"], belief_id="b"))
    assert (len(index), ids(index, "redis, old name")) == (1, [])
    assert ids(index, "kafka") == ["b"]
    index.remove("b")
    index.remove("b")
    index.remove("never there")
    assert (len(index), ids(index, "kafka, new name, kafak")) == (0, [])


def test_a_shared_name_stays_while_somebody_has_it() -> None:
    index = index_of(belief("one", ["redis cache"]), belief("two", ["redis cache"]))
    index.remove("one")
    assert ids(index, "redis cache") == ["two"]
    assert ids(index, "rediscache") == ["two"]


# -- ranking -------------------------------------------------------------------------------------------------


def test_a_canonical_name_outranks_an_alias_and_an_alias_outranks_content() -> None:
    index = index_of(
        belief("a", ["shared", "cache"], content="Nothing else."),
        belief("b", ["shared"], content="The cache, the cache, the cache."),
        belief("cache", ["shared"], content="Nothing else."),
        belief("d", ["shared"], content="Nothing else."),
    )
    assert ids(index, "the shared cache") == ["cache", "a", "b", "d"]


def test_content_and_why_it_matters_order_what_was_admitted() -> None:
    index = index_of(
        belief("a", ["redis"], content="Plain words."),
        belief("b", ["redis"], content="Plain words.", why="Ask about eviction first."),
        belief("c", ["redis"], content="Eviction is LRU."),
    )
    found = find(index, "redis eviction")
    assert [match.belief_id for match in found][-1] == "a"
    assert found[0].score > found[2].score > 0


def test_function_words_rank_nothing() -> None:
    index = index_of(belief("a", ["redis"], content="Off."), belief("b", ["redis"], content="It is what it is for us."))
    first, second = find(index, "what is redis for us")
    assert first.score == second.score


def test_more_aliases_do_not_dilute_one() -> None:
    def score(aliases: Sequence[str]) -> float:
        return find(index_of(belief("target", aliases), belief("other", ["unasked"])), "about redis")[0].score

    assert score(["redis"]) == score(["redis", *(f"another name {number}" for number in range(24))])


def test_a_rare_name_counts_more_than_one_that_many_have() -> None:
    index = index_of(belief("a", ["redis"]), belief("b", ["redis"]), belief("c", ["kafka"]))
    assert ids(index, "redis and kafka")[0] == "c"


def test_a_misspelled_name_ranks_like_the_right_one() -> None:
    index = index_of(belief("error handling"), belief("other"))
    assert find(index, "eror handling")[0].score == find(index, "error handling")[0].score


def test_a_small_store_finds_what_a_large_one_finds() -> None:
    found = find(index_of(belief("only", ["redis"])), "redis")
    assert len(found) == 1
    assert found[0].score > 0


def test_a_single_character_name_has_a_score() -> None:
    assert find(index_of(belief("茶")), "我喜欢茶叶")[0].score > 0


def test_spellings_of_a_name_score_alike() -> None:
    def score(name: str) -> float:
        return find(index_of(belief(name, belief_id="b"), belief("other")), "the redis cache")[0].score

    assert score("redis_cache") == score("redis cache") == score("Redis-Cache")


# -- several indexes -----------------------------------------------------------------------------------------


def test_a_belief_in_several_scopes_counts_once() -> None:
    both = belief("redis", content="A cache.", scopes=["domain:code", "project:x"])
    code = belief("kafka", ["redis queue"], content="A log for the cache.")
    project = belief("nats", ["redis"], content="Messages.", scopes=["project:x"])
    apart = [index_of(both, code), index_of(both, project)]
    query = "a redis cache, redis queue"
    assert search_indexes(apart, query) == find(index_of(both, code, project), query)
    assert search_indexes([*apart, apart[0]], query) == search_indexes(apart, query)


def test_an_index_that_is_not_given_changes_nothing() -> None:
    index = index_of(belief("redis", content="A cache."))
    before = find(index, "redis cache")
    other = index_of(*(belief(f"redis {number}", content="redis cache") for number in range(50)))
    assert find(index, "redis cache") == before
    assert search_indexes([index, other], "redis cache")[0].score != before[0].score


def test_threads_find_what_one_finds() -> None:  # 67
    names = ["redis", "error handling", "kubernetes", "C++", "数据库"]
    index = index_of(*(belief(f"topic {number}", [name], f"About {name}.") for number, name in enumerate(names)))
    queries = [f"{name} and {other}s" for name in names for other in names] * 20
    serial = [find(index, query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: find(index, query), queries)) == serial
