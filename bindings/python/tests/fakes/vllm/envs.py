"""A stand-in for vLLM's switches."""

VLLM_ENFORCE_STRICT_TOOL_CALLING = True
