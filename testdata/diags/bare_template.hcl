variable "rate" {
  default = 1e-4
}

job "j" {
  training {
    optimizer "adamw" {
      learning_rate = ${var.rate} # ERROR: syntax-error at $: Expected the start of an expression, but found an invalid expression token. # ERROR: syntax-error at $: This character is not used within the language. An expression stands alone outside of quotes: write var.NAME, not ${var.NAME}.
    }
  }
}
