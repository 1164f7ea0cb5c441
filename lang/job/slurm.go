package job

import "github.com/ndc-dev/ndc/lang/units"

// Slurm is how the job is submitted.
type Slurm struct {
	Account, Partition, QOS, Reservation string
	Time                                 units.Seconds // limit of one submission; 0: the partition's
	NodeList, Exclude, Constraint        string
	GPUsDirective                        string // gres, gpus_per_node, none
	CPUsPerTask                          int
	Memory                               string // as Slurm reads it; "" for none
	Exclusive                            Optional[bool]
	Requeue                              Optional[bool]
	Chain                                Chain
	Segment                              int        // nodes; 0: none
	Directives                           []Variable // any other #SBATCH, by name
	Environment                          []Variable
	EnvFile                              string
	Modules                              []string
	Setup                                []string // verbatim shell lines
	NodeCheck                            *NodeCheck
	Container                            Container
	LogPath                              string // package slurm appends the backend's name; "": logs beside the script
	Signal                               string // auto, or as Slurm reads it; "" for none
	Bind                                 string // of ranks to CPUs: node, socket, none
	Launcher                             string // torchrun, srun
	HangTimeout                          Silence
	SpareNodes                           int // beyond those of the layout, of each segment where there are any
	CheckSpeed                           Optional[bool]
}

// Chain resubmits a job until it has trained enough.
type Chain struct {
	Count     int // submissions; 0 and 1: no chain
	UntilDone bool
}

// IsSet reports a chain: submissions that follow the first.
func (c Chain) IsSet() bool { return c.UntilDone || c.Count > 1 }

// Silence is how long a run may report nothing; the zero Silence is for ever.
type Silence struct {
	Time    units.Seconds
	Learned bool // from the run, "auto"
}

// NodeCheck runs on every node before the launch.
type NodeCheck struct {
	Command string
	Timeout units.Seconds
}

// Container is the image the ranks run in; Image "" means bare metal.
type Container struct {
	Image     string
	Mounts    []string // SRC:DST[:OPTIONS]
	WorkDir   string
	Runtime   string // pyxis, apptainer
	MountHome bool
}

// AllocatedNodes returns the nodes that Slurm is asked for: those of the layout
// and the spare ones, which with a segment are counted for each of them.
func (j *Job) AllocatedNodes() int { return j.Allocated(j.Cluster.Nodes) }

// Allocated returns the nodes that Slurm would be asked for if the layout had so many.
func (j *Job) Allocated(nodes int) int {
	segments := 1
	if s := j.Slurm.Segment; s > 0 {
		segments = (nodes + s - 1) / s
	}
	return nodes + segments*j.Slurm.SpareNodes
}

// Placement returns what reports whether Slurm would take the job with a layout of so many
// nodes: they are whole segments, and with those to spare no fewer than its list of nodes
// names, which are counted once.
func (j *Job) Placement() func(nodes int) bool {
	named, err := Hosts(j.Slurm.NodeList)
	return func(nodes int) bool {
		return (j.Slurm.Segment == 0 || nodes%j.Slurm.Segment == 0) && (err != nil || j.Allocated(nodes) >= named)
	}
}

// AllocatedGPUs returns the GPUs of all these nodes, which GPU-hours and cost are
// counted by.
func (j *Job) AllocatedGPUs() int { return j.AllocatedNodes() * j.Cluster.GPUsPerNode }

// CoresPerNode returns the cores that the ranks of a node share: those of the
// node, or fewer where the job asks Slurm for fewer. 0: unknown.
func (j *Job) CoresPerNode() int {
	asked, cores := j.Slurm.CPUsPerTask, j.Cluster.CPUsPerNode
	if cores == 0 || asked > 0 && asked < cores {
		return asked
	}
	return cores
}

// CoresPerRank returns a rank's share of them, at least one: the threads that
// a rank computes with beside its GPU, and what its time there is counted by.
func (j *Job) CoresPerRank() int {
	return max(1, j.CoresPerNode()/max(1, j.Cluster.GPUsPerNode))
}
