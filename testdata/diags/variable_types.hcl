variable "a" {
  type    = "number" # ERROR: invalid-variable at "number": A type is written without quotes: number.
  default = 1
}

variable "b" {
  type    = float # ERROR: invalid-variable at float: The keyword "float" is not a valid type specification. Types are string, number, bool, any, list(…), set(…), map(…), object({…}) and tuple([…]).
  default = 1
}

model "m" {
  architecture = "mistral" # ERROR: unknown-value at "mistral": "mistral" is not a value of "architecture", which takes "gpt", "llama", "mixtral", "deepseek_v3", "qwen2", "qwen3", "qwen3_moe", "glm4_moe", "gpt_oss", "gemma2", "nemotron_h" or "qwen3_next". Did you mean "llama"?
}
