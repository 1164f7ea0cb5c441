model "m" {
  layers =  # ERROR: syntax-error at …: Expected the start of an expression, but found an invalid expression token.
  hidden_size = 5
}
