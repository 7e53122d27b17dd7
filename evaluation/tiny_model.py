"""Writes a model with made-up weights that a real engine loads: tiny_model.py FILE.

One block of the llama architecture over the printable ASCII characters, the same bytes each time. What it says means
nothing, so an answer that has a form has it because the engine was told to keep to a schema.
"""

import sys

import gguf
import numpy

WIDTH, HEADS, HIDDEN, CONTEXT = 64, 4, 128, 32768
CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]


def main():
    random = numpy.random.Generator(numpy.random.PCG64(7))
    tokens = ["<unk>", "<s>", "</s>"] + [character.replace(" ", "\u2581") for character in CHARACTERS]
    writer = gguf.GGUFWriter(sys.argv[1], "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    writer.add_token_types(kinds + [gguf.TokenType.NORMAL] * len(CHARACTERS))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)

    def tensor(name, *shape):
        writer.add_tensor(name, random.normal(0, 0.4, shape).astype(numpy.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    tensor("output.weight", len(tokens), WIDTH)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", numpy.ones(WIDTH, dtype=numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.0.{name}.weight", WIDTH, WIDTH)
    tensor("blk.0.ffn_gate.weight", HIDDEN, WIDTH)
    tensor("blk.0.ffn_up.weight", HIDDEN, WIDTH)
    tensor("blk.0.ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
