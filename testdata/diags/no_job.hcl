# ERROR: no-job: No file has a job block, so there is nothing to build. A job names a model, a cluster, the training and its backends.
model "m" {
  base = catalog.model.debug
}
