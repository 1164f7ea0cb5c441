job "j" {
  constraints {
    max_training_time = 30d # ERROR: syntax-error at d: A quantity with a unit is written in quotes: "30d". A count is a number alone, such as 4096 or 2e12.
  }
}
