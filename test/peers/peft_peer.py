"""PEFT doing the work of `train_smollm2_lora_tok_s` of `npm run bench`: LoRA (rank 16, all linear layers) on the
SmolLM2-135M shape with random weights, fp32, forward and backward over 4 x 256 random tokens.

    python -m venv peer && peer/bin/pip install torch transformers peft
    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE peer/bin/python peft_peer.py --threads 2

Prints one JSON document: tokens per second (median of --runs) and the peak resident memory of the process in MB.
"""
import argparse, json, resource, statistics, time
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

a = argparse.ArgumentParser()
a.add_argument("--threads", type=int, default=2)
a.add_argument("--runs", type=int, default=3)
a = a.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(0)
config = LlamaConfig(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                     num_key_value_heads=3, tie_word_embeddings=True)
modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=16, lora_alpha=32, target_modules=modules))
ids = torch.randint(0, 49152, (4, 256))
rates = []
for i in range(a.runs + 1):
    model.zero_grad(set_to_none=True)
    start = time.perf_counter()
    model(input_ids=ids, labels=ids).loss.backward()
    if i:
        rates.append(ids.numel() / (time.perf_counter() - start))
print(json.dumps({"train_lora_tok_s": round(statistics.median(rates), 1), "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)}))
