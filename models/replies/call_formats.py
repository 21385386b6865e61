"""The spellings of calls, a row for each family: what opens a call, how it goes on, what closes it.

The parsers of vLLM and SGLang are the reference. "vllm x" is `vllm/tool_parsers/x_tool_parser.py` of
vllm-project/vllm, "sglang x" is `python/sglang/srt/function_call/x_detector.py` of sgl-project/sglang; other
sources are pages and repositories by their names.
"""

from __future__ import annotations

from dataclasses import dataclass

from planwright.models.replies.call_spellings import (
    Spelling,
    as_action,
    in_braces,
    in_json,
    in_keys,
    in_named_json,
    in_pairs,
    in_python,
    in_tags,
)


@dataclass(frozen=True)
class Format:
    """One way in which a family of models writes calls."""

    family: str
    """Models that write so."""
    opens: str
    """What opens a call: a regular expression."""
    spelled: Spelling
    """How name and arguments are spelled behind it."""
    closes: str
    """What closes it: a regular expression; the end of the reply does, too: servers cut marks off there."""
    source: str
    """Parser, template or page that documents it."""


_DEEPSEEK = (
    r"(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>",
    in_named_json,
    r"<｜tool▁call▁end｜>(?:\s*<｜tool▁calls▁end｜>)?",
)
_KIMI = (
    r"(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>",
    in_named_json,
    r"<\|tool_call_end\|>(?:\s*<\|tool_calls_section_end\|>)?",
)
_STEP = (
    r"(?:<｜tool_calls_begin｜>\s*)?<｜tool_call_begin｜>\s*function<｜tool_sep｜>",
    in_tags,
    r"<｜tool_call_end｜>(?:\s*<｜tool_calls_end｜>)?",
)
_HARMONY = r"(?:<\|start\|>)?(?:assistant)?(?:<\|channel\|>)?(?:commentary|analysis)? ?\bto=(?=functions\.)"
FORMATS = (
    Format("Hermes, Qwen, Ernie, Granite 4", "<tool_call>", in_json, "</tool_call>", "vllm hermes"),
    Format("Qwen3-Coder, MiMo", "<tool_call>", in_tags, "</tool_call>", "vllm qwen3coder"),
    Format("GLM 4.5 to 4.7", "<tool_call>", in_pairs, "</tool_call>", "vllm glm4_moe"),
    Format("Qwen2.5-Coder", "<tools>", in_json, "</tools>", "vllm qwen25_coder"),
    Format("MiniMax M1, Jamba, Hunyuan", "<tool_calls>", in_json, "</tool_calls>", "vllm minimax, jamba"),
    Format("MiniMax M2, Seed-OSS", "<[a-z]+:tool_call>", in_tags, "</[a-z]+:tool_call>", "vllm minimax_m2"),
    Format("LongCat", "<longcat_tool_call>", in_json, "</longcat_tool_call>", "vllm longcat"),
    Format(
        "Granite 20B", "<function_call>", in_json, "</function_call>|(?=<function_call>)", "vllm granite_20b"
    ),
    Format("Claude as text", "<function_calls>", in_tags, "</function_calls>", "docs.claude.com, tool use"),
    Format("Olmo 3", "<function_calls>", in_python, "</function_calls>", "vllm olmo3"),
    Format(
        "DeepSeek V3.2", "<｜DSML｜function_calls>", in_tags, "</｜DSML｜function_calls>", "vllm deepseekv32"
    ),
    Format("DeepSeek V3, R1, V3.1", *_DEEPSEEK, "vllm deepseekv3, deepseekv31"),
    Format("Step 3", *_STEP, "vllm step3"),
    Format("Kimi K2", *_KIMI, "vllm kimi_k2"),
    Format(
        "gpt-oss", _HARMONY, in_named_json, r"<\|call\|>", "sglang gpt_oss; openai/harmony, docs/format.md"
    ),
    Format("Nemotron", "<TOOLCALL>", in_json, "</TOOLCALL>", "vllm nemotron_json"),
    Format(
        "Granite 3, Phi-4-mini",
        r"<\|tool_call\|>",
        in_json,
        r"<\|/tool_call\|>|(?=<\|tool_call\|>)",
        "vllm granite, phi4mini",
    ),
    Format("Phi-4-mini, FireFunction", r"\bfunctools(?=\[)", in_json, r"\Z", "vllm phi4mini"),
    Format("LFM2", r"<\|tool_call_start\|>", in_python, r"<\|tool_call_end\|>", "vllm lfm2"),
    Format("LFM2 in JSON", r"<\|tool_call_start\|>", in_json, r"<\|tool_call_end\|>", "sglang lfm2"),
    Format("Command A, R7B", r"<\|START_ACTION\|>", in_json, r"<\|END_ACTION\|>", "vllm cohere_command"),
    Format("Command R", r"^Action:(?=\s*(?:```|\[))", in_json, r"\Z", "docs.cohere.com, prompting Command R"),
    Format("Mistral to v7", r"\[TOOL_CALLS\]", in_json, r"\Z", "vllm mistral"),
    Format("Mistral from v11 on", r"\[TOOL_CALLS\]", in_named_json, r"(?=\[TOOL_CALLS\])", "vllm mistral"),
    Format("Llama 3", r"<\|python_tag\|>", in_json, r"(?=<\|python_tag\|>)", "vllm llama"),
    Format("Llama 3, built-in tools", r"<\|python_tag\|>", in_python, r"\Z", "llama.com, Llama 3.1 prompts"),
    Format("Llama 4", r"<\|python_start\|>", in_python, r"<\|python_end\|>", "vllm llama4_pythonic"),
    Format(
        "Llama 3.1, Qwen3-Coder",
        r"(?=<function=)",
        in_tags,
        r"(?:\s*</tool_call>)?\Z",
        "llama.com, Llama 3.1",
    ),
    Format("tags of invoke alone", r"(?=<invoke name=)", in_tags, r"\Z", "vllm minimax_m2"),
    Format(
        "InternLM 2", r"<\|action_start\|>\s*<\|plugin\|>", in_json, r"<\|action_end\|>", "vllm internlm2"
    ),
    Format("FunctionGemma", "<start_function_call>", in_braces, "<end_function_call>", "vllm functiongemma"),
    Format("Gemma 4", r"<\|tool_call>", in_braces, r"<tool_call\|>", "vllm gemma4"),
    Format(
        "Gemma 3", r"^```tool_code[ \t]*\n", in_python, r"\n?```", "ai.google.dev, Gemma function calling"
    ),
    Format("small models", r"^```tool_calls?[ \t]*\n", in_json, r"\n?```", "sglang json"),
    Format("Apertus", r"<\|tools_prefix\|>", in_keys, r"<\|tools_suffix\|>", "vllm apertus"),
    Format(
        "GigaChat 3", r"function call<\|role_sep\|>\n|<\|function_call\|>", in_json, r"\Z", "vllm gigachat3"
    ),
    Format("Functionary 3", r"^>>>", in_named_json, r"\s*(?=^>>>)", "MeetKai/functionary, prompt templates"),
    Format("Functionary 2", r"<\|recipient\|>", in_named_json, r"(?=<\|recipient\|>)", "MeetKai/functionary"),
    Format("ReAct", r"^Action:", as_action, r"\Z", "langchain.agents, output_parsers/react_single_input"),
)
BARE = (
    Format("Llama 3, xLAM, OpenAI as text", r"\A", in_json, r"\Z", "vllm llama, xlam"),
    Format("Llama 3.2 and 4, ToolACE", r"\A", in_python, r"\Z", "vllm pythonic"),
    Format("GLM-4 9B, ChatGLM 3", r"\A", in_named_json, r"\Z", "THUDM/GLM-4, glm_server.py"),
)
"""What has no marks is a call only where a reply is nothing else."""
