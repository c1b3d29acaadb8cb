"""GGUF files of llama.cpp and programs built on it: settings, tokenizer and tensors in one file."""
