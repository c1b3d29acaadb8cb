"""GGUF files, as llama.cpp and what is built on it keep models: settings, tokenizer and tensors in one file."""
