"""Convert a GGUF file to BF16 safetensors, config and tokenizer, as a program of its own.

Its progress bars, threads and memory thus never touch the caller's process.
Usage: ``python -m pss_integrations.weights.convert_gguf FILE DIRECTORY``.
"""

import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer


def convert(gguf: Path, target: Path) -> None:
    """Dequantize a model and save it in Hugging Face's format.

    Below 5.17, transformers reads the tokenizer of such a file as another model's, with another end token.

    :param gguf: The file.
    :param target: Directory to make.
    """
    if not hasattr(transformers, "GgufConfig"):
        sys.exit(f"transformers {transformers.__version__} cannot do it. Run: pip install 'transformers>=5.17'")
    source: dict[str, Any] = {
        "pretrained_model_name_or_path": gguf.parent,
        "gguf_file": gguf.name,
        "local_files_only": True,
    }
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model: Any = AutoModelForCausalLM.from_pretrained(
        **source, quantization_config=transformers.GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    if tokenizer.eos_token_id != model.config.eos_token_id:
        sys.exit(f"the tokenizer ends with {tokenizer.eos_token_id}, the model with {model.config.eos_token_id}")
    model.hf_quantizer = None  # with it, transformers takes the model for quantized and refuses to save it
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    for file in target.iterdir():  # safetensors writes for the owner alone; the cache may be shared
        file.chmod((target / "config.json").stat().st_mode)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
