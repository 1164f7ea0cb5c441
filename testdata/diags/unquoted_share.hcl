job "j" {
  constraints {
    memory_headroom = 6% # ERROR: syntax-error at …: Expected the start of an expression, but found an invalid expression token. Text, and a number with a unit, are written in quotes.
  }
}
