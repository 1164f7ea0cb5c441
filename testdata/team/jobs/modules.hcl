module "models" {
  source = "../modules/models"
}

module "pretrain" {
  source = "../modules/pretrain"

  tokens = var.tokens
}

module "budget" {
  source = "../modules/guard"

  gpu_hours = 2e6
}

module "sites" {
  source = "../sites"
}

variable "tokens" {
  type    = number
  default = 1e12
}
