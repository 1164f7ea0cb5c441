# A file for a later ndc is reported as such, and its other words are not.
ndc {
  required_version = ">= 1.0" # ERROR: unsupported-version at ">= 1.0": This file needs ndc >= 1.0, and this is ndc 0.5.0. Install one that fits, or change required_version.
}

model "m" {
  hyper_connections = 4
}
