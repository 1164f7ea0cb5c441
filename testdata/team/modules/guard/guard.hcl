variable "gpu_hours" {
  type = number
}

output "gpu_hours" {
  value = var.gpu_hours
}
