package job

import "regexp"

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsName reports whether a text can name a job: it becomes paths and the Slurm job's
// name, and so has letters, digits, dots, underscores and hyphens alone, at most 64, and
// begins with a letter or a digit.
func IsName(text string) bool { return name.MatchString(text) }
