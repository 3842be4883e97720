"""A tiny random backbone with a tokenizer that was trained on the benchmark's wording, so that sequences are short."""

from functools import cache

import transformers
from tiny import tiny_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from pss_integrations.evaluation import pss320
from pss_integrations.states.backbone import Backbone

_END = "<end>"


@cache
def words_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """BPE over bytes; the end token has id 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=4000, special_tokens=[_END], initial_alphabet=alphabet, show_progress=False
    )
    sessions = pss320.generate(20, seed=7).sessions
    tokenizer.train_from_iterator((message.text for one in sessions for message in one.messages), trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_END, pad_token=_END)


def words_model(*, context: int = 8192) -> transformers.PreTrainedModel:
    """As deep as the default shape of states asks for, and a layer more."""
    ends = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
    shape = {"hidden_size": 64, "num_hidden_layers": 9, "vocab_size": len(words_tokenizer())}
    return tiny_model(**shape, **ends, max_position_embeddings=context)


def words_backbone(*, context: int = 8192) -> Backbone:
    return Backbone(words_model(context=context), words_tokenizer(), name="tiny-words")
