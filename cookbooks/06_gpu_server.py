# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Taking states to a GPU server
#
# States are compiled where the chats are, here on two CPU cores. They are read where the traffic is, perhaps by vLLM
# on a machine with a GPU. What has to travel, what does the other side need to know, and what goes wrong if it is the
# wrong side?
#
# **Not measured here:** there is no GPU under this page and vLLM was not run. What PEFT does with an exported state
# was run, and so was everything about moving, refusing, migrating and pruning. What is said of vLLM are its documented
# settings and the traps that its users reported.

# %%
import warnings

warnings.filterwarnings("ignore", message="IProgress not found")  # there are no progress bars here
warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)  # of PEFT

# %%
import json
import shutil
import tempfile
from copy import deepcopy
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import torch
from peft import PeftModel
from safetensors import safe_open
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Phi3Config, Qwen2Config

from pss_integrations import ClueTarget, Message, SessionKey, StateManager
from pss_integrations.errors import PSSError
from pss_integrations.states import CompileConfig, StateConfig
from pss_integrations.states.backbone import Backbone, load_backbone
from pss_integrations.states.layout import layout_of
from pss_integrations.states.reader import prompt_for

workplace = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Two sessions, compiled
#
# A pottery moved its kiln from one firing curve to another. Ada's session keeps its text, so that it can be compiled
# again for another model; Bo's keeps only its clue targets, which is the default. Everything is FP32 here, so that two
# readers can be compared digit by digit. For a server leave `dtype` out: BF16 is half the size.

# %%
now = "Tallow Street kiln curve ochre-9 v2.2.0"
before = "Tallow Street kiln curve umber-4 v1.8.1"
targets = [
    *(
        ClueTarget(request, now, (before,))
        for request in ("what do we fire with now?", "the curve in force", "is it live?")
    ),
    *(ClueTarget(request, before, (now,)) for request in ("what was it before?", "the old curve", "until the switch")),
]
messages = [
    Message("user", "The kiln in Tallow Street used to fire with curve umber-4, version v1.8.1."),
    Message("assistant", "Noted. Has that changed?"),
    Message("user", "On Monday we switched it to ochre-9, version v2.2.0. umber-4 is archived."),
]
ada, bo = SessionKey("ada", "kiln"), SessionKey("bo", "kiln")
backbone = load_backbone(dtype="float32", download=True)
exact = {"backbone": backbone, "state": StateConfig(dtype="float32")}

laptop = workplace / "laptop"
with StateManager(laptop, config=CompileConfig(keep_text="history"), **exact) as manager:
    manager.compile(ada, messages, targets=targets)
    exported = manager.export(ada, workplace / "exported")
    questions = ("what do we fire with now?", "and which curve was it before we switched?", "which curve are we on?")
    ours = {question: manager.read(ada, question) for question in questions}
with StateManager(laptop, **exact) as manager:
    manager.compile(bo, messages, targets=targets)
    for info in manager.list():
        print(f"{info.user_id:4} state {info.state_id[:12]}, {info.adapter_bytes / 2**20:.1f} MiB")

# %% [markdown]
# ## What an exported state is
#
# Two files in PEFT's format. There is no text in them; texts are in the store's manifest, which is not exported.
# Harmless they are not: a state tells whoever loads it what it was taught, so it is customer data like the chat
# itself.

# %%
for path in sorted(exported.iterdir()):
    print(f"{path.stat().st_size:>10,} bytes  {path.name}")
print((exported / "adapter_config.json").read_text())
with safe_open(exported / "adapter_model.safetensors", "pt") as file:
    print(len(file.keys()), "tensors, such as")
    for name in list(file.keys())[:2]:
        print("   ", name, file.get_slice(name).get_shape(), file.get_slice(name).get_dtype())

# %% [markdown]
# ## Does another reader get the same clue?
#
# PEFT loads the directory onto the same backbone. A reader outside the package has to write the same prompt;
# `prompt_for` makes it. The clue is decoded greedily, up to the end token.

# %%
model = PeftModel.from_pretrained(load_backbone(dtype="float32").model, exported)


def read_with_peft(question):
    """Text of the clue, and the log-probability of each token."""
    prompt = torch.tensor([backbone.encode(prompt_for(question))])
    made = model.generate(
        input_ids=prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=24,
        do_sample=False,
        pad_token_id=backbone.end_token,
        output_logits=True,
        return_dict_in_generate=True,
    )
    tokens = made.sequences[0, prompt.shape[1] :]
    chosen = [logits[0].log_softmax(-1)[token].item() for logits, token in zip(made.logits, tokens, strict=True)]
    return backbone.decode(tokens.tolist()).strip(), chosen


print(repr(prompt_for(questions[0])))
for question, clue in ours.items():
    text, logprobs = read_with_peft(question)
    apart = max(abs(a - b) for a, b in zip(clue.logprobs, logprobs, strict=True))
    print(f"\n{question}\n    ours: {clue.text}\n    PEFT: {text}\n    log-probabilities differ by {apart:.0e} at most")

# %% [markdown]
# The same text, and log-probabilities that differ by rounding alone. And what does the backbone say without the state?
# Some servers fall back to it without a word if the adapter's names don't match, so this is worth a check after each
# deployment:

# %%
with model.disable_adapter():
    print("base model:", read_with_peft(questions[0])[0].splitlines()[0])

# %% [markdown]
# ## What vLLM asks of an adapter
#
# Our states were shaped for it. The checks below read the exported config, so they will notice if yours is another.

# %%
config = json.loads((exported / "adapter_config.json").read_text())
plain = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "qkv_proj", "gate_up_proj")
for what, holds in {
    "the rank is above vLLM's default limit of 16: --max-lora-rank 32": 16 < config["r"] <= 32,
    "only linear layers of attention and MLP": set(config["target_modules"]) <= set(plain),
    "no bias, nothing saved beside it": config["bias"] == "none" and config["modules_to_save"] is None,
    "no DoRA, no rank or alpha of single layers": not any(
        config.get(name) for name in ("use_dora", "rank_pattern", "alpha_pattern")
    ),
}.items():
    print(f"{'yes' if holds else 'NO':4}{what}")

# %% [markdown]
# Name an adapter by its content: whoever loads new weights under an old name may be served from the cache of the old
# ones. Session and state have such names already, and they are the last two directories in the store.


# %%
def serving_name(info):
    return f"pss-{info.key.digest[:16]}-{info.state_id[:16]}"


with StateManager(laptop, **exact) as manager:
    adas, bos = manager.info(ada), manager.info(bo)
(place,) = (laptop / "states").glob(f"*/{ada.digest}/{adas.state_id}")
load = {"lora_name": serving_name(bos), "lora_path": "/srv/states/bo"}
ask = {"model": serving_name(adas), "prompt": prompt_for(questions[0]), "temperature": 0, "max_tokens": 64}
print(
    f"""STATE=$PSS_HOME/{place.relative_to(laptop)}
vllm serve $PSS_CACHE/models/smollm2-135m-instruct --dtype bfloat16 \\
    --enable-lora --max-lora-rank {config["r"]} --max-loras 8 --max-cpu-loras 64 \\
    --lora-modules {serving_name(adas)}=$STATE

# another one while it runs, with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True
curl $SERVER/v1/load_lora_adapter --json '{json.dumps(load)}'

# a clue
curl $SERVER/v1/completions --json '{json.dumps(ask)}'"""
)

# %% [markdown]
# These lines are printed, not run. `--max-loras` is how many states one batch may use. The adapter covers the last 8
# layers; vLLM goes by the names of the tensors and leaves the other layers alone. Phi-3 fuses projections (`qkv_proj`,
# `gate_up_proj`) and its states use these names: whether your vLLM takes them, the check from above tells you. The
# directory in the store holds the manifest, too, with the texts of the targets; where the server must not see them,
# serve what `export` wrote.
#
# ## Moving a whole store
#
# The store is a directory (`PSS_HOME`): copy it, and the copy is complete. Each state has a manifest that says which
# backbone and shape it was compiled for, and the hash of its file.

# %%
server = workplace / "server"
shutil.copytree(laptop, server)

tuned = deepcopy(backbone.model)
tuned.model.norm.weight.data *= 1.01  # so little makes it another model
other = Backbone(tuned, backbone.tokenizer, name="tuned-smollm2")


def attempt(what, **options):
    with StateManager(server, **options) as manager:
        try:
            told = manager.read(ada, questions[0]).text
        except PSSError as error:
            told = f"{type(error).__name__}\n{fill(str(error), 100, initial_indent='    ', subsequent_indent='    ')}"
    print(f"{what}: {told}")


attempt("the same backbone", **exact)
attempt("another backbone", backbone=other, state=StateConfig(dtype="float32"))
attempt("another shape", backbone=backbone, state=StateConfig(rank=16, dtype="float32"))

# %% [markdown]
# Nothing is read with the wrong weights, and a file that was cut short or altered on the way is refused as
# `StateCorrupt`. "Another backbone" is what the fingerprint says, a hash of weights, architecture and tokenizer: the
# same model from another folder or with a newer library is still the same.
#
# ## Migrate, look, go back, tidy up
#
# If the server has another model, `migrate` compiles again what can be, from the text that was kept, and names the
# rest.

# %%
kept = CompileConfig(keep_text="history")
with StateManager(server, backbone=other, state=StateConfig(dtype="float32"), config=kept) as manager:
    migration = manager.migrate()
    for info in migration.migrated:
        print(
            f"{info.user_id}: compiled again for {info.backbone.name}, reads {manager.read(ada, questions[1]).text!r}"
        )
    for info, reason in migration.impossible:
        print(f"{info.user_id}: not possible, {reason}")


def show(manager):
    current = manager.info(ada).state_id
    for info in manager.versions(ada):
        mark = "current" if info.state_id == current else ""
        print(f"    {info.state_id[:12]}  {info.backbone.name:22} {info.adapter_bytes / 2**20:5.2f} MiB  {mark}")


with StateManager(server, **exact) as manager:
    print("\nAda's states now")
    show(manager)
    manager.rollback(ada)
    print("after rollback")
    show(manager)
    print("and it reads:", manager.read(ada, questions[1]).text)
    gone = manager.prune(max_bytes=sum(info.adapter_bytes for info in manager.list()))
    print("prune removed", [info.state_id[:12] for info in gone])
    show(manager)

# %% [markdown]
# `prune` takes superseded states first, then the oldest. Whoever can't be migrated has to be compiled from the chats
# again, so keep those, or `keep_text="history"` if your rules allow it.
#
# ## How much is that?
#
# The size of a state follows from the shape of the backbone: rank 32 on all projections of the last 8 layers. The
# package finds them on a model without weights, so no download is needed to know.

# %%
backbones = {
    "SmolLM2-135M": LlamaConfig(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3
    ),
    "Phi-3-mini": Phi3Config(),
    "Mistral-7B": MistralConfig(),
    "Qwen2.5-7B": Qwen2Config(
        hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28, num_key_value_heads=4
    ),
}
sizes = {}
for name, config in backbones.items():
    with torch.device("meta"):
        empty = AutoModelForCausalLM.from_config(config)
    sizes[name] = 2 * layout_of(empty, StateConfig()).numel  # BF16: two bytes each
    print(f"{name:13} {sizes[name]:>11,} bytes a state, {sizes[name] * 10_000 / 2**30:4.0f} GiB for 10,000 sessions")

figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = axes.barh(list(sizes), [size / 2**20 for size in sizes.values()], color="tab:blue")
axes.bar_label(bars, fmt="%.1f MiB", padding=4)
axes.set(xlabel="one state in BF16", xlim=(0, 52))
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# **Before you deploy:** the same backbone on both sides; `--max-lora-rank 32`; BF16; names by content; one question
# whose clue you know, asked with the state and without. What a read costs on your GPU, `pssi bench paper-shapes` tells
# you there.
