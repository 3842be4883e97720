from pss_integrations import demo
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.metrics import all_recall_at_k
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.evaluation.pss320_audit import audit
from pss_integrations.retrieval import BM25Index


def names() -> list[str]:
    fields = demo.demo_fields()
    return [fields.project, *fields.active.values(), *fields.archived.values()]


def test_the_history_tells_every_field_and_the_archived_ones_first() -> None:
    messages = demo.demo_messages()
    fields = demo.demo_fields()
    history = "\n".join(message.text for message in messages)
    assert len(messages) >= 24
    assert {message.role for message in messages} == {"user", "assistant"}
    assert all(name in history for name in [*names(), str(fields.component), *fields.other.values()])
    for name, value in fields.archived.items():
        assert history.index(value) < history.index(fields.active[name])


def test_questions_pass_the_same_audit_as_generated_ones() -> None:
    questions = demo.demo_questions()
    session = pss320.BenchmarkSession(demo.KEY, demo.demo_messages(), demo.demo_fields(), questions, "demo", "test")
    assert len(questions) == 6
    assert audit(pss320.Benchmark((session,), demo.demo_pool()), targets={}) == []


def test_the_pool_holds_many_sessions_and_none_shares_a_name_with_the_demo() -> None:
    pool = demo.demo_pool()
    others = [passage for passage in pool if not passage.doc_id.startswith("demo/")]
    assert len(pool) >= 200
    assert 5 <= len(pool) - len(others) <= 8
    assert len({passage.doc_id.split("/")[1] for passage in others}) == 60
    for passage in others:
        assert not any(name in f"{passage.title} {passage.text}" for name in names())


def test_search_fails_without_scope_and_succeeds_with_it() -> None:
    index = BM25Index(demo.demo_pool())
    fields = demo.demo_fields()

    def found(query: str, question: Probe) -> bool:
        return bool(all_recall_at_k([hit.doc_id for hit in index.search(query, 4)], question.evidence, 4))

    for question in demo.demo_questions():
        values = fields.archived if question.category in ("temporal_revision", "multi_hop") else fields.active
        assert not found(question.query, question)
        assert found(question.gold_rewrite, question)
        assert found(f"{fields.project} {values['version']} {values['checkpoint']}", question)


def test_the_previous_setting_is_not_found_by_the_present_version() -> None:
    index = BM25Index(demo.demo_pool())
    fields = demo.demo_fields()
    hits = index.search(f"{fields.project} {fields.active['version']} {fields.active['checkpoint']}", 4)
    assert "demo/record" not in {hit.doc_id for hit in hits}
