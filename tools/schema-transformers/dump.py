"""Print what the configuration classes of Hugging Face transformers default to, one JSON object per line.

python3 dump.py < families.jsonl > classes.jsonl, where the first file has one {"type": …} per line. Types that the
installed release does not know are left out. intake/huggingface reads the result.
"""

import json
import sys
import warnings

warnings.filterwarnings("ignore")
import transformers  # noqa: E402

common = transformers.PretrainedConfig().to_dict()
done = set()
for line in sys.stdin:
    family = json.loads(line)
    name = family.get("class") or family["type"]
    if name in done or name not in transformers.CONFIG_MAPPING:
        continue
    done.add(name)
    config = transformers.CONFIG_MAPPING[name]()
    # Keys that all classes have say nothing about the model, but for this one.
    keys = {k: v for k, v in config.to_dict().items() if k not in common or k == "tie_word_embeddings"}
    for k in ("layer_types", "mlp_only_layers", "moe_layers", "no_rope_layers", "layers_block_type"):
        if isinstance(keys.get(k), list):
            del keys[k]  # made of other keys
    keys = {k: v for k, v in keys.items() if "Infinity" not in json.dumps(v)}
    print(json.dumps({"type": name, "class": type(config).__name__, "release": transformers.__version__, "keys": keys}))
