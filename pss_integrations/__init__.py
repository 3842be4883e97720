"""Session memory for LangChain and LlamaIndex."""
