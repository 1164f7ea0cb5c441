policy "budget" {
  condition     = plan.run.gpu_hours <= module.budget.gpu_hours
  error_message = "Runs above ${module.budget.gpu_hours} GPU-hours need a review."
}

policy "tensor_parallel" {
  condition     = plan.layout.tensor_parallel <= 8
  error_message = "Tensor parallelism stays inside a node."
}
