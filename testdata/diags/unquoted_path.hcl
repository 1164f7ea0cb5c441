job "j" {
  training {
    checkpoint {
      path = /checkpoints/j # ERROR: syntax-error at /: Expected the start of an expression, but found an invalid expression token. Text, and a number with a unit, are written in quotes.
    }
  }
}
