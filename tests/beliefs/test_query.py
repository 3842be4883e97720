"""What is taken out of a message before names are looked up in it."""

import pytest

from pss_integrations.beliefs.query import clean_query


@pytest.mark.parametrize(
    "query",
    [
        "what's our k8s deploy story?",
        "try/catch, CI/CD or input/output",
        "use React.js/Vue.js with Express/Node.js",
        "install.sh | bash",
        "moved on 2026-03-14 to us-east-1 (OC-41252), 14/03/2026",
        "v1.2 and v1.3, gpt-4o, RFC-9110, 20260314",
        "C++, C#, .NET and F#",
        "is x < 3 and y > 4 a Result<T>?",
        "TypeError: cannot read properties of undefined, why?",
        "meet at the office",
        "微服务/Redis 怎么用",
        "R&D and Q&A; 10.0.0.0/8",
        "is a<redis and kafka>b a Map<string, Redis> or List<string>",
        "write <name here> or <b or c>",
        "AWS/Redis.io, src/Redis vs Kafka, client/lib design and bin/tmp",
        "panic: the main.Redis() call",
        "first\nsecond",
        "",
    ],
)
def test_plain_words_stay(query: str) -> None:
    assert clean_query(query) == query


@pytest.mark.parametrize(
    ("query", "cleaned"),
    [
        ("is `redis_cache` **really** on?", "is redis_cache really on?"),
        ("`` `foo` `` and ```bar```", "foo and bar"),
        ("`Redis`'s TTL, **`kept` too**", "Redis's TTL, kept too"),
        (
            "`src/redis.py`, `<Suspense>`, **lib/redis/**, `CI/CD` and `https://kept.example`",
            ", <Suspense>, , CI/CD and https://kept.example",
        ),
        ("why src/cache/redis.py:12, fails", "why fails"),
        ("see ./run ../lib ~/x /usr/local/redis/bin now", "see now"),
        (r"open C:\Users\kim\redis.txt or \\host\redis now", "open or now"),
        ("packages/redis/index.ts, node_modules/redis, redis/notes.md and **/*.ts", "and"),
        ("src/redis/ or src/redis/cache or src/redis.js or lib\\redis.py", "or or or"),
        ("请看src/redis/main.py文件", "请看 文件"),
        ("see https://example.com/redis?x=1 and www.example.com/redis now", "see and now"),
        ("看https://example.com/redis这里", "看 这里"),
        ("github.com/redis/redis is it", "is it"),
        ("<b>bold</b> text<br/>more &nbsp; <Tag redis='1'/>", "bold text more"),
        ("so<a href='/redis'>see</a> <redis> x<i>y</i><img src=redis>", "so see x y"),
        ("at deadbeefcafe1234 and 550e8400-e29b-41d4-a716-446655440000 0x7fff5694dc58 x", "at and x"),
        ("before\n```py\nimport redis\n```\nafter", "before\nafter"),
        ("before\n~~~~\n~~~\nredis\n~~~~\nafter", "before\nafter"),
        ("why ```python import redis``` or ```SELECT 1```?", "why or ?"),
        ("- so\n    ```py\n    import redis\n    ```\nafter", "- so\nafter"),
        ("1. ~~~\n   redis\n   ~~~\nafter", "after"),
        ("> ```\n> redis\n> ```\n> after", "> after"),
        ("> ```\n> redis\nafter\n```\nredis", "after"),
        ("before\n```\nnever closed redis", "before"),
        ("two\n\n  lines\there", "two\nlines here"),
    ],
)
def test_what_is_no_question_goes(query: str, cleaned: str) -> None:
    assert clean_query(query) == cleaned


PYTHON = """\
Traceback (most recent call last):
  File "jobs.py", line 3, in run
    redis.ping()
    ^^^^^^^^^^^^
ConnectionError: redis is away

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "main.py", line 9, in <module>
    run()
kafka.errors.Gone"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: redis is away
\tat org.example.Jobs.run(Jobs.java:12)
\tat java.base/java.lang.Thread.run(Native Method)
Caused by: java.io.IOException: redis
\tat org.example.Redis.get(Redis.java:7)
\t... 3 more"""
JAVASCRIPT = """\
Uncaught TypeError: redis.get is not a function
    at Redis.get (/app/src/redis.js:10:5)
    at async Promise.all (index 0)
    at file:///app/redis.mjs:3:1"""

GO = """\
panic: redis is away

goroutine 1 [running]:
main.(*Redis).Get(0x1400001, {0x14, 0x2})
\t/app/redis.go:12 +0x1d
created by redis.Watch in goroutine 1
\t/app/watch.go:7 +0x2f"""


@pytest.mark.parametrize("trace", [PYTHON, JAVA, JAVASCRIPT, GO])
def test_stack_traces_go_and_the_question_around_them_stays(trace: str) -> None:
    assert clean_query(f"Why is that?\n{trace}\nWhat should I try?") == "Why is that?\nWhat should I try?"


def test_text_before_a_traceback_on_its_line_stays() -> None:
    assert clean_query(f"I get {PYTHON}") == "I get"


@pytest.mark.parametrize(
    "text",
    [
        "`" * 200_000,
        "` " * 100_000,
        "<" * 200_000,
        "<a " * 66_000,
        "<!--" * 50_000,
        "/" * 200_000,
        "/a" * 100_000,
        "微/a" * 60_000,
        "a." * 100_000 + "/" + "b." * 50_000 + "!",
        "*" * 200_000,
        "**a" * 66_000,
        "at " + "(:1" * 66_000,
        "at " + "@" * 100_000 + ":1:1",
        ":1" * 100_000,
        "a1" * 100_000 + "g",
        "0-" * 100_000,
        "```\n" * 50_000,
        "Traceback (most recent call last)\n" * 6_000,
        'File "' * 33_000,
        "Error" * 40_000,
        " " * 200_000,
        "\\" * 200_000,
        "a://" * 50_000,
        "``` " * 50_000,
        "```" + "a " * 100_000,
        "> - 1. " * 30_000 + "x",
        "<a " + "= " * 100_000,
        "<a =" * 50_000,
        "a<b / " * 33_000,
        " " + "a.go" * 50_000,
        "a.py" * 50_000 + "/" + "b.py" * 50_000,
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.timeout(20)
def test_hostile_text_takes_no_more_than_linear_time(text: str) -> None:
    # Quadratic time would take minutes here; what comes out matters less.
    assert len(clean_query(text)) <= len(text)
