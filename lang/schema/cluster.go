package schema

// calibrationArgument names what was measured on a cluster.
var calibrationArgument = Argument{Name: "calibration", Type: String, Effect: Execution, DefaultDoc: "none",
	Doc: "What was measured on it: a file of `ndc calibrate`, beside the file that names it ([calibrate.md](calibrate.md))."}

// MostNodes is how many nodes a cluster or a run can have.
const MostNodes = 100_000

var clusterBlock = Block{
	Name:     "cluster",
	Label:    Identifier,
	Effect:   Execution,
	LabelDoc: "the cluster's name, for `cluster.NAME`",
	Doc:      "The GPUs of the run and how they are connected.",
	Arguments: []Argument{
		baseArgument, withoutArgument, sourcesArgument,
		{Name: "gpu", Type: GPURef, Required: true, Doc: "The GPU: `gpu.NAME` or `catalog.gpu.NAME`."},
		{Name: "nodes", Type: Count, Required: true, Limits: upTo(MostNodes), Doc: "Nodes of this run."},
		{Name: "gpus_per_node", Type: Count, Required: true, Limits: upTo(256), Doc: "GPUs in a node."},
		{Name: "host_memory", Type: Bytes, Doc: "Main memory of a node, which offloading may use.", DefaultDoc: "unknown; offloading then always fits"},
		{Name: "host_memory_bandwidth", Type: Bandwidth, Positive: true, Doc: "Of the main memory of a node, which its ranks share.", DefaultDoc: "600GB/s, two sockets of eight channels of DDR5"},
		{Name: "cpus_per_node", Type: Count, Doc: "CPU cores of a node that the job may use. Ranks whose optimizer runs on the host share them.", DefaultDoc: "unknown"},
		{Name: "price_per_gpu_hour", Type: Number, Limits: positive, Doc: "What an hour of one GPU costs, in any currency: plans then tell the cost of the run in it.", DefaultDoc: "unknown"},
		calibrationArgument,
	},
	Blocks: []Block{
		{
			Name: "nvlink",
			Doc:  "The fast links among neighbouring GPUs. Without the block there are none. Those inside of a base's nodes lie inside of nodes with fewer GPUs, too, and those of a rack join as many nodes.",
			Arguments: []Argument{
				{Name: "domain", Type: Count, Required: true, Limits: Limits{Min: 2}, Doc: "GPUs that reach each other over NVLink: the GPUs of a node, or of a rack (72 on NVL72)."},
				{Name: "bandwidth", Type: Bandwidth, Required: true, Positive: true, Doc: "Per GPU, one direction."},
				{Name: "latency", Type: Duration, Default: `"2us"`, Doc: "Of one message."},
			},
		},
		{
			Name: "pcie",
			Doc:  "The link between a GPU and its host.",
			Arguments: []Argument{
				{Name: "bandwidth", Type: Bandwidth, Required: true, Positive: true, Doc: "Per GPU, one direction."},
				{Name: "latency", Type: Duration, Default: `"5us"`, Doc: "Of one message."},
			},
		},
		{
			Name: "network",
			Doc:  "What connects the nodes. Fewer GPUs in a node than a base has use the adapters beside them.",
			Arguments: []Argument{
				{Name: "kind", Type: String, Required: true, Enum: []string{"infiniband", "roce", "efa", "slingshot"}, Doc: "The fabric."},
				{Name: "nics_per_node", Type: Count, Required: true, Limits: upTo(256), Doc: "Network adapters of a node that the job uses."},
				{Name: "bandwidth", Type: Bandwidth, Required: true, Positive: true, Doc: "Per adapter, one direction."},
				{Name: "latency", Type: Duration, Default: `"5us"`, Doc: "Of one message between nodes."},
				{Name: "topology", Type: String, DefaultDoc: "`clos`", Enum: []string{"clos", "dragonfly", "torus"}, Doc: "How the switches lie: leaves and spines, pods that are all joined to each other, or none, with each node joined to six others ([collectives.md](collectives.md#between-pods))."},
				{Name: "rails", Type: Count, Limits: atLeastOne, Doc: "Independent planes of leaf switches. What an all-to-all sends to another one crosses NVLink first, or the spines where there is no NVLink.", DefaultDoc: "`nics_per_node`"},
				{Name: "gpus_per_pod", Type: Count, Default: "0", Doc: "GPUs with full bandwidth among them; 0: all. A pod of a dragonfly is one of its groups."},
				{Name: "oversubscription", Type: Number, Limits: atLeastOne, Default: "1", Doc: "Factor by which bandwidth between pods is lower."},
				{Name: "congestion", Type: Share, DefaultDoc: "none", Doc: "Share of the bandwidth between nodes that a group loses with each doubling of its nodes beyond two. One cluster that was slow on many nodes lost 9 % ([collectives.md](collectives.md#between-pods))."},
				{Name: "environment", Type: Environment, Doc: "Environment variables that this fabric needs, such as `NCCL_IB_HCA`."},
			},
		},
		{
			Name: "storage",
			Doc:  "What checkpoints are written to. With it, `checkpoint.interval = \"auto\"` weighs what a save takes.",
			Arguments: []Argument{
				{Name: "bandwidth", Type: Bandwidth, Required: true, Positive: true, Doc: "Of writing, all nodes together."},
				{Name: "per_node", Type: Bandwidth, Positive: true, Doc: "Of writing from one node.", DefaultDoc: "no limit but `bandwidth`"},
			},
		},
		{
			Name: "reliability",
			Doc:  "How often runs fail here. With it, plans tell how long the run takes with its failures ([slurm.md](slurm.md#what-failures-take)).",
			Arguments: []Argument{
				{Name: "gpu_hours_between_failures", Type: Number, Limits: positive, Doc: "Mean GPU-hours between failures that end a run.", DefaultDoc: "50,700, of Llama 3 405B's run"},
				{Name: "restart", Type: Duration, Positive: true, Doc: "From a failure to the next step: it is noticed, the job starts again, the checkpoint is read.", DefaultDoc: "10 minutes"},
			},
		},
	},
}

var gpuBlock = Block{
	Name:     "gpu",
	Label:    Identifier,
	Effect:   Execution,
	LabelDoc: "the GPU's name, for `gpu.NAME`",
	Doc:      "One accelerator.",
	Arguments: []Argument{
		baseArgument, withoutArgument, sourcesArgument,
		{Name: "memory", Type: Bytes, Required: true, Positive: true, Doc: "As the driver reports it (nvidia-smi)."},
		{Name: "torch_memory", Type: Bytes, Informs: true, Doc: "What torch can use of it, as it says when it runs out.", DefaultDoc: "unknown"},
		{Name: "memory_bandwidth", Type: Bandwidth, Required: true, Positive: true, Doc: "Of the GPU's own memory."},
		{Name: "compute_capability", Type: String, Doc: "NVIDIA's architecture number, such as `\"9.0\"`.", DefaultDoc: "unknown"},
		{Name: "sms", Type: Count, Doc: "Streaming multiprocessors.", DefaultDoc: "unknown"},
		{Name: "power", Type: Power, Doc: "Power limit, which the rate of GEMMs follows, in 16 bits most.", DefaultDoc: "unknown"},
	},
	Blocks: []Block{{
		Name: "peak_flops", Required: true,
		Doc: "Dense peak compute rates; a type that is left out is one that the GPU lacks.",
		Arguments: []Argument{
			{Name: "fp32", Type: FLOPS, Doc: "Single precision."},
			{Name: "tf32", Type: FLOPS, Doc: "TensorFloat-32."},
			{Name: "bf16", Type: FLOPS, Doc: "bfloat16."},
			{Name: "fp16", Type: FLOPS, Doc: "Half precision."},
			{Name: "fp8", Type: FLOPS, Doc: "8-bit floating point."},
			{Name: "fp4", Type: FLOPS, Doc: "4-bit floating point."},
		},
	}},
}
