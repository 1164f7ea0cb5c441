# ERROR: failed-validation: An even batch, please. The value of "batch" is 7; the rule is at job.hcl:19.
# ERROR: invalid-variable: The value of "flag" must be of type bool: a bool is required.
# ERROR: undeclared-variable: --var sets "node", but no file declares a variable of that name. Did you mean "nodes"?
# ERROR: invalid-variable: The value of "nodes" must be of type number: a number is required.
# ERROR: invalid-variable: The value of "shape" must be of type object({a=string,b=number}): attribute "b" is required.
# ERROR: syntax-error: There is no corresponding closing bracket before the end of the file. This may be caused by incorrect bracket nesting elsewhere in this file.
# ARGS: --var nodes=many --var node=3 --var sizes=[1,"x" --var batch=7 --var shape={a=1} --var flag=yes
variable "nodes" {
  type = number
}

variable "unset" { # ERROR: missing-variable at variable "unset": "unset" has no default and was not set. Set it with --var 'unset=…', or in a file given by --var-file or named *.auto.ndcvars.
  description = "has no value"
}

variable "sizes" {
  type    = list(number)
  default = [1]
}

variable "batch" {
  type = number

  validation {
    condition     = var.batch % 2 == 0
    error_message = "An even batch, please"
  }
  validation {
    condition     = "no" # ERROR: wrong-type at "no": A condition must be true or false, not the text "no".
    error_message = "never"
  }
  validation { # ERROR: missing-argument at validation: The block validation needs the argument "error_message". What to tell whoever set another value.
    condition = var.batch > 0
  }
}

variable "shape" {
  type = object({ a = string, b = number })
}

variable "odd_default" {
  default = 3 # ERROR: failed-validation at 3: Must be even, not 3. The value of "odd_default" is 3; the rule is at job.hcl:39.

  validation {
    condition     = var.odd_default % 2 == 0
    error_message = "Must be even, not ${var.odd_default}."
  }
}

variable "flag" {
  type = bool
}

variable "bad_type" {
  type    = "number" # ERROR: invalid-variable at "number": A type is written without quotes: number.
  default = 3
}

variable "bad_type2" {
  type    = list # ERROR: invalid-variable at list: The list type constructor requires one argument specifying the element type. Types are string, number, bool, any, list(…), set(…), map(…), object({…}) and tuple([…]).
  default = []
}

variable "bad_inside" {
  type    = map(object({ rate = number, steps = optional(list(number)) }))
  default = { low = { rate = 1 }, high = { rate = "a" } } # ERROR: invalid-variable at { low = { rate = 1 }, high = { rate = "a" } }: The default of "bad_inside" must be of type map(object({rate=number,steps=optional(list(number))})): at bad_inside["high"].rate, a number is required.
}

variable "bad_default" {
  type    = number
  default = "abc" # ERROR: invalid-variable at "abc": The default of "bad_default" must be of type number: a number is required.
}

variable "referring" {
  default = local.x # ERROR: invalid-variable at local.x: A variable is read before everything else, so its block and the files that set it cannot refer to anything. Use a local for what is computed.
}

variable "sensitive" {
  sensitive = true # ERROR: unknown-argument at sensitive: ndc keeps no value secret: what a variable or output holds is written into the generated files. Put a secret into a file on the cluster, and name that with env_file in the slurm block.
  default   = 1
  nullable  = "perhaps" # ERROR: wrong-type at "perhaps": "nullable" must be true or false, not the text "perhaps".

  precondition { # ERROR: unknown-block at precondition: The block variable has no block "precondition". It takes validation.
  }
}

variable "nodes" { # ERROR: duplicate-block at variable "nodes": variable "nodes" is already defined at job.hcl:2. Names are unique over all files of a folder.
}

locals {
  x = var.unset + 1
}

variable "misspelt" {
  type = list(object({ rates = optional(map(object({ beta2 = optional(number, 0.95) })), {}) }))
  default = [ # WARNING: undeclared-variable at […: The type of "misspelt" has no attribute "beta", so misspelt[1].rates["low"].beta is not used. Did you mean "beta2"?
    {},
    { rates = { low = { beta = 0.99 } } },
  ]
}

variable "fits" {
  type    = object({ a = number, pairs = optional(tuple([object({ q = number })])), any = any })
  default = { a = 1, pairs = [{ q = 2 }], any = { b = 3 } }
}
