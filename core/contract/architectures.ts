/** What the engine opens, for those who must know before a model is here. `native/engine/src/config_read.rs` decides. */

/** `model_type`s of `config.json`. */
export const engineArchitectures = ["llama", "qwen2", "qwen3", "gemma3_text"] as const;

/** `general.architecture` of a GGUF file → `model_type`. */
export const ggufArchitectures: Readonly<Record<string, string>> = {
  llama: "llama",
  qwen2: "qwen2",
  qwen3: "qwen3",
  gemma3: "gemma3_text",
};

export function isEngineArchitecture(name: string): boolean {
  return (engineArchitectures as readonly string[]).includes(name);
}
