package slurm

// Owner is who sets an option of sbatch, by its long name: an argument of the
// job such as slurm.account, or words; "" for one that slurm.directives may set.
func Owner(directive string) string { return reserved[directive] }
