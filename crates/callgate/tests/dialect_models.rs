//! Which dialect a model writes: real names of repositories, files and tags, and the dialect that each must find.

use std::collections::BTreeSet;

use callgate::Record;

/// The name of a model and its dialect.
const MODELS: &[(&str, &str)] = &[
    ("NousResearch/Hermes-2-Pro-Mistral-7B", "hermes"),
    ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
    ("hermes3:8b", "hermes"),
    ("NousResearch/Hermes-4-70B-FP8", "hermes"),
    ("Qwen/Qwen2.5-7B-Instruct", "hermes"),
    ("Qwen/Qwen2.5-VL-72B-Instruct-AWQ", "hermes"),
    ("qwen2.5:14b-instruct-q4_K_M", "hermes"),
    ("Qwen/QwQ-32B", "hermes"),
    ("Qwen/Qwen3-8B", "hermes"),
    ("qwen3:8b", "hermes"),
    ("Qwen_Qwen3-30B-A3B-Q4_K_M.gguf", "hermes"),
    ("Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "hermes"),
    ("Qwen/Qwen3-VL-30B-A3B-Instruct", "hermes"),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", "hermes"),
    ("speakleash/Bielik-11B-v3.0-Instruct", "hermes"),
    ("XiaomiMiMo/MiMo-VL-7B-RL", "hermes"),
    ("HuggingFaceTB/SmolLM3-3B", "hermes"),
    ("arcee-ai/Trinity-Mini", "hermes"),
    ("tngtech/DeepSeek-TNG-R1T2-Chimera", "hermes"),
    ("ibm-granite/granite-4.0-h-tiny", "granite4"),
    ("granite4:tiny-h", "granite4"),
    ("LGAI-EXAONE/EXAONE-4.0-32B", "exaone"),
    ("LGAI-EXAONE/K-EXAONE-236B-A23B", "exaone"),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie45"),
    ("meituan-longcat/LongCat-Flash-Chat-FP8", "longcat"),
    ("internlm/internlm2_5-7b-chat", "internlm2"),
    ("internlm/internlm3-8b-instruct", "internlm2"),
    ("internlm/Intern-S1-FP8", "internlm2"),
    ("ibm-granite/granite-20b-functioncalling", "granite-20b-fc"),
    ("ai-sage/GigaChat3-10B-A1.8B", "gigachat3"),
    ("ai-sage/GigaChat3.5-Ultra", "gigachat35"),
    ("Qwen/Qwen2.5-Coder-32B-Instruct-GGUF", "qwen25-coder-tools"),
    ("qwen2.5-coder:7b", "qwen25-coder-tools"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistral"),
    ("mistral:7b", "mistral"),
    ("mistralai/Mistral-Nemo-Instruct-2407", "mistral"),
    ("mistralai/Ministral-8B-Instruct-2410", "mistral"),
    ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", "mistral"),
    ("ServiceNow-AI/Apriel-Nemotron-15b-Thinker", "mistral"),
    ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-v11"),
    ("mistral-small3.2:24b", "mistral-v11"),
    ("mistralai/Devstral-Small-2507", "mistral-v11"),
    ("unsloth/Magistral-Small-2509-GGUF", "mistral-v11"),
    ("mistralai/Ministral-3-14B-Instruct-2512", "mistral-v11"),
    ("mistralai/Mistral-Large-3-675B-Instruct-2512", "mistral-v11"),
    ("ai21labs/AI21-Jamba-1.5-Mini", "tool-calls-array"),
    ("tencent/Hunyuan-A13B-Instruct", "tool-calls-array"),
    ("ServiceNow-AI/Apriel-1.5-15b-Thinker", "tool-calls-array"),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron-toolcall"),
    ("nvidia/Llama-3_1-Nemotron-Ultra-253B-v1", "nemotron-toolcall"),
    ("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5-FP8", "nemotron-toolcall"),
    ("ibm-granite/granite-3.3-8b-instruct", "granite"),
    ("granite3.3:8b", "granite"),
    ("granite3-dense:8b", "granite"),
    ("microsoft/Phi-4-mini-instruct", "phi4-mini"),
    ("phi4-mini:3.8b", "phi4-mini"),
    ("fireworks-ai/llama-3-firefunction-v2", "phi4-mini"),
    ("swiss-ai/Apertus-8B-Instruct-2509", "apertus"),
    ("CohereLabs/c4ai-command-a-03-2025", "cohere-command"),
    ("CohereLabs/command-a-reasoning-08-2025", "cohere-command"),
    ("command-r7b:7b", "cohere-command"),
    ("CohereLabs/c4ai-command-r-plus-08-2024", "command-r-plus"),
    ("command-r:35b", "command-r-plus"),
    ("Salesforce/Llama-xLAM-2-8b-fc-r", "xlam"),
    ("sbintuitions/sarashina2.2-3b-instruct-v0.1", "sarashina"),
    ("MiniMaxAI/MiniMax-M1-80k", "minimax-m1"),
    ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "deepseek-v3"),
    ("deepseek-r1:8b", "deepseek-v3"),
    ("DeepSeek-R1-Distill-Llama-8B-Q5_K_M.gguf", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v31"),
    ("deepseek-v3.1:671b-cloud", "deepseek-v31"),
    ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v31"),
    ("deepseek-ai/DeepSeek-V3.2", "deepseek-v32-dsml"),
    ("deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-dsml"),
    ("deepseek-ai/DeepSeek-V4.1", "deepseek-v41-dsml"),
    ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"),
    ("moonshotai/Kimi-K2.5", "kimi-k2"),
    ("kimi-k2:1t-cloud", "kimi-k2"),
    ("moonshotai/Kimi-K3", "kimi-k3"),
    ("meetkai/functionary-small-v3.1", "functionary-v31"),
    ("meetkai/functionary-medium-v3.2-GGUF", "functionary-v32"),
    ("upstage/Solar-Open-100B", "solar-open"),
    ("pfnet/plamo-3-nict-8b-base", "plamo3"),
    ("THUDM/glm-4-9b-chat-hf", "glm4-legacy"),
    ("glm4:9b", "glm4-legacy"),
    ("THUDM/GLM-4-32B-0414", "glm4-legacy"),
    ("Qwen/Qwen2-72B-Instruct", "qwen-fn"),
    ("Qwen/Qwen2-57B-A14B-Instruct", "qwen-fn"),
    ("Qwen/Qwen1.5-14B-Chat", "qwen-fn"),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
    ("Qwen/Qwen3-Coder-480B", "qwen3-coder"),
    ("qwen3-coder:30b", "qwen3-coder"),
    ("unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF", "qwen3-coder"),
    ("Qwen/Qwen3-Coder-Next-FP8", "qwen3-coder"),
    ("Qwen/Qwen3.5-397B-A17B", "qwen3-coder"),
    ("qwen3.6:27b", "qwen3-coder"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder"),
    ("stepfun-ai/Step-3.5-Flash", "qwen3-coder"),
    ("Nanbeige/Nanbeige4-3B-Thinking-2511", "qwen3-coder"),
    ("XiaomiMiMo/MiMo-V2-Flash", "mimo"),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss"),
    ("MiniMaxAI/MiniMax-M2.5", "minimax-m2"),
    ("minimax-m2:cloud", "minimax-m2"),
    ("MiniMaxAI/MiniMax-M3", "minimax-m3"),
    ("stepfun-ai/step3-fp8", "step3"),
    ("openbmb/MiniCPM5-8B", "minicpm5"),
    ("rednote-hilab/dots.llm1.inst", "dots"),
    ("anthropic/claude-2.1", "anthropic-legacy-xml"),
    ("zai-org/GLM-4.5-Air-FP8", "glm45"),
    ("glm-4.6:cloud", "glm45"),
    ("zai-org/GLM-4.7-Flash", "glm47"),
    ("zai-org/GLM-5.1", "glm47"),
    ("inclusionAI/Ling-3.0-flash", "ling3"),
    ("IQuestLab/IQuest-Q1", "iquest-q1"),
    ("Tele-AI/TeleChat3-Coder-36B-Thinking", "xing4"),
    ("Tele-AI/TeleChat3-36B-Thinking", "hermes"),
    ("tencent/Hy3-preview", "hy-v3"),
    ("tencent/Hunyuan-4", "hy-v4"),
    ("LLM360/K2-V3", "k2-horizon"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "pythonic"),
    ("llama4:scout", "pythonic"),
    ("meta-llama/Llama-3.2-1B-Instruct", "pythonic"),
    ("llama3.2:3b", "pythonic"),
    ("Team-ACE/ToolACE-2-Llama-3.1-8B", "pythonic"),
    ("google/gemma-3-27b-it-qat-q4_0-gguf", "pythonic"),
    ("gemma3:4b", "pythonic"),
    ("LiquidAI/LFM2-1.2B-Tool", "lfm2"),
    ("hf.co/LiquidAI/LFM2.5-1.2B-Instruct-GGUF:Q4_K_M", "lfm2"),
    ("allenai/Olmo-3-7B-Think", "olmo3"),
    ("google/gemma-4-31B-it", "gemma4"),
    ("google/functiongemma-270m-it", "functiongemma"),
    ("openai/gpt-oss-120b", "harmony"),
    ("gpt-oss:20b", "harmony"),
    ("ggml-org/gpt-oss-20b-mxfp4.gguf", "harmony"),
    ("openai/gpt-oss-safeguard-20b", "harmony"),
    ("reflection-ai/Beam", "beam"),
    ("Muse-Spark", "muse-atem"),
    ("thinkingmachines/Inkling", "inkling"),
    ("meta-llama/Llama-3.1-8B-Instruct", "llama3-json"),
    ("Meta-Llama-3.1-70B-Instruct-Q4_K_M.gguf", "llama3-json"),
    ("llama3.3:70b", "llama3-json"),
    ("hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4", "llama3-json"),
];

/// Names that look like one of the above and are not.
const UNKNOWN: &[&str] = &[
    "",
    "gpt-4o",
    "my-finetune",
    "huggyllama/llama-30b",
    "openlm-research/open_llama_3b",
    "ibm-granite/granite-3b-code-instruct",
    "allenai/OLMo-2-1124-7B",
    "sunbeam-7b",
];

#[test]
fn every_model_finds_its_dialect() {
    let faults: Vec<String> = MODELS
        .iter()
        .map(|(model, dialect)| (model, dialect, Record::for_model(model).map(|record| &*record.name)))
        .filter(|(_, dialect, found)| *found != Some(**dialect))
        .map(|(model, dialect, found)| format!("{model}: {dialect} was expected, {found:?} was found"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_looks_like_a_known_model_is_not_taken_for_one() {
    for model in UNKNOWN {
        assert_eq!(Record::for_model(model).map(|record| &*record.name), None, "{model}");
    }
}

#[test]
fn every_table_is_tried_and_every_pattern_leads_to_its_dialect() {
    let tried: BTreeSet<&str> = MODELS.iter().map(|(_, dialect)| *dialect).collect();
    for record in Record::builtin().iter().filter(|record| !record.models.is_empty()) {
        assert!(tried.contains(&*record.name), "no model of {} is in the table", record.name);
        for pattern in &record.models {
            let found = Record::for_model(&pattern.replace('*', "small")).map(|record| &*record.name);
            assert_eq!(found, Some(&*record.name), "the pattern {pattern} of {}", record.name);
        }
    }
}
