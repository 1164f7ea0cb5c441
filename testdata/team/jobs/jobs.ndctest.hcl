run "the 70B run fits half of alps" {
  job = "dense-70b"

  assert {
    condition     = plan.feasible && plan.input.nodes <= 128
    error_message = "It does not."
  }
}

run "ten times the tokens are refused" {
  job = "dense-70b"

  variables {
    tokens = 2e13
  }
  expect_failures = ["budget"]
}

run "every rate is its own run" {
  job = "rates"

  assert {
    condition     = strcontains(job.training.checkpoint.path, "pretrain") && startswith(job.name, "rates-")
    error_message = "Two runs share a folder."
  }
}
