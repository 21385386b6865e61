"""One call in every spelling that a model may write it in as text, with what is near to a call and is none.

In brackets stands the source of each: "vllm x" is `vllm/tool_parsers/x_tool_parser.py` of vllm-project/vllm,
"sglang x" is `python/sglang/srt/function_call/x_detector.py` of sgl-project/sglang.
"""

from __future__ import annotations

import json

NAME, TOWN = "work__read", {"name": "a"}
J = json.dumps(TOWN)
CALL = json.dumps({"name": NAME, "arguments": TOWN})
PARAMETERS = json.dumps({"name": NAME, "parameters": TOWN})
_XML = f'<invoke name="{NAME}">\n<parameter name="name">a</parameter>\n</invoke>'
_FUNCTION = f"<function={NAME}>\n<parameter=name>\na\n</parameter>\n</function>"
_DSML = (
    f'<｜DSML｜invoke name="{NAME}">\n<｜DSML｜parameter name="name" string="true">a'
    "</｜DSML｜parameter>\n</｜DSML｜invoke>"
)
_STEP = f'<steptml:invoke name="{NAME}"><steptml:parameter name="name">a</steptml:parameter></steptml:invoke>'
_OPENAI = {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": J}}

SPELLINGS: dict[str, str] = {
    "Hermes, Qwen 2.5 (vllm hermes)": f"<tool_call>\n{CALL}\n</tool_call>",
    "Hermes, closing mark cut off (vllm hermes)": f"I will look.\n<tool_call>\n{CALL}",
    "Hermes behind thoughts (vllm hermes)": f"<think>\nI look.\n</think>\n\n<tool_call>{CALL}</tool_call>",
    "Ernie 4.5 (vllm ernie45)": f"<tool_call>\n{CALL}\n</tool_call>\n\n",
    "Granite 4 (vllm granite4)": f"<tool_call>{CALL}</tool_call><|end_of_text|>",
    "Qwen3-Coder (vllm qwen3coder)": f"<tool_call>\n{_FUNCTION}\n</tool_call>",
    "Qwen3-Coder without the outer tag (vllm qwen3coder)": _FUNCTION,
    "Qwen2.5-Coder (vllm qwen25_coder)": f"<tools>\n{CALL}\n</tools>",
    "GLM 4.5 (vllm glm4_moe)": (
        f"<tool_call>{NAME}\n<arg_key>name</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"
    ),
    "GLM 4.7 (vllm glm47_moe)": (
        f"<tool_call>{NAME}<arg_key>name</arg_key><arg_value>a</arg_value></tool_call>"
    ),
    "GLM-4 9B (THUDM/GLM-4)": f"{NAME}\n{J}",
    "DeepSeek V3, R1 (vllm deepseekv3)": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{NAME}\n```json\n{J}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
    ),
    "DeepSeek V3.1 (vllm deepseekv31)": (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{NAME}<｜tool▁sep｜>{J}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "DeepSeek V3.2 (vllm deepseekv32)": f"<｜DSML｜function_calls>\n{_DSML}\n</｜DSML｜function_calls>",
    "Kimi K2 (vllm kimi_k2)": (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{NAME}:0<|tool_call_argument_begin|>{J}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "gpt-oss (sglang gpt_oss)": (
        f"<|channel|>commentary to=functions.{NAME} <|constrain|>json<|message|>{J}<|call|>"
    ),
    "gpt-oss with the recipient first (openai/harmony)": (
        f"<|start|>assistant to=functions.{NAME}<|channel|>commentary json<|message|>{J}<|call|>"
    ),
    "gpt-oss without its marks (openai/harmony)": f"assistantcommentary to=functions.{NAME} json{J}",
    "Llama 3 (vllm llama)": PARAMETERS,
    "Llama 3 with its type (vllm llama)": (
        f'{{"type": "function", "name": "{NAME}", "parameters": {J}}}<|eot_id|>'
    ),
    "Llama 3, two behind each other (vllm llama)": f"{PARAMETERS}; {PARAMETERS}",
    "Llama 3 with python_tag (vllm llama)": f"<|python_tag|>{PARAMETERS}<|eom_id|>",
    "Llama 3, built-in (llama.com)": f'<|python_tag|>{NAME}.call(name="a")',
    "Llama 3.1 in tags (llama.com)": f"<function={NAME}>{J}</function>",
    "Llama 3.2, ToolACE (vllm pythonic)": f"[{NAME}(name='a')]",
    "Llama 4 (vllm llama4_pythonic)": f'<|python_start|>[{NAME}(name="a")]<|python_end|>',
    "LFM2 (vllm lfm2)": f'<|tool_call_start|>[{NAME}(name="a")]<|tool_call_end|>',
    "LFM2 in JSON (sglang lfm2)": f"<|tool_call_start|>[{CALL}]<|tool_call_end|>",
    "Command R (docs.cohere.com)": (
        f'Action: ```json\n[\n    {{\n        "tool_name": "{NAME}",\n        "parameters": {J}\n    }}\n]'
        "\n```"
    ),
    "Command A, R7B (vllm cohere_command)": (
        f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "{NAME}", "parameters": {J}}}]<|END_ACTION|>'
    ),
    "MiniMax M1 (vllm minimax)": f"<tool_calls>\n{CALL}\n</tool_calls>",
    "MiniMax M2 (vllm minimax_m2)": f"<minimax:tool_call>\n{_XML}\n</minimax:tool_call>",
    "Seed-OSS (vllm seed_oss)": f"<seed:tool_call>\n{_FUNCTION}\n</seed:tool_call>",
    "Mistral to v7 (vllm mistral)": f"[TOOL_CALLS] [{CALL}]",
    "Mistral v11 (vllm mistral)": f"[TOOL_CALLS]{NAME}[ARGS]{J}</s>",
    "Mistral v11 with an id (vllm mistral)": f"[TOOL_CALLS]{NAME}[CALL_ID]Vx7abcDef[ARGS]{J}",
    "Mistral v11 without its mark (vllm mistral)": f"[TOOL_CALLS]{NAME}{J}",
    "ReAct (LangChain)": f"Thought: I have to look.\nAction: {NAME}\nAction Input: {J}\nObservation:",
    "structured chat (LangChain)": f'```json\n{{"action": "{NAME}", "action_input": {J}}}\n```',
    "fenced JSON (sglang json)": f"```json\n{CALL}\n```",
    "fenced tool_call (sglang json)": f"I will look.\n\n```tool_call\n{CALL}\n```",
    "Granite 3 (vllm granite)": f"<|tool_call|>[{CALL}]",
    "Granite 20B (vllm granite_20b)": f"<function_call> {CALL}",
    "Phi-4-mini (vllm phi4mini)": f"functools[{CALL}]",
    "Phi-4-mini with its mark (Phi-4-mini card)": f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "xLAM (vllm xlam)": f"[{CALL}]",
    "xLAM 1 (vllm xlam)": json.dumps({"tool_calls": [{"name": NAME, "arguments": TOWN}]}),
    "OpenAI as text": json.dumps({"tool_calls": [_OPENAI]}),
    "OpenAI functions as text": json.dumps({"function_call": {"name": NAME, "arguments": J}}),
    "Jamba (vllm jamba)": f"<tool_calls>[\n  {CALL}\n]</tool_calls>",
    "Hunyuan (vllm hunyuan_a13b)": f"<tool_calls>[{CALL}]</tool_calls>",
    "Nemotron (vllm nemotron_json)": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "Step 3 (vllm step3)": (
        f"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>{_STEP}<｜tool_call_end｜><｜tool_calls_end｜>"
    ),
    "InternLM 2 (vllm internlm2)": f"<|action_start|><|plugin|>\n{PARAMETERS}<|action_end|>",
    "Olmo 3 (vllm olmo3)": f'<function_calls>\n{NAME}(name="a")\n</function_calls>',
    "Claude as text (docs.claude.com)": f"<function_calls>\n{_XML}\n</function_calls>",
    "invoke alone (vllm minimax_m2)": _XML,
    "LongCat (vllm longcat)": f"<longcat_tool_call>\n{CALL}\n</longcat_tool_call>",
    "FunctionGemma (vllm functiongemma)": (
        f"<start_function_call>call:{NAME}{{name:<escape>a<escape>}}<end_function_call>"
    ),
    "Gemma 4 (vllm gemma4)": f'<|tool_call>call:{NAME}{{name:<|"|>a<|"|>}}<tool_call|>',
    "Gemma 3 (ai.google.dev)": f'```tool_code\n{NAME}(name="a")\n```',
    "Apertus (vllm apertus)": f'<|tools_prefix|>[{{"{NAME}": {J}}}]<|tools_suffix|>',
    "GigaChat 3 (vllm gigachat3)": f"<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}",
    "Functionary 3 (MeetKai/functionary)": f">>>{NAME}\n{J}",
    "Functionary 2 (MeetKai/functionary)": f"<|from|>assistant\n<|recipient|>{NAME}\n<|content|>{J}",
    "with a dot for the underscores": f'<tool_call>{{"name": "work.read", "arguments": {J}}}</tool_call>',
}
"""Text by family and source; each calls `work__read` with the name `a`."""
UNREADABLE: dict[str, str] = {
    "arguments that are no object": f'<tool_call>{{"name": "{NAME}", "arguments": ["a"]}}</tool_call>',
    "no arguments": f'<tool_call>{{"name": "{NAME}"}}</tool_call>',
    "broken JSON": f'<tool_call>{{"name": "{NAME}", "arguments": {{"name": "a}}</tool_call>',
    "words behind the call": f"<tool_call>{CALL}</tool_call>\nNow I have read it.",
    "one of two that is not offered": (
        f'<tool_call>{CALL}</tool_call><tool_call>{{"name": "x", "arguments": {{}}}}</tool_call>'
    ),
    "a place instead of a name": f"<|python_start|>[{NAME}('a')]<|python_end|>",
    "an expression": f"[TOOL_CALLS]{NAME}[ARGS]{{'name': 'a'}}",
    "text as input": f"Thought: I look.\nAction: {NAME}\nAction Input: a",
    "words before plain JSON": f"I will read it.\n{CALL}",
    "words before a fence": f"I will read it.\n\n```json\n{CALL}\n```",
    "words around a fence": f"I will read it:\n```json\n{CALL}\n```\nThen I will tell you.",
    "plain JSON before words": f"{CALL}\nI will tell you what it says.",
    "half a tag": f"<function={NAME}>\n<parameter=name>\na\n</function>",
    "words between tags": f"<function={NAME}>the name is a</function>",
}
"""What is a call for its reader, and none that can be made."""
INNOCENT: dict[str, str] = {
    "a tag in prose": "Models write <tool_call> tags.",
    "how Hermes writes": (
        'Like this:\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
    ),
    "how Llama writes": '{"name": "get_weather", "parameters": {"city": "Rome"}}',
    "how Mistral writes": 'Mistral: [TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}',
    "how Qwen writes": "<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>",
    "how pythonic models write": '[get_weather(city="Rome")]',
    "how DeepSeek writes": "It begins with <｜tool▁calls▁begin｜> and ends with <｜tool▁calls▁end｜>.",
    "how gpt-oss writes": "The recipient stands behind to=functions. and then comes the name.",
    "how ReAct writes": "Thought: …\nAction: search\nAction Input: weather in Rome",
    "a fence with another tool": 'Use:\n```json\n{"name": "search", "arguments": {"q": "a"}}\n```',
    "a fence with a person": '```json\n{"name": "Mara", "arguments": {"for": "kind", "not": ""}}\n```',
    "a JSON answer": '{"name": "work", "status": "open", "tickets": [1, 2]}',
    "a JSON list": '[{"name": "a", "size": 1}, {"name": "b", "size": 2}]',
    "a name in prose": "I could use work__read for that. It takes a name.",
    "a name with brackets": 'Call work__read(name="a") to read a, or work__read(name="b") for b.',
    "a name in a list": "You have these tools:\n- work__read: reads\n- work__write: writes",
    "a name behind a tag in prose": "I write no <tool_call> blocks: work__read is called by the interface.",
    "Python in a fence": "```python\nprint(sum([1, 2]))\n```",
    "HTML": "<p>function=work</p> <a href='x'>name</a>",
    "a plan of action": "Action: call the customer.\nInput: none.",
    "an action without a call": "Action:\n- read a\n- tell Mara",
    "special marks": "<|im_start|> and <|python_tag|> are marks of templates.",
    "brackets first": "[1] says that a is open.",
    "an object in words": 'The server wants {"name": "work__read"} in its body, I think.',
}
"""Texts that are about calls, or look like some, and are none of a tool that is offered."""
