# The models that the team trains, each once.
model "dense_8b" {
  base            = catalog.model.llama3_1_8b
  sequence_length = 8192
}

model "dense_70b" {
  base            = catalog.model.llama3_1_70b
  sequence_length = 8192
}

model "sparse" {
  base            = catalog.model.mixtral_8x7b
  sequence_length = 4096
}
