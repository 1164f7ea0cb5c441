variable "limit" {
  type    = number
  default = 200000
}

# What is wrong with a policy for every plan is found without one.
policy "misspelt" {
  condition     = plan.run.gpu_hour <= var.limit # ERROR: unknown-reference at .gpu_hour: There is no "gpu_hour" in this object. Did you mean "gpu_hours"?
  error_message = "Too long."
}
policy "deep" {
  condition     = plan.memory.stages[0].device_byte < 1e9 # ERROR: unknown-reference at .device_byte: There is no "device_byte" in this object. Did you mean "device_bytes"?
  error_message = "Too large."
}
policy "of_the_job" {
  condition     = job.slurm.acount == "llm" # ERROR: unknown-reference at .acount: There is no "acount" in this object. Did you mean "account"?
  error_message = "The account is not ours."
}
policy "by_label" {
  condition     = job.training.optimizer["adamw"].beta1 == 0.9 # ERROR: unknown-reference at ["adamw"]: There is no "adamw" in this object. It has beta1, beta2, epsilon, gradient_clipping, kind, learning_rate, momentum, weight_decay.
  error_message = "Another optimizer."
}
policy "no_root" {
  condition     = plans.feasible # ERROR: unknown-reference at plans: References start with "var", "local", "model", "cluster", "gpu", "catalog", "job", "module", "site", "here", "each", "count", "artifacts" or "plan", not "plans". Did you mean "plan"?
  error_message = "It does not fit."
}
policy "no_truth" {
  condition     = plan.run.gpu_hours # ERROR: wrong-type at plan.run.gpu_hours: A condition must be true or false, not a number.
  error_message = "Too long."
}
policy "no_number" {
  condition     = plan.layout > 3 # ERROR: invalid-expression at plan.layout: Unsuitable value for left operand: number required, but have object.
  error_message = "Too long."
}
policy "no_function" {
  condition     = starts_with(plan.backend, "mega") # ERROR: unknown-function at starts_with: There is no function "starts_with". Did you mean "startswith"?
  error_message = "Another backend."
}
policy "no_message" { # ERROR: missing-argument at policy "no_message": The block policy needs the argument "error_message". What to tell whoever made another plan.
  condition = plan.feasible
}
policy "no_text" {
  condition     = plan.feasible
  error_message = plan.memory.stages # ERROR: wrong-type at plan.memory.stages: "error_message" must be text in quotes, not a list.
}
policy "grave" {
  condition     = plan.feasible
  error_message = "It does not fit."
  severity      = "eror" # ERROR: unknown-value at "eror": "eror" is not a value of "severity", which takes "error" or "warning". Did you mean "error"?
}
policy "unsure" {
  condition     = plan.feasible
  error_message = "It does not fit."
  severity      = plan.backend == "megatron" ? "error" : "warning" # ERROR: invalid-expression at plan.backend == "megatron" ? "error" : "warning": The severity of a policy is the same for every plan. Write "error" or "warning", and say in the condition when it is met.
}
policy "unsure" { # ERROR: duplicate-block at policy "unsure": policy "unsure" is already defined at job.hcl:51. Names are unique over all files of a folder.
  condition     = plan.feasible
  error_message = "It does not fit."
}

# Only policies see a plan.
locals {
  hours = plan.run.gpu_hours # ERROR: unknown-reference at plan: References start with "var", "local", "model", "cluster", "gpu", "catalog", "job", "module", "site", "here", "each" or "count", not "plan".
}

# What can only be known with a plan is no mistake.
policy "fine" {
  condition     = plan.layout.tensor_parallel <= 8 && strcontains(artifacts["launch.sh"], "torchrun") && length(plan.warnings) == 0 && job.cluster.gpu.memory > 8e10 && alltrue([for s in plan.memory.stages : s.device_bytes < plan.memory.usable_bytes])
  error_message = "${job.name} takes ${plan.run.gpu_hours} GPU-hours, and ${var.limit} are enough."
}
