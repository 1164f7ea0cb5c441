ndc {
  required_version = "newest" # ERROR: invalid-value at "newest": "newest" is not a version. Write comparisons such as ">= 0.1" or "~> 1.2", separated by commas.
  experiments      = [] # ERROR: unknown-argument at experiments: The block ndc has no argument "experiments". It takes required_version.
}
