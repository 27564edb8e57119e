"""A stand-in for how vLLM 0.32 drives its parsers: the order of calls that its `DelegatingParser` makes."""

from __future__ import annotations

from typing import Any

from vllm.protocol import DeltaMessage
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers.abstract_tool_parser import ToolParserManager


class ParserManager:
    @staticmethod
    def get_parser(tool_parser_name: Any = None, reasoning_parser_name: Any = None, enable_auto_tools: bool = False) -> Any:
        def make(tokenizer: Any, tools: Any) -> DelegatingParser:
            return DelegatingParser(tokenizer, tools, tool_parser_name, reasoning_parser_name)

        return make


class DelegatingParser:
    def __init__(self, tokenizer: Any, tools: Any, tool: Any, reasoning: Any) -> None:
        self.tool: Any = ToolParserManager.tool_parsers[tool](tokenizer, tools) if tool else None
        self.reasoning: Any = ReasoningParserManager.reasoning_parsers[reasoning](tokenizer) if reasoning else None
        if self.reasoning is None and hasattr(self.tool, "skip_reasoning_parsing"):
            self.tool.skip_reasoning_parsing = True
        self.checked = self.ended = False

    def adjust_request(self, request: Any) -> Any:
        if self.reasoning:
            request = self.reasoning.adjust_request(request)
        return self.tool.adjust_request(request) if self.tool else request

    def parse(self, output: str, request: Any, enable_auto_tools: bool = False) -> Any:
        thought, content = (None, output)
        if self.reasoning:
            thought, content = self.reasoning.extract_reasoning(output, request)
        info = self.tool.extract_tool_calls(content or "", request)
        calls = [] if request.tool_choice == "none" else [call.function for call in info.tool_calls]
        return thought, info.content, calls

    def parse_delta(self, text: str, ids: list[int], request: Any, prompt_token_ids: Any = None, *, finished: bool) -> Any:
        if not self.checked and prompt_token_ids is not None:
            self.checked = True
            if self.reasoning is None or self.reasoning.is_reasoning_end(prompt_token_ids):
                self.ended = True
            else:
                self.reasoning.adjust_initial_state_from_prompt(prompt_token_ids)
        delta = None
        if self.reasoning and not self.ended:
            delta = self.reasoning.extract_reasoning_streaming("", text, text, [], ids, ids)
            if self.reasoning.has_engine_confirmed_reasoning_end():
                self.ended = True
                flushed = self.reasoning.finish_streaming()
                text = ((delta.content if delta else None) or "") + ((flushed.content if flushed else None) or "")
        if self.ended:
            thought = delta.reasoning if delta else None
            # An engine-based stream keeps no text: what came before is always empty.
            delta = self.tool.extract_tool_calls_streaming("", text, text, [], ids, ids, request)
            if delta and request.tool_choice == "none":
                delta.tool_calls = []
            if thought:
                delta = delta or DeltaMessage()
                delta.reasoning = delta.reasoning or thought
        if finished:
            for parser in (self.reasoning, self.tool):
                if parser is None or parser is self.reasoning and self.ended:
                    continue
                flushed = parser.finish_streaming()
                if flushed is not None:
                    delta = delta or DeltaMessage()
                    delta.content = (delta.content or "") + (flushed.content or "")
                    delta.reasoning = (delta.reasoning or "") + (flushed.reasoning or "")
                    delta.tool_calls = delta.tool_calls + flushed.tool_calls
        return delta
