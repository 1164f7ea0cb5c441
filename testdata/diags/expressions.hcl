locals {
  now      = timestamp() # ERROR: unknown-function at timestamp: ndc does not have timestamp(): it reads the clock, and the same files must always give the same result. Pass what you need as a variable.
  key      = file("~/.ssh/id_rsa") # ERROR: unknown-function at file: ndc does not have file(): it reads the machine that ndc runs on, and the same files must give the same result everywhere. Pass what you need as a variable.
  id       = uuid() # ERROR: unknown-function at uuid: ndc does not have uuid(): it is random, and the same files must always give the same result. Pass what you need as a variable.
  secret   = sensitive("a") # ERROR: unknown-function at sensitive: ndc does not have sensitive(): nothing of a job is hidden, for its files are for everybody to read. Leave it out.
  rendered = templatestring("a", {}) # ERROR: unknown-function at templatestring: ndc does not have templatestring(): an error in a template that is a value has no place to point at. Write the template where it is used.
  size     = lenght([1, 2]) # ERROR: unknown-function at lenght: There is no function "lenght". Did you mean "length"?
  sum      = 1 + "a" # ERROR: invalid-expression at "a": Unsuitable value for right operand: a number is required.
  divided  = 1 / 0 # ERROR: invalid-expression at 1 / 0: Error during operation: division by zero.
  inside   = min(8 / (2 - 2), 3) # ERROR: invalid-expression at 8 / (2 - 2): Error during operation: division by zero.
  each     = [for n in [1, 0] : 4 % n] # ERROR: invalid-expression at 4 % n: Error during operation: division by zero.
  power    = pow(0, -1) # ERROR: invalid-expression at pow(: Call to function "pow" failed: the power is larger than any number of a job.
  far      = pow(1e300, 2) # ERROR: invalid-expression at pow(: Call to function "pow" failed: the power is larger than any number of a job.
  pair     = [1, 2]
  third    = local.pair[2] # ERROR: invalid-expression at [2]: The given key does not identify an element in this collection value: the given index is greater than or equal to the length of the collection. local.pair has 2 elements, counted from 0.
  element  = [1, 2][5] # ERROR: invalid-expression at [5]: The given key does not identify an element in this collection value.
  matched  = regex("(", "a") # ERROR: invalid-expression at (: Invalid value for "pattern" parameter: invalid regexp pattern: missing closing ) in (.
  upper    = upper() # ERROR: invalid-expression at ): Function "upper" expects 1 argument(s). Missing value for "str".
  list     = tolist(3) # ERROR: invalid-expression at 3: Invalid value for "v" parameter: cannot convert number to list of any single type.
  text     = "a ${[1]} b" # ERROR: invalid-expression at [1]: Cannot include the given value in a string template: string required, but have tuple.
  mixed    = true ? 1 : [2] # ERROR: invalid-expression at 1 : [2]: The true and false result expressions must have consistent types. The 'true' value is number, but the 'false' value is tuple.
  mixed2   = true ? catalog.model.debug : catalog.gpu.h200 # ERROR: invalid-expression at catalog.model.debug : catalog.gpu.h200: The true and false result expressions must have consistent types. The 'true' value includes object attribute "activation", which is absent in the 'false' value.
  fine     = try(1 / 0, 2)
  required = null + 1 # ERROR: invalid-expression at null + 1: Error during operation: argument must not be null.
  nothing  = null
  added    = local.nothing + 1 # ERROR: invalid-expression at local.nothing + 1: Error during operation: argument must not be null. local.nothing is null.
  looped   = [for n in [1] : local.nothing * n] # ERROR: invalid-expression at local.nothing * n: Error during operation: argument must not be null. local.nothing is null.
}
