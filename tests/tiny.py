"""A tiny random backbone and a tiny random encoder built in code: real classes, no weights to fetch."""

import string
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from pss_integrations.states.backbone import Backbone
from pss_integrations.types import ClueTarget, Message

_SHAPE = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 256,
    "bos_token_id": 256,
    "eos_token_id": 256,
    "initializer_range": 0.3,  # logits with some spread, as a trained model has
}
FAMILIES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    "phi3": (transformers.Phi3Config, transformers.Phi3ForCausalLM),
}


def tiny_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Byte-level, so any text works; the end token has id 256."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")


def tiny_model(family: str = "llama", *, seed: int = 0, **shape: int) -> transformers.PreTrainedModel:
    config_class, model_class = FAMILIES[family]
    torch.manual_seed(seed)
    return model_class(config_class(**{**_SHAPE, **shape}))


def tiny_backbone(family: str = "llama", *, seed: int = 0, **shape: int) -> Backbone:
    return Backbone(tiny_model(family, seed=seed, **shape), tiny_tokenizer(), name=f"tiny-{family}")


def save_tiny_encoder(directory: Path, *, seed: int = 0, max_tokens: int = 64) -> Path:
    """BERT's classes and its WordPiece, with one piece per letter."""
    letters = string.ascii_lowercase + string.digits
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(directory)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=max_tokens,
        initializer_range=0.3,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(directory)
    return directory


MESSAGES = (
    Message("user", "Heron runs on kit-7 since Monday."),
    Message("assistant", "Noted."),
    Message("user", "We moved Heron to kit-9, the old kit is retired."),
)
TARGETS = (
    ClueTarget("now?", "Heron kit-9", ("Heron kit-7",)),
    ClueTarget("before?", "Heron kit-7", ("Heron kit-9",)),
)
