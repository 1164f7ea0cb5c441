package job

// Variable is one environment variable, in the order of its name.
type Variable struct{ Name, Value string }

// Environment is a block in which a job sets environment variables of its processes.
type Environment struct {
	Path      string // of the argument, as in Sources: "slurm.environment"
	Variables []Variable
}

// Environments are the blocks in which the job sets environment variables, in the order
// in which they count: of a variable that stands in several, the last has it.
func (j *Job) Environments() []Environment {
	return []Environment{
		{"cluster.network.environment", j.Cluster.Network.Environment},
		{"slurm.environment", j.Slurm.Environment},
		{"backend.environment", j.Backend.Environment},
	}
}

// Variable is what the job sets an environment variable to; "" where it sets none.
func (j *Job) Variable(name string) (value string) {
	for _, e := range j.Environments() {
		for _, v := range e.Variables {
			if v.Name == name {
				value = v.Value
			}
		}
	}
	return value
}
