locals {
  many = ["a", "b"]
}

model "a" {
  layers            = "many" # ERROR: wrong-type at "many": "layers" must be a whole number, not the text "many".
  hidden_size       = 2.5 # ERROR: out-of-range at 2.5: "hidden_size" must be a whole number; 2.5 is not a whole number.
  attention_heads   = -4 # ERROR: out-of-range at -4: "attention_heads" must be at least 1 and at most 16384, not -4.
  kv_heads          = [8] # ERROR: wrong-type at [8]: "kv_heads" must be a whole number, not a list.
  vocab_size        = 1e30 # ERROR: out-of-range at 1e30: "vocab_size" must be a whole number; 1e+30 is too large.
  norm_epsilon      = 0 # ERROR: out-of-range at 0: "norm_epsilon" must be greater than 0, not 0.
  dropout           = 1.5 # ERROR: out-of-range at 1.5: "dropout" must be at least 0 and at most 1, not 1.5.
  tied_embeddings   = "maybe" # ERROR: wrong-type at "maybe": "tied_embeddings" must be true or false, not the text "maybe".
  activation        = "swigl" # ERROR: unknown-value at "swigl": "swigl" is not a value of "activation", which takes "swiglu", "geglu", "gelu" or "relu2". Did you mean "swiglu"?
  normalization     = "batchnorm" # ERROR: unknown-value at "batchnorm": "batchnorm" is not a value of "normalization", which takes "rmsnorm" or "layernorm".
  ffn_hidden_size   = local.many # ERROR: wrong-type at local.many: "ffn_hidden_size" must be a whole number, not a list.
  sequence_length   = { a = 1 } # ERROR: wrong-type at { a = 1 }: "sequence_length" must be a whole number, not a map.
  without           = "moe" # ERROR: wrong-type at "moe": "without" must be a list in brackets, not the text "moe".
  sources           = ["a"] # ERROR: wrong-type at ["a"]: "sources" must be a map in braces, not a list.
  attention_scale   = 1e999 # ERROR: out-of-range at 1e999: "attention_scale" is too large: 1e+999.
  padded_vocab_size = "0x10" # ERROR: wrong-type at "0x10": "padded_vocab_size" must be a whole number, not the text "0x10".
}
